"""The command line: verb by file name -> Config and Flags -> run -> render."""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vitruvius.core import plugins
from vitruvius.core.errors import VitruviusError, unknown

if TYPE_CHECKING:
    from vitruvius.core.records import Progress, Record

PURPOSE = "Choose, train and understand Vision Transformers before you spend the GPU hours."


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
        # Python would write what is left of stdout, and complain, at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # the reader (head, less) has gone: nobody is left to be told
            return 0
        print(f"vitruvius: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 1


_LOST_OUTPUT = (errno.EPIPE, errno.ENOSPC)


def script() -> None:
    """The `vitruvius` command."""
    sys.exit(main())


def _command(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(version("vitruvius"))
        return 0
    name, rest, family = arguments[0], arguments[1:], "verbs"
    known = plugins.members(family)
    if name not in known:
        raise unknown("command", name, known)
    if (plugins.PACKAGE / family / name).is_dir():  # a verb of several, as in `doctor run`
        inner = plugins.members(f"{family}/{name}")
        if not rest or rest[0] in ("-h", "--help"):
            print(_group_help(name, inner))
            return 0
        if rest[0] not in inner:
            raise unknown(f"command {name}", rest[0], inner)
        family, label, name, rest = f"{family}/{name}", f"{name} {rest[0]}", rest[0], rest[1:]
    else:
        label = name
    return _run(plugins.module(family, name), label, rest)


def _run(verb: Any, label: str, arguments: list[str]) -> int:
    """Parse, run and show one verb."""
    from vitruvius.core import arguments as flags

    parsed = flags.parse(verb, f"vitruvius {label}", arguments)
    if parsed is None:
        return 0
    config, options = parsed
    records = verb.run(config, options) if flags.takes_flags(verb) else verb.run(config)
    return _show(records, options)


def _show(records: "Iterator[Record]", options: Any) -> int:
    """Show records as they come: data on stdout, the rest on stderr; `--json` prints the result alone."""
    from rich.console import Console

    from vitruvius.core.records import Progress, Result
    from vitruvius.render import terminal, text

    out, err = _console(Console, sys.stdout.isatty()), _console(Console, sys.stderr.isatty(), stderr=True)
    result: Result | None = None
    with _bar(err, options.quiet) as advance:
        for record in records:
            if isinstance(record, Progress):
                advance(record)
            elif record.is_data and not options.json:
                terminal.show(record.view(), out)
            elif not record.is_data and not options.quiet:
                terminal.show(record.view(), err)
            if isinstance(record, Result):
                result = record
    if options.json and result is not None:
        print(text.as_json(result.model_dump(mode="json")))
    return 0 if result is None else result.exit_code


def _console(console: Any, on_terminal: bool, **options: Any) -> Any:
    # Elsewhere than on a terminal nothing is folded to a width: it is read by programs and logs.
    return console(highlight=False, width=None if on_terminal else 10_000, **options)


@contextmanager
def _bar(console: Any, quiet: bool) -> "Iterator[Callable[[Progress], None]]":
    """A progress bar on a terminal, from the first progress on; elsewhere nothing, so that logs stay readable."""
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
    """What `vitruvius` alone says: the verbs, each with a command that works as it is."""
    known = plugins.members("verbs")
    width = max(map(len, known))
    lines = [PURPOSE, "", "Commands:"]
    lines += [f"  {name:<{width}}  {member.summary}" for name, member in known.items()]
    lines += [
        "",
        "Try:",
        *(f"  {example}" for name in known for example in plugins.examples(known[name].path)[:1]),
    ]
    lines += ["", "vitruvius COMMAND --help says more about one."]
    return "\n".join(lines)


def _group_help(name: str, inner: dict[str, plugins.Member]) -> str:
    lines = [plugins.members("verbs")[name].summary, ""]
    for member in inner.values():
        lines += [f"  vitruvius {name} {member.name:<8} {member.summary}"]
    lines += [
        "",
        "Try:",
        *(f"  {example}" for member in inner.values() for example in plugins.examples(member.path)),
    ]
    return "\n".join(lines)
