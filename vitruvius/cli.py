"""The command line: find the verb by file name, parse a Config and Flags, run it, show its records."""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from vitruvius.core import plugins
from vitruvius.core.errors import UserError, VitruviusError, unknown

if TYPE_CHECKING:
    from rich.console import Console

    from vitruvius.core.config import Flags
    from vitruvius.core.records import Progress, Record

PURPOSE = "Choose, train and understand Vision Transformers before you spend the GPU hours."
_LOST_OUTPUT = (errno.EPIPE, errno.ENOSPC)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 the work failed or found faults, 2 bad input."""
    try:
        return _command(list(sys.argv[1:] if arguments is None else arguments))
    except VitruviusError as error:
        print(f"vitruvius: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("vitruvius: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in _LOST_OUTPUT:
            raise
        # Otherwise Python would write the rest of stdout at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # the reader (head, less) has closed the pipe
            return 0
        print(f"vitruvius: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 1


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

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=console, transient=True)
    task = bar.add_task("", total=None)

    def advance(record: "Progress") -> None:
        bar.start()
        bar.update(task, completed=record.done, total=record.total, description=record.label)

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
