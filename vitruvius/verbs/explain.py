"""Work a computation on the board, with your own numbers, and prove the result by a second method.

Without a lesson's name all of them are listed. `--question FILE.json` or `--set field=value` bring other numbers.

vitruvius explain multihead
vitruvius explain
vitruvius explain attention_cost --set tokens=17 --set heads=4
vitruvius explain earth_mover --json
"""

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainSerializer

from vitruvius import lessons
from vitruvius.core import config, files, plugins, records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Flags, Positional, Settings, settings
from vitruvius.core.errors import UserError, reason
from vitruvius.teaching import sheet as _sheet


class Config(config.Config):
    """Which lesson, with which numbers, in which form."""

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
    """Write this file, and the figures as PNG beside it; with --all a folder."""
    all: bool = False
    """Every lesson on its own numbers."""


class Entry(config.Strict):
    """A lesson in the list."""

    name: str
    summary: str


class Listing(records.Result):
    """The lessons by subject."""

    subjects: dict[str, tuple[Entry, ...]]


class Worked(records.Result):
    """A question, worked, answered and proved."""

    lesson: str
    question: dict[str, Any]
    steps: tuple[lessons.Step, ...]
    answer: Annotated[dict[str, Any], PlainSerializer(lessons.plain)]
    checks: tuple[lessons.Proof, ...]


class Refuted(Worked):
    """A worked question of which a proof failed."""

    @property
    def exit_code(self) -> int:
        return 1


class Collection(records.Result):
    """Every lesson on its own numbers."""

    lessons: tuple[Worked, ...]


class RefutedCollection(Collection):
    """A collection in which a proof failed."""

    @property
    def exit_code(self) -> int:
        return 1


class Part(records.Record):
    """What a person is shown: one step while a lesson is worked, or a whole document."""

    is_data: ClassVar[bool] = True
    blocks: tuple[Block, ...]

    def view(self) -> Iterable[Block]:
        return self.blocks


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """List the lessons, or work one or all of them."""
    _check(config, flags)
    if config.all:
        yield from _every(config)
    elif config.lesson:
        yield from _one(config)
    else:
        yield from _list(config)


def _check(config: Config, flags: Flags) -> None:
    """Refuse what would silently be ignored."""
    if config.all and config.lesson:
        raise UserError(f"--all works every lesson: leave '{config.lesson}' out, or --all")
    if (config.question or config.set) and not config.lesson:
        raise UserError(
            "--question and --set are numbers for one lesson: name it, as in vitruvius explain multihead"
        )
    if flags.walk and (not config.lesson or config.out):
        raise UserError("--walk shows one lesson step by step on a terminal: it needs its name and no --out")


def _list(config: Config) -> Iterator[records.Record]:
    by_subject: dict[str, list[Entry]] = {subject: [] for subject in lessons.SUBJECTS}
    for member in plugins.members("lessons").values():
        by_subject[_sheet.subject(member.name)].append(Entry(name=member.name, summary=member.summary))
    found = Listing(subjects={subject: tuple(entries) for subject, entries in by_subject.items() if entries})
    blocks = [
        Table(
            title=subject,
            columns=("lesson", "what it works out"),
            rows=tuple((e.name, e.summary) for e in entries),
        )
        for subject, entries in found.subjects.items()
    ]
    if _is_live(config):
        yield Part(blocks=tuple(blocks))
    else:
        yield from _deliver(config, found, {"lessons": blocks})
    yield found


def _one(config: Config) -> Iterator[records.Record]:
    worked = yield from _work(config.lesson, _fields(config), _is_live(config))
    if not _is_live(config):
        yield from _deliver(config, worked, {worked.lesson: _sheet.blocks(worked)})
    yield worked


def _every(config: Config) -> Iterator[records.Record]:
    names = list(plugins.members("lessons"))
    done: list[Worked] = []
    for index, name in enumerate(names):
        yield records.Progress(done=index, total=len(names), label=name)
        done.append((yield from _work(name, {}, _is_live(config))))
    kind = RefutedCollection if any(worked.exit_code for worked in done) else Collection
    found = kind(lessons=tuple(done))
    if not _is_live(config):
        yield from _deliver(config, found, {worked.lesson: _sheet.blocks(worked) for worked in done})
    yield found


def _work(name: str, fields: dict[str, Any], live: bool) -> Generator[records.Record, None, Worked]:
    """Work one lesson, showing each part as soon as it is there if it is shown `live`."""
    lesson = lessons.get(name)
    try:
        question = lesson.Question(**fields)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    if live:
        yield Part(blocks=(Text(text=name, style="title"), _sheet.summary(name), Text(text="")))
    steps: list[lessons.Step] = []
    for found in lesson.solve(question):
        if isinstance(found, lessons.Answer):
            answer = found
            break
        steps.append(found)
        if live:
            yield Part(blocks=tuple(_sheet.step_blocks(len(steps), found)))
    if live:
        yield Part(blocks=tuple(_sheet.answer_blocks(answer.fields, steps)))
    checks = tuple(lesson.prove(question, answer))
    if live:
        yield Part(blocks=tuple(_sheet.proof_blocks(checks)))
    kind = Worked if all(proof.passed for proof in checks) else Refuted
    asked = question.model_dump(mode="json")
    return kind(lesson=name, question=asked, steps=tuple(steps), answer=answer.fields, checks=checks)


def _fields(config: Config) -> dict[str, Any]:
    """The fields of the question that differ from the lesson's own."""
    if not config.question:
        return settings(config.set)
    given = files.read_json(Path(config.question))
    if not isinstance(given, dict):
        raise UserError(f"{config.question}: a question is an object with fields, not {type(given).__name__}")
    return given | settings(config.set)


def _form(config: Config) -> str:
    by_ending = {ending: form for form, ending in _sheet.ENDINGS.items()}
    return config.format or by_ending.get(Path(config.out).suffix, "text")


def _is_live(config: Config) -> bool:
    """Whether parts are shown as they come: a document is written when it is whole."""
    return _form(config) == "text" and not config.out


def _deliver(config: Config, result: records.Result, chapters: _sheet.Chapters) -> Iterator[records.Record]:
    """The result as a document in the form that was asked for: shown, or written with its figures beside it."""
    form = _form(config)
    title = "Lessons" if config.all or not config.lesson else config.lesson
    if not config.out:
        yield Part(blocks=(Text(text=_sheet.document(form, title, chapters, result).rstrip("\n")),))
        return
    path = Path(config.out)
    if config.all or path.is_dir():
        path = path / f"{'index' if form == 'html' else title.lower()}{_sheet.ENDINGS[form]}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {config.out}: {reason(error)}") from error
    pictures = _sheet.draw(path, chapters)
    files.write(path, _sheet.document(form, title, chapters, result, pictures))
    beside = (
        f"pictures: {', '.join(pictures)}" if len(pictures) <= 9 else f"{len(pictures)} pictures beside it"
    )
    yield records.Note(text=f"wrote {path}, {beside}" if pictures else f"wrote {path}")
