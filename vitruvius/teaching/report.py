"""A worked lesson as blocks, and results as documents in a format."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from vitruvius import lessons
from vitruvius.core import files, plugins
from vitruvius.core.blocks import Block, Cell, Figure, Formula, Table, Text
from vitruvius.core.errors import UserError, reason
from vitruvius.render import figures, latex, page, text
from vitruvius.render.cells import cell
from vitruvius.teaching.numbers import is_number
from vitruvius.teaching.results import Collection, Lessons, Worked

Chapters = dict[str, tuple[Block, ...]]  # the blocks of each lesson by name
LONG_VECTOR = 12  # entries of a vector up to which all are written out
LONG_TEXT = 100  # characters beyond which a text that a step has shown is not repeated in the answer
ENDINGS = {"text": ".txt", "markdown": ".md", "latex": ".tex", "html": ".html", "json": ".json"}


def step_blocks(number: int, step: lessons.Step) -> Iterator[Block]:
    """One numbered step."""
    yield Text(text=f"{number}. {step.says}")
    if step.formula:
        yield Formula(latex=step.formula)
    if step.figure is not None:
        yield step.figure
    yield Text(text="")


def answer_blocks(fields: Mapping[str, Any], steps: Sequence[lessons.Step]) -> Iterator[Block]:
    """The answer in the order of its fields: numbers as formulas, words as text, records as tables."""
    yield Text(text="Answer", style="title")
    pieces = [piece for name, value in fields.items() for piece in _pieces(name, value)]
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        if kind == "formula":
            entries = (f"{_symbol(piece.name)} = {piece.written}" for piece in group)
            yield Formula(latex=r", \quad ".join(entries))
        elif kind == "table":
            yield from (_table(piece) for piece in group)
        else:
            yield from (Text(text=f"{piece.name}:{_words(piece.written, steps)}") for piece in group)
    yield Text(text="")


def chapters(result: Lessons) -> Chapters:
    """The blocks of each worked lesson by its name, or the tables of the list."""
    worked = result.lessons if isinstance(result, Collection) else [result]
    return {lesson.lesson if isinstance(lesson, Worked) else "lessons": lesson.blocks for lesson in worked}


def document(result: Lessons, format: str, title: str, pictures: Sequence[str] = ()) -> str:
    """A result as one document; `pictures` are the files beside it that hold its figures, in order."""
    if format == "json":
        return text.as_json(result.model_dump(mode="json")) + "\n"
    named = chapters(result)
    if format == "html" and len(named) > 1:
        return _book(title, named)
    blocks: list[Block] = []
    for name, content in named.items():
        blocks += [Text(text=name, style="title"), *content] if len(named) > 1 else content
    return written(format, title, blocks, pictures)


def written(format: str, title: str, blocks: Sequence[Block], pictures: Sequence[str] = ()) -> str:
    """Blocks as one document; `pictures` are the files beside it that hold its figures, in order."""
    if format == "html":
        return page.page(title, blocks)
    if format == "latex":
        return latex.document(title, blocks, pictures)
    if format == "markdown":
        return f"# {title}\n\n{text.markdown(blocks, pictures)}"
    return f"{title}\n\n{text.plain(blocks)}"


def write(result: Lessons, format: str, title: str, path: Path) -> str:
    """Write a result as a document with its figures as PNG beside it; returns which files were written."""
    make_folder(path.parent, path)
    pictures: list[str] = []
    named = chapters(result)
    for chapter, content in named.items():
        pictures += draw(content, path.with_name(path.stem if len(named) == 1 else chapter))
    files.write(path, document(result, format, title, pictures))
    names = f", pictures: {', '.join(pictures)}" if pictures else ""
    return f"wrote {path}" + (names if len(pictures) <= 9 else f", {len(pictures)} pictures beside it")


def make_folder(folder: Path, out: Path) -> None:
    """Make a folder to write into; the sentence about one that cannot be made names `out`, as --out does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {out}: {reason(error)}") from error


def draw(blocks: Iterable[Block], stem: Path, digits: int = 1) -> list[str]:
    """Write the figures among blocks as PNG files, numbered behind a stem; returns their names in order."""
    names: list[str] = []
    for figure in (block for block in blocks if isinstance(block, get_args(Figure))):
        names.append(f"{stem.name}-{len(names) + 1:0{digits}d}.png")
        figures.write_png(figure, stem.with_name(names[-1]))
    return names


def subject(lesson: str) -> str:
    """The heading a lesson stands under, read without importing it."""
    return str(plugins.constant(plugins.members("lessons")[lesson].path, "SUBJECT"))


def _book(title: str, named: Chapters) -> str:
    """Several lessons as one page, by subject."""
    parts: dict[str, Chapters] = {}
    for name, content in sorted(named.items(), key=lambda item: lessons.SUBJECTS.index(subject(item[0]))):
        parts.setdefault(subject(name), {})[name] = content
    return page.book(title, parts)


class Piece(NamedTuple):
    """A part of an answer as LaTeX, as words, or as the records of a table."""

    name: str
    written: Any
    kind: Literal["formula", "words", "table"] = "formula"


def _pieces(name: str, value: Any) -> Iterator[Piece]:
    """A value in parts that can be written down; what has more dimensions than a matrix is taken apart."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pieces(f"{name}.{key}", item)
    elif is_number(value):
        yield Piece(name, lessons.latex(value))
    elif not isinstance(value, list | tuple):
        yield Piece(name, "none" if value is None else cell(value), "words")
    elif all(isinstance(item, str | bool | None) for item in value):
        yield Piece(name, ", ".join(map(cell, value)) or "none", "words")
    elif all(map(is_number, value)):
        shown = value if len(value) <= LONG_VECTOR else [*value[:3], r"\cdots", *value[-2:]]
        yield Piece(name, lessons.latex(shown))
    elif all(isinstance(row, list | tuple) and row and all(map(is_number, row)) for row in value):
        yield Piece(name, lessons.latex(value))
    elif all(isinstance(row, Mapping) and row.keys() == value[0].keys() for row in value):
        yield Piece(name, value, "table")
    else:
        for index, item in enumerate(value, 1):
            yield from _pieces(f"{name}.{index}", item)


def _table(piece: Piece) -> Table:
    """Records of the same fields, one per row."""
    rows = (tuple(_cell(value) for value in record.values()) for record in piece.written)
    return Table(title=piece.name, columns=tuple(map(str, piece.written[0])), rows=tuple(rows))


def _cell(value: Any) -> Cell:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, list | tuple):
        return " x ".join(map(str, value))
    return cell(value) if isinstance(value, bool) else value


def _words(words: str, steps: Sequence[lessons.Step]) -> str:
    """Words of an answer: a long text that a step has shown is not repeated, lines begin on their own."""
    for number, step in enumerate(steps, 1):
        if len(words) > LONG_TEXT and words in step.says:
            return f" the text of step {number}"
    return f"\n{words.rstrip()}" if "\n" in words else f" {words}"


def _symbol(name: str) -> str:
    r"""The name of an entry in LaTeX.

    >>> print(_symbol("grad_w.1"))
    \mathrm{grad\_w}_{1}
    """
    words = [part for part in name.split(".") if not part.isdigit()]
    numbers = [part for part in name.split(".") if part.isdigit()]
    word = rf"\mathrm{{{latex.escape('.'.join(words))}}}"
    return word + (f"_{{{','.join(numbers)}}}" if numbers else "")
