"""Work a computation on the board, with your own numbers, and prove the result by a second method.

Without a lesson's name all of them are listed. Other numbers come from `--question FILE.json` or
`--set field=value`. `--check` compares your own values with the right ones: it names the first wrong one, the
mistake behind it if it is a common one, and what follows rightly from it.

vitruvius explain multihead
vitruvius explain
vitruvius explain attention_cost --set tokens=17 --set heads=3
vitruvius explain earth_mover --json
vitruvius explain attention --check '{"scores": [4, 7, 8], "weights": ["1/(1+e^3+e^4)", 0.265, 0.721]}'
vitruvius explain bptt --hint 2
vitruvius explain --document 000 --out solutions
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vitruvius.core import config, files, plugins, records
from vitruvius.core.blocks import Text
from vitruvius.core.config import Flags, Positional, Settings, settings
from vitruvius.core.errors import UserError


class Config(config.Config):
    """Which lesson, with which numbers, in which format."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "walk")

    lesson: Positional[str] = ""
    """Name of the lesson; without one all are listed."""
    question: str = ""
    """A JSON file with fields of the question."""
    set: Settings = ()
    """Fields of the question: field=value, as often as wanted."""
    format: Literal["text", "markdown", "latex", "html", "json"] | None = None
    """text, markdown, latex, html or json; default: by the ending of --out, otherwise text."""
    out: str = ""
    """Write this file, and the figures as PNG beside it; with --all and --document a folder."""
    document: str = ""
    """Solve a whole assignment of the table of coursework, 000 to 004, as HTML, LaTeX and notebook."""
    all: bool = False
    """Every lesson on its own numbers."""
    check: str = ""
    """Check these values: a JSON file, - for standard input, or the JSON itself."""
    hint: Annotated[int, Field(ge=0, le=3)] = 0
    """Help with the next value: 1 a question, 2 the formula, 3 the step."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """List the lessons, or work one or all of them; a format other than text is shown as a whole."""
    from vitruvius.teaching import report, work
    from vitruvius.teaching.results import Lessons, Part, Worked

    _refuse(config, flags)
    if config.document:
        yield from _document(config)
        return
    if config.check or config.hint:
        yield from _check(config)
        return
    endings = {ending: format for format, ending in report.ENDINGS.items()}
    format = config.format or endings.get(Path(config.out).suffix, "text")
    live = format == "text" and not config.out
    names = list(plugins.members("lessons")) if config.all else [config.lesson] if config.lesson else []
    done: list[Worked] = []
    for index, name in enumerate(names):
        if config.all:
            yield records.Progress(done=index, total=len(names), label=name)
        for found in work.work(name, _fields(config)):
            if isinstance(found, Worked):
                done.append(found)
            elif live:
                yield found
    result: Lessons = work.collect(done) if config.all else done[0] if done else work.listing()
    title = config.lesson or "Lessons"
    if config.out:
        path = Path(config.out)
        if config.all or path.is_dir():  # there the document is called by its title
            path /= f"{'index' if format == 'html' else title.lower()}{report.ENDINGS[format]}"
        yield records.Note(text=report.write(result, format, title, path))
    elif not live:
        yield Part(blocks=(Text(text=report.document(result, format, title).rstrip("\n")),))
    elif not names:
        yield Part(blocks=result.blocks)
    yield result


def _document(config: Config) -> Iterator[records.Record]:
    """Solve every question of a document, and write it in all formats."""
    from vitruvius.teaching import solved_document
    from vitruvius.teaching.results import Document

    for found in solved_document.solve(config.document):
        if isinstance(found, Document):
            yield records.Note(text=solved_document.write(found, Path(config.out)))
        yield found


def _check(config: Config) -> Iterator[records.Record]:
    """Compare a student's values with the right ones, and show the verdict."""
    from vitruvius.teaching import answers, solution, verdict
    from vitruvius.teaching.results import Part

    given = answers.read(config.check) if config.check else {}
    result = verdict.checked(solution.solve(config.lesson, _fields(config)), given, config.hint)
    yield Part(blocks=result.blocks)
    yield result


def _refuse(config: Config, flags: Flags) -> None:
    """Refuse options that would silently be ignored."""
    if config.document and (config.lesson or config.all or config.check or config.hint or config.format):
        raise UserError("--document solves a whole assignment in all formats: it goes with --out alone")
    if config.document and not config.out:
        raise UserError("--document writes into a folder: name it, as in --document 001 --out solutions")
    if config.all and config.lesson:
        raise UserError(f"--all works every lesson: leave '{config.lesson}' out, or --all")
    if (config.question or config.set) and not config.lesson:
        cure = "name it, as in vitruvius explain multihead"
        raise UserError(f"--question and --set are numbers for one lesson: {cure}")
    if (config.check or config.hint) and (config.all or config.out or config.format or not config.lesson):
        raise UserError("--check and --hint look at one lesson: name it, without --all, --out and --format")
    if flags.walk and (not config.lesson or config.out):
        raise UserError("--walk shows one lesson step by step on a terminal: it needs its name and no --out")


def _fields(config: Config) -> dict[str, Any]:
    """The fields of the question that differ from the lesson's own."""
    given = files.read_json(Path(config.question)) if config.question else {}
    if not isinstance(given, dict):
        raise UserError(f"{config.question}: a question is an object with fields, not {type(given).__name__}")
    return given | settings(config.set)
