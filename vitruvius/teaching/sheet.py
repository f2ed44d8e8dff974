"""A worked lesson as blocks, and blocks as a document in the form that was asked for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from vitruvius.core import plugins
from vitruvius.core.blocks import Block, Cell, Figure, Formula, Table, Text
from vitruvius.core.records import Result
from vitruvius.lessons import SUBJECTS, Proof, Step, _board
from vitruvius.render import text as render

if TYPE_CHECKING:
    from vitruvius.verbs.explain import Worked

Chapters = Mapping[str, Sequence[Block]]
"""The blocks of one lesson, or of many, by name."""
LONGEST = 12
"""Entries of a vector that are written out."""
LONG_WORDS = 100
"""Characters from which words are a paragraph."""
ENDINGS = {"text": ".txt", "markdown": ".md", "latex": ".tex", "html": ".html", "json": ".json"}


def step_blocks(number: int, step: Step) -> Iterator[Block]:
    """One numbered step."""
    yield Text(text=f"{number}. {step.says}")
    if step.formula:
        yield Formula(latex=step.formula)
    if step.figure is not None:
        yield step.figure
    yield Text(text="")


def answer_blocks(fields: Mapping[str, Any], steps: Sequence[Step]) -> Iterator[Block]:
    """The answer in the order of its fields: numbers and matrices as formulas, words as text, records as tables."""
    yield Text(text="Answer", style="title")
    pieces = [piece for name, value in fields.items() for piece in _pieces(name, value)]
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        if kind == "formula":
            yield Formula(
                latex=r", \quad ".join(f"{_symbol(piece.name)} = {piece.written}" for piece in group)
            )
        elif kind == "table":
            yield from (_table(piece) for piece in group)
        else:
            yield from (Text(text=f"{piece.name}:{_told(piece.written, steps)}") for piece in group)
    yield Text(text="")


def proof_blocks(proofs: Iterable[Proof]) -> Iterator[Block]:
    """The verdicts."""
    yield Text(text="Proofs", style="title")
    for proof in proofs:
        yield from proof.view()


def blocks(worked: "Worked") -> list[Block]:
    """A whole lesson."""
    steps = [block for number, step in enumerate(worked.steps, 1) for block in step_blocks(number, step)]
    return [
        summary(worked.lesson),
        *steps,
        *answer_blocks(worked.answer, worked.steps),
        *proof_blocks(worked.checks),
    ]


def summary(lesson: str) -> Text:
    """What a lesson works out, in its own words."""
    return Text(text=plugins.members("lessons")[lesson].summary, style="note")


def document(form: str, title: str, chapters: Chapters, result: Result, pictures: Sequence[str] = ()) -> str:
    """A result as one document; `pictures` are the files beside it that hold its figures."""
    if form == "json":
        return render.as_json(result.model_dump(mode="json")) + "\n"
    if form == "html":
        return _html(title, chapters)
    several = len(chapters) > 1
    flat: list[Block] = []
    for name, content in chapters.items():
        flat += [Text(text=name, style="title"), *content] if several else content
    if form == "latex":
        return render.latex_document(title, render.latex(flat, pictures))
    if form == "markdown":
        return f"# {title}\n\n{render.markdown(flat, pictures)}"
    return f"{title}\n\n{render.plain(flat)}"


def draw(path: Path, chapters: Chapters) -> list[str]:
    """Write the figures of a document as PNG beside it; returns their names in order."""
    from vitruvius.render import png

    names = []
    for chapter, content in chapters.items():
        stem = path.stem if len(chapters) == 1 else chapter
        figures = [block for block in content if isinstance(block, get_args(Figure))]
        for number, figure in enumerate(figures, 1):
            names.append(f"{stem}-{number}.png")
            png.draw(figure, path.with_name(names[-1]))
    return names


def subject(lesson: str) -> str:
    """The heading a lesson stands under, read without importing it."""
    return str(plugins.constant(plugins.members("lessons")[lesson].path, "SUBJECT"))


def _html(title: str, chapters: Chapters) -> str:
    from vitruvius.render import page as html

    if len(chapters) == 1:
        return html.page(title, next(iter(chapters.values())))
    parts = {
        heading: {name: content for name, content in chapters.items() if subject(name) == heading}
        for heading in SUBJECTS
    }
    return html.book(title, {heading: found for heading, found in parts.items() if found})


class Piece(NamedTuple):
    """A part of an answer as it is written down."""

    name: str
    written: Any
    kind: Literal["formula", "words", "table"] = "formula"


def _pieces(name: str, value: Any) -> Iterator[Piece]:
    """A value in parts that can be written down; what is deeper than a matrix is taken apart."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pieces(f"{name}.{key}", item)
    elif _is_number(value):
        yield Piece(name, _board.number(value))
    elif not isinstance(value, list | tuple):
        yield Piece(name, render.cell(value), "words")
    elif all(isinstance(item, str | bool | None) for item in value):
        yield Piece(name, ", ".join(map(render.cell, value)) or "none", "words")
    elif all(map(_is_number, value)):
        yield Piece(
            name, _board.row(value if len(value) <= LONGEST else [*value[:3], r"\cdots", *value[-2:]])
        )
    elif all(isinstance(row, list | tuple) and row and all(map(_is_number, row)) for row in value):
        yield Piece(name, _board.matrix(value))
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
    return render.cell(value) if isinstance(value, bool) else value


def _told(words: str, steps: Sequence[Step]) -> str:
    """Words of an answer: a paragraph that a step has told is not told again, lines of code begin on their own."""
    for number, step in enumerate(steps, 1):
        if len(words) > LONG_WORDS and words in step.says:
            return f" the text of step {number}"
    return f"\n{words.rstrip()}" if "\n" in words else f" {words}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _symbol(name: str) -> str:
    r"""The name of an entry in LaTeX.

    >>> print(_symbol("grad_w.1"))
    \mathrm{grad\_w}_{1}
    """
    words = [part for part in name.split(".") if not part.isdigit()]
    numbers = [part for part in name.split(".") if part.isdigit()]
    word = rf"\mathrm{{{render.escape_latex('.'.join(words))}}}"
    return word + (f"_{{{','.join(numbers)}}}" if numbers else "")
