"""Watch a script, a block or a single pass, then let every check look at the trace."""

import linecache
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from vitruvius import checks
from vitruvius.checks import Backward, BatchNormFailed, CriterionFailed, Finding, Step, Trace, UnknownFact
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.doctor.accumulation import tables
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.results import Result, Skipped
from vitruvius.doctor.watcher import Enough, Watcher

SEVERITIES = ("error", "warning", "info")
ALLOWED = re.compile(r"#\s*vitruvius:\s*allow\s+([\w, ]+)")


@dataclass(slots=True)
class Report:
    """What `watch` gives to its block: the result is filled in when the block ends."""

    result: Result = field(default_factory=Result)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, root causes first."""
        return self.result.findings

    def _repr_html_(self) -> str | None:
        """Show the result in a notebook."""
        return self.result._repr_html_()


@contextmanager
def watch(steps: int | None = None, table: bool = False) -> Iterator[Report]:
    """Watch the training inside the block; the report is filled in when it ends, even by an error.

    With `table`, it also measures how far gradient accumulation would be from the large batch.

    >>> with watch() as report:
    ...     net = nn.Linear(2, 1)
    ...     net(torch.ones(3, 2)).mean().backward()
    >>> report.result.steps, report.findings
    (0, ())
    """
    report, watcher, started = Report(), Watcher(steps), time.perf_counter()
    try:
        with installed(watcher):
            yield report
    except Enough:
        pass
    finally:
        seconds = time.perf_counter() - started
        facts = {"seconds": round(seconds, 3), "overhead": round(watcher.spent / max(seconds, 1e-9), 4)}
        with torch.random.fork_rng(devices=[]):
            trace = watcher.finish()
            result, measured = examine(trace), tables(trace) if table else None
        report.result = result.model_copy(update={**facts, "tables": measured})


def examine(trace: Trace, names: Sequence[str] | None = None) -> Result:
    """Let the checks look at a trace: root causes first, without consequences and allowed lines."""
    names = tuple(plugins.members("checks")) if names is None else names
    made = {"steps": trace.steps, "watched": trace.watched}
    told = Backward | Step | CriterionFailed | BatchNormFailed
    if not any(isinstance(event, told) for event in trace.events):
        why = "neither a backward pass nor a step was seen"
        return Result(skipped=tuple(Skipped(check=name, why=why) for name in names), **made)
    found: list[Finding] = []
    checked, skipped = [], []
    for name in names:
        try:
            found += checks.findings(name, trace)
            checked.append(name)
        except UnknownFact as missing:
            why = trace.unknown.get(str(missing), "it could not be found out")
            skipped.append(Skipped(check=name, why=f"{missing} is unknown: {why}"))
        except Exception as error:  # a network that cannot be copied must not hide the other findings
            skipped.append(Skipped(check=name, why=f"{type(error).__name__}: {error}"))
    causes = _root_causes([finding for finding in found if not _allowed(finding)])
    causes.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.confidence != "exact"))
    return Result(findings=tuple(causes), checked=tuple(checked), skipped=tuple(skipped), **made)


def _root_causes(found: list[Finding]) -> list[Finding]:
    """The findings that no other one explains, unless that one is itself explained; and all notes."""
    explained = {bug for finding in found for bug in finding.explains}
    consequences = {bug for finding in found if finding.bug not in explained for bug in finding.explains}
    return [f for f in found if f.bug not in consequences or f.severity == "info"]


def _allowed(finding: Finding) -> bool:
    """Whether a line that takes part has the comment `# vitruvius: allow BUG`."""
    for where in (finding.where, *finding.also):
        file, _, line = where.rpartition(":")
        allowed = ALLOWED.search(linecache.getline(file, int(line)) if line.isdigit() else "")
        if allowed and finding.bug in re.split(r"[,\s]+", allowed[1]):
            return True
    return False


def examine_model(factory: Callable[[], Any], name: str, table: bool = False) -> Result:
    """Check a network, its loss and one batch: two forward and backward passes, and one pass in eval mode.

    The factory returns (model, loss, batch); the loss is called as loss(model(x), y) for a batch (x, y).
    """
    with torch.random.fork_rng(devices=[]), watch(table=table) as report:
        # Built under watch: a loss function that the factory returns is then the watched one.
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
    placed = tuple(f.model_copy(update={"where": f.where or home}) for f in report.findings)
    return report.result.model_copy(update={"findings": placed})


def _parts(made: Any, name: str) -> tuple[nn.Module, Callable[..., Any], Sequence[Any]]:
    """The model, loss and batch that a factory returned; other things are refused."""
    if not isinstance(made, tuple) or len(made) != 3:
        raise UserError(f"{name}: must return (model, loss, batch), got {type(made).__name__}")
    model, loss, batch = made
    tensors = isinstance(batch, list | tuple) and batch
    if not isinstance(model, nn.Module) or not callable(loss) or not tensors:
        raise UserError(f"{name}: must return a module, a function of its output, and a tuple of tensors")
    return model, loss, batch
