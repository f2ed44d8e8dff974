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
from importlib.util import decode_source, find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from vitruvius.core import files, plugins
from vitruvius.core.errors import UserError
from vitruvius.doctor import children
from vitruvius.doctor.diagnose import watch
from vitruvius.doctor.results import Crash, Result
from vitruvius.doctor.user_code import is_users


def run_script(
    script: str,
    arguments: Sequence[str],
    steps: int | None = None,
    to_stderr: bool = False,
    table: bool = False,
    module: bool = False,
    source: bytes | None = None,
) -> Result:
    """Run a script as `python script arguments` (`python -m` for a module) does, and watch it.

    Its error is shown, not raised. Processes that it starts by `multiprocessing` are watched too. With
    `source`, this program runs instead of what the script's file holds, as if it lay there.
    """
    exit_code, crash = 0, None
    start = _module(script) if module else _script(Path(script), source)
    with (
        _as_main(script if module else Path(script), arguments) as main,
        stdout_to_stderr() if to_stderr else nullcontext(),
        tempfile.TemporaryDirectory(prefix="vitruvius-doctor-") as folder,
    ):
        with children.watched(folder, steps), watch(steps, table) as report:
            exit_code, crash = _ended(lambda: start(main))
        sys.stdout.flush()
        result = children.merged(report.result, children.results(folder))
    return result.model_copy(update={"script_exit": exit_code, "crash": crash})


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


def _script(path: Path, source: bytes | None) -> Callable[[ModuleType], Any]:
    code = compiled(path, source)

    def start(main: ModuleType) -> None:
        if source is not None:
            lines = decode_source(source).splitlines(keepends=True)
            # Without a time of change it is not compared with the file.
            linecache.cache[str(path)] = (len(source), None, lines, str(path))
        exec(code, main.__dict__)  # nosec B102 # the user's own script, which the user asks to run

    return start


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


def compiled(path: Path, source: bytes | None = None) -> CodeType:
    """The program of a script; a file that cannot be read or compiled is refused."""
    source = files.read(path, plugins.LARGEST_SOURCE, follow=True) if source is None else source
    try:
        return compile(source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UserError(f"{path}{line}: syntax error: {getattr(error, 'msg', error)}") from error


def _ended(call: Callable[[], Any]) -> tuple[int, Crash | None]:
    """The exit code of python, and the error that ended the script; tracebacks begin where its code does."""
    try:
        call()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0, None
        print(end.code, file=sys.stderr)
        return 1, None
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and _is_ours(frames.tb_frame.f_code.co_filename):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        return 1, Crash(error=_first_line(error), where=_last_users_line(frames))
    return 0, None


def _first_line(error: Exception) -> str:
    """The name of an error and the first line that it says; those of TorchScript begin with an empty one."""
    return f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0].removesuffix(": ")[:300]


def _last_users_line(frames: TracebackType | None) -> str:
    """`file:line` of the innermost frame of the user's own code in a traceback."""
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(frames)]
    return next((f"{file}:{line}" for file, line in reversed(lines) if is_users(file)), "")


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
    linecache.cache.pop(str(path), None)  # what an earlier run in this process knew of a file of this name
    try:
        with _first_on_path(first):
            yield main
    finally:
        sys.modules["__main__"], sys.argv = before, argv
