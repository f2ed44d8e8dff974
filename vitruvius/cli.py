"""The command line: find the verb by file name, parse a Config and Flags, run it, show its records."""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from vitruvius.core import plugins
from vitruvius.core.errors import UserError, VitruviusError, reason, unknown
from vitruvius.core.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from vitruvius.core.config import Flags
    from vitruvius.core.records import Progress, Record

PURPOSE = "Choose, train and understand Vision Transformers before you spend the GPU hours."
_FAILING_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 the work failed or found faults, 2 bad input."""
    _open_closed_streams()
    try:
        code = _command(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except VitruviusError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except OSError as error:
        return _lost_output(error) if error.filename is None else _fail(*_unusable(error))
    except UnicodeError as error:
        return _fail(f"a name or a text has characters that cannot be written: {_unwritable(error)}", 2)
    except RecursionError:
        return _fail("the input is nested too deeply", 2)
    except MemoryError as error:
        return _fail(f"there is not enough memory for this: {error}".removesuffix(": "), 1)
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop"):  # what Python 3.11 and 3.12 raise instead of an OSError
            raise
        return _fail(f"links that point in a circle: {str(error).removeprefix('Symlink loop from ')}", 2)


def _fail(sentence: str, code: int) -> int:
    """Print one sentence on stderr and return the exit code; stderr itself may be on a full disk."""
    try:
        print(f"vitruvius: {visible(sentence)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _discard(sys.stderr)
    return code


def _discard(stream: TextIO) -> None:
    """Let the rest of a stream go nowhere: Python would write it at exit, and fail with another exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _unusable(error: OSError) -> tuple[str, int]:
    """Return the sentence and the exit code for a file or folder that could not be used."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else str(error.filename)
    brief = name if len(name) <= 200 else f"{name[:100]}...{name[-40:]}"
    return f"{brief}: {reason(error)}", 1 if error.errno in _FAILING_DISK else 2


def _unwritable(error: UnicodeError) -> str:
    """Return the text around the characters that could not be written, such as the name of a file."""
    if not isinstance(error, UnicodeEncodeError):
        return str(error)
    return f"{error.object[max(0, error.start - 60) : error.end + 20]} ({error.reason})"


def _lost_output(error: OSError) -> int:
    """Return the exit code where stdout cannot be written: 0 if its reader (head, less) has left."""
    _discard(sys.stdout)
    if error.errno == errno.EPIPE:
        return 0
    return _fail(f"the output cannot be written: {error.strerror or error}", 1)


def _open_closed_streams() -> None:
    """Let stdin, stdout and stderr exist, and show what their encoding lacks as escapes.

    A file that gets the number of a closed stream would receive what native code prints.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def script() -> None:
    """Run the `vitruvius` command."""
    sys.exit(main())


def _command(words: list[str]) -> int:
    verbs = _verbs()
    first, second = (*words, "", "")[:2]
    for label in (f"{first} {second}", first):
        if label in verbs:
            return _run(label, verbs[label], words[len(label.split()) :])
    inner = [name.split()[1] for name in verbs if name.startswith(f"{first} ")]
    if first in ("", "-h", "--help", "help"):
        print(_overview())
    elif first in ("-V", "--version"):
        from importlib.metadata import version

        print(version("vitruvius"))
    elif first == "--completion":
        print(_completion(second, verbs), end="")
    elif not inner:
        raise unknown("command", first, plugins.members("verbs"))
    elif second in ("", "-h", "--help"):
        print(_group_help(first, verbs))
    else:
        raise unknown(f"command {first}", second, inner)
    return 0


def _verbs() -> dict[str, plugins.Member]:
    """List all verbs by what is typed; a folder holds several, as in `doctor run`."""
    found: dict[str, plugins.Member] = {}
    for name, member in plugins.members("verbs").items():
        if member.path.name == "__init__.py":
            found |= {f"{name} {sub}": inner for sub, inner in plugins.members(f"verbs/{name}").items()}
        else:
            found[name] = member
    return found


def _run(label: str, member: plugins.Member, words: list[str]) -> int:
    """Parse, run and show one verb."""
    from vitruvius.core import arguments

    verb: Any = plugins.module(member.family, member.name)
    parsed = arguments.parse(verb, f"vitruvius {label}", words)
    if parsed is None:
        return 0
    config, flags = parsed
    if flags.walk and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("--walk shows one lesson step by step on a terminal: it needs its name and no --out")
    return _show(verb.run(config, flags), flags)


def _show(records: "Iterator[Record]", flags: "Flags") -> int:
    """Show records as they come: data on stdout, the rest on stderr; `--json` prints the result alone."""
    from vitruvius.core.records import Progress, Result
    from vitruvius.render import terminal, text

    out, err = _console(), _console(stderr=True)
    result: Result | None = None
    is_first = True
    with _bar(err, flags.quiet) as advance:
        for record in records:
            if isinstance(record, Progress):
                advance(record)
            elif record.is_data and not flags.json and (blocks := tuple(record.view())):
                if flags.walk and not is_first:
                    with suppress(EOFError):  # at the end of the input the rest is shown at once
                        input("Enter shows the next step ")
                terminal.show(blocks, out)
                is_first = False
            elif not record.is_data and not flags.quiet:
                terminal.show(record.view(), err)
            if isinstance(record, Result):
                result = record
    if flags.json and result is not None:
        print(text.as_json(result.model_dump(mode="json")))
    return 0 if result is None else result.exit_code


def _console(stderr: bool = False) -> "Console":
    """Open a console; where the output is no terminal, programs read it, so no line is folded."""
    from rich.console import Console

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(highlight=False, width=None if is_terminal else 10_000, stderr=stderr)


@contextmanager
def _bar(console: "Console", quiet: bool) -> "Iterator[Callable[[Progress], None]]":
    """Show a progress bar on a terminal from the first progress on; nothing elsewhere, to keep logs short."""
    if quiet or not console.is_terminal:
        yield lambda record: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=console, transient=True)
    task = bar.add_task("", total=None)

    def advance(record: "Progress") -> None:
        bar.start()
        bar.update(task, completed=record.done, total=record.total, description=visible(record.label))

    try:
        yield advance
    finally:
        bar.stop()


def _overview() -> str:
    """List the verbs, each with a command that works as it is."""
    known = plugins.members("verbs")
    width = max(map(len, known))
    summaries = [f"  {name:<{width}}  {member.summary}" for name, member in known.items()]
    examples = [f"  {example}" for member in known.values() for example in plugins.examples(member.path)[:1]]
    closing = "vitruvius COMMAND -h shows the common options of one, --help all of them."
    return "\n".join([PURPOSE, "", "Commands:", *summaries, "", "Try:", *examples, "", closing])


def _group_help(name: str, verbs: dict[str, plugins.Member]) -> str:
    """List the verbs of a folder."""
    inner = {label: member for label, member in verbs.items() if label.startswith(f"{name} ")}
    summaries = [f"  vitruvius {label:<{len(name) + 9}} {member.summary}" for label, member in inner.items()]
    examples = [f"  {example}" for member in inner.values() for example in plugins.examples(member.path)]
    return "\n".join([plugins.members("verbs")[name].summary, "", *summaries, "", "Try:", *examples])


def _completion(shell: str, verbs: dict[str, plugins.Member]) -> str:
    """Write the completion script of a shell."""
    from vitruvius.core import completion
    from vitruvius.core.options import options

    choices = {"": [*plugins.members("verbs"), "--help", "--version", "--completion"]}
    for label, member in verbs.items():
        verb: Any = plugins.module(member.family, member.name)
        named = [option.name for option in options(verb.Config) if not option.is_positional]
        choices[label] = [*named, "--help"]
        if " " in label:
            choices.setdefault(label.split()[0], []).append(label.split()[1])
    return completion.script(shell, choices)
