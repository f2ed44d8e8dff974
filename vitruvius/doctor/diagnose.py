"""The clinic: watch a script, a block or a single pass, then let every check look at the trace."""

import linecache
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from vitruvius import checks
from vitruvius.checks import Finding, Trace
from vitruvius.checks._accumulation import Table, tables
from vitruvius.core import plugins
from vitruvius.core.errors import UserError, reason
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.stepping import Enough
from vitruvius.doctor.watcher import Watcher

ORDER = {"error": 0, "warning": 1, "info": 2}
ALLOWED = re.compile(r"#\s*vitruvius:\s*allow\s+([\w, ]+)")


@dataclass
class Report:
    """What the doctor says."""

    findings: list[tuple[str, Finding]] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    steps: int = 0
    seconds: float = 0.0
    overhead: float = 0.0
    script_exit: int = 0
    tables: list[Table] = field(default_factory=list)


@contextmanager
def watch(steps: int | None = None, table: bool = False) -> Iterator[Report]:
    """Watch the training inside the block; the report is filled when it ends, even by an error.

    With `table`, it also says how far gradient accumulation would be from the large batch.

    >>> with watch() as report:
    ...     net = nn.Linear(2, 1)
    ...     net(torch.ones(3, 2)).mean().backward()
    >>> report.steps, report.findings
    (0, [])
    """
    report, watcher, started = Report(), Watcher(steps), time.perf_counter()
    try:
        with installed(watcher):
            yield report
    except Enough:
        pass
    finally:
        report.seconds = time.perf_counter() - started
        report.overhead = watcher.spent / max(report.seconds, 1e-9)
        with torch.random.fork_rng(devices=[]):
            trace = watcher.finish()
            examine(trace, report)
            report.tables = tables(trace) if table else []


def examine(trace: Trace, report: Report, names: Sequence[str] | None = None) -> None:
    """Let the checks look at a trace: root causes first, consequences and allowed lines left out."""
    report.steps = trace.steps
    found: list[tuple[str, Finding]] = []
    for name in plugins.members("checks") if names is None else names:
        if not trace.of("backward", "step"):
            report.skipped.append((name, "neither a backward pass nor a step was seen"))
            continue
        try:
            found += [(name, finding) for finding in checks.get(name)(trace)]
            report.checked.append(name)
        except (
            Exception
        ) as error:  # a network that cannot be copied or run again must not hide the other findings
            report.skipped.append((name, f"{type(error).__name__}: {error}"))
    found = [(name, finding) for name, finding in found if not _allowed(name, finding)]
    report.findings = sorted(
        _root_causes(found), key=lambda pair: (ORDER[pair[1].severity], not pair[1].exact)
    )


def _root_causes(found: list[tuple[str, Finding]]) -> list[tuple[str, Finding]]:
    """Without what a finding explains that nothing explains in turn."""
    explained = {bug for _, finding in found for bug in finding.explains}
    consequences = {bug for name, finding in found if name not in explained for bug in finding.explains}
    return [
        (name, finding) for name, finding in found if name not in consequences or finding.severity == "info"
    ]


def _allowed(bug: str, finding: Finding) -> bool:
    """Whether a line that takes part carries `# vitruvius: allow BUG`."""
    for where in (finding.where, *finding.also):
        file, _, line = where.rpartition(":")
        allowed = ALLOWED.search(linecache.getline(file, int(line)) if line.isdigit() else "")
        if allowed and bug in re.split(r"[,\s]+", allowed[1]):
            return True
    return False


def run_script(
    script: str,
    arguments: Sequence[str],
    steps: int | None = None,
    to_stderr: bool = False,
    table: bool = False,
) -> Report:
    """Run a script as `python script arguments` would, under watch; its own error is shown and kept as exit code."""
    path = Path(script)
    code = _compiled(path)
    report, script_exit = Report(), 0
    with _as_main(path, arguments) as main, redirect_stdout(sys.stderr) if to_stderr else nullcontext():
        with watch(steps, table) as report:
            script_exit = _outcome(lambda: exec(code, main.__dict__))
        report.script_exit = script_exit
        sys.stdout.flush()
    return report


def _compiled(path: Path) -> Any:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    try:
        return compile(source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UserError(f"{path}{line}: syntax error: {getattr(error, 'msg', error)}") from error


def _outcome(call: Callable[[], Any]) -> int:
    """The exit code python would leave with; a traceback begins where the user's code does."""
    try:
        call()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception as error:
        ours = Path(__file__).parent
        frames = error.__traceback__
        while frames is not None and Path(frames.tb_frame.f_code.co_filename).parent == ours:
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        return 1
    return 0


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[ModuleType]:
    """The script stands where python would put it: `__main__`, sys.argv and the first entry of sys.path."""
    main = ModuleType("__main__")
    main.__dict__.update(__file__=str(path), __builtins__=__builtins__)
    before, argv, search = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = main, [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    linecache.checkcache(str(path))
    try:
        yield main
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before, argv, search


def examine_model(factory: Callable[[], Any], name: str, table: bool = False) -> Report:
    """Check a network, its loss and one batch without training: forward and back twice, once in eval mode.

    The factory returns (model, loss, batch); the loss is called as loss(model(x), y) for a batch (x, y).
    """
    with torch.random.fork_rng(devices=[]), watch(table=table) as report:
        # Built under watch, so that a loss it names is seen as well.
        model, loss, batch = _parts(factory(), name)
        model.train()
        for _ in range(2):
            model.zero_grad()
            loss(model(batch[0]), *batch[1:]).backward()
        model.eval()
        with torch.no_grad():
            model(batch[0])
    code = getattr(factory, "__code__", None)
    home = f"{code.co_filename}:{code.co_firstlineno}" if code else name
    report.findings = [(bug, replace(found, where=found.where or home)) for bug, found in report.findings]
    return report


def _parts(made: Any, name: str) -> tuple[nn.Module, Callable[..., Any], Sequence[Any]]:
    """What a factory made, if it is what is needed."""
    if not isinstance(made, tuple) or len(made) != 3:
        raise UserError(f"{name}: must return (model, loss, batch), got {type(made).__name__}")
    model, loss, batch = made
    if (
        not isinstance(model, nn.Module)
        or not callable(loss)
        or not isinstance(batch, list | tuple)
        or not batch
    ):
        raise UserError(f"{name}: must return a module, a function of its output, and a tuple of tensors")
    return model, loss, batch
