"""Run a script or module as `python` does, watch it and the processes that it starts, and report once."""

import linecache
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from vitruvius.core.errors import UserError, reason
from vitruvius.doctor import children
from vitruvius.doctor.diagnose import watch
from vitruvius.doctor.results import Result


def run_script(
    script: str,
    arguments: Sequence[str],
    steps: int | None = None,
    to_stderr: bool = False,
    table: bool = False,
    module: bool = False,
) -> Result:
    """Run a script as `python script arguments` (`python -m` for a module) does, and watch it.

    Its error is shown, not raised. Processes that it starts by `multiprocessing` are watched too.
    """
    exit_code, start = 0, _module(script) if module else _script(Path(script))
    with (
        _as_main(script if module else Path(script), arguments) as main,
        stdout_to_stderr() if to_stderr else nullcontext(),
        tempfile.TemporaryDirectory(prefix="vitruvius-doctor-") as folder,
    ):
        with children.watched(folder, steps), watch(steps, table) as report:
            exit_code = _exit_code(lambda: start(main))
        sys.stdout.flush()
        result = children.merged(report.result, children.results(folder))
    return result.model_copy(update={"script_exit": exit_code})


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what is printed to stderr, by file descriptor: also what child processes and C code print."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _script(path: Path) -> Callable[[ModuleType], Any]:
    code = _compile(path)
    return lambda main: exec(code, main.__dict__)


def _module(name: str) -> Callable[[ModuleType], Any]:
    parts = name.split(".")
    with _first_on_path(os.getcwd()):
        spec = find_spec(parts[0]) if all(parts) else None
        for end in range(2, len(parts) + 1):  # not by `find_spec`, which would run the package unwatched
            folders = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(".".join(parts[:end]), folders) if folders is not None else None
    if spec is None:
        raise UserError(f"no module '{name}': not in {os.getcwd()} and not installed")
    return lambda main: runpy.run_module(name, run_name="__main__", alter_sys=True)


def _compile(path: Path) -> CodeType:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    try:
        return compile(source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UserError(f"{path}{line}: syntax error: {getattr(error, 'msg', error)}") from error


def _exit_code(call: Callable[[], Any]) -> int:
    """The exit code of python; a traceback begins where the user's code does."""
    try:
        call()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and _is_ours(frames.tb_frame.f_code.co_filename):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        return 1
    return 0


def _is_ours(file: str) -> bool:
    return Path(file).parent == Path(__file__).parent or file == runpy.__file__ or file == "<frozen runpy>"


@contextmanager
def _first_on_path(folder: str) -> Iterator[None]:
    """Look for modules in this folder first."""
    search = list(sys.path)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path[:] = search


@contextmanager
def _as_main(path: Path | str, arguments: Sequence[str]) -> Iterator[ModuleType]:
    """Set `__main__`, sys.argv and the first entry of sys.path as python does for a script or a module."""
    main = ModuleType("__main__")
    main.__dict__.update(__file__=str(path), __builtins__=__builtins__)
    first = str(path.resolve().parent) if isinstance(path, Path) else os.getcwd()
    before, argv = sys.modules["__main__"], sys.argv
    sys.modules["__main__"], sys.argv = main, [str(path), *arguments]
    linecache.checkcache(str(path))
    try:
        with _first_on_path(first):
            yield main
    finally:
        sys.modules["__main__"], sys.argv = before, argv
