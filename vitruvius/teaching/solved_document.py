"""A whole assignment solved: answers, derivations, figures, code and commands, question by question."""

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from vitruvius.core import files
from vitruvius.core.blocks import Block, Figure, Text
from vitruvius.core.records import Progress
from vitruvius.render import latex, page, text
from vitruvius.teaching import coursework, report, sheets, work
from vitruvius.teaching.coursework import AssignmentQuestion, Lesson
from vitruvius.teaching.results import Answered, Document, Worked

INTRODUCTION = (
    "Every question with its answer, the derivation step by step, the proofs of the answer by a second "
    "method, the code that was to be written and the command that gives all this again. Where the document "
    "itself errs, the right statement follows the answer."
)


def solve(number: str) -> Iterator[Progress | Document]:
    """Work out every question of a document in its order, the `Document` last."""
    rows = coursework.document(number)
    worked: dict[Lesson, Worked] = {}
    shown: dict[Lesson, str] = {}
    answered, chapters = [], dict[str, tuple[Block, ...]]()
    for done, row in enumerate(rows):
        yield Progress(done=done, total=len(rows), label=row.question)
        for lesson in row.lessons:
            if lesson not in worked:
                worked[lesson] = work.worked(lesson.name, lesson.fields)
        found = [worked[lesson] for lesson in row.lessons]
        answer = _picked(row, found)
        chapters[row.question] = tuple(_question(row, found, answer, shown))
        shown |= {lesson: shown.get(lesson, row.question) for lesson in row.lessons}
        proved = all(proof.passed for one in found for proof in one.checks)
        answered.append(Answered(question=row.question, commands=row.commands, answer=answer, proved=proved))
    blocks = tuple(block for chapter in chapters.values() for block in chapter)
    yield Document(blocks=blocks, document=number, questions=tuple(answered), chapters=chapters)


def _picked(row: AssignmentQuestion, found: list[Worked]) -> dict[str, Any]:
    """The values of the fields that the row names, from answers first and from steps otherwise."""
    values = [one.answer for one in found] + [step.value for one in found for step in one.steps]
    picked = {}
    for field in row.fields:
        for one in values:
            value = _at(one, field.split("."))
            if value is not None:
                picked[field] = value
                break
    return picked


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list | tuple) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _question(
    row: AssignmentQuestion, found: list[Worked], answer: dict[str, Any], shown: dict[Lesson, str]
) -> Iterator[Block]:
    """The answer, what the document gets wrong, the derivation, the code, the commands."""
    if answer:
        yield from report.answer_blocks(answer, ())
    elif not found:
        yield Text(text=f"The command below shows: {row.answer}.")
    if row.errata:
        yield Text(text=f"Where the document errs or is silent: {row.errata}", style="warning")
    for lesson, one in zip(row.lessons, found, strict=True):
        if lesson in shown:
            yield Text(text=f"The derivation ({lesson.name}) stands under {shown[lesson]}.", style="note")
            if one is found[0]:
                yield from _named_steps(row, one)
            continue
        yield Text(text=f"Derivation: {lesson.name.replace('_', ' ')}", style="title")
        yield from one.blocks
    for name in row.modules:
        yield Text(text=f"Code: {name}", style="title")
        yield Text(text=source(name), style="code")
    yield Text(text="\n".join(row.commands), style="code")


def _named_steps(row: AssignmentQuestion, one: Worked) -> Iterator[Block]:
    """The steps that answer the question in words, from a derivation that stands elsewhere."""
    for number in row.steps:
        place = number if number > 0 else len(one.steps)
        yield from report.step_blocks(place, one.steps[place - 1].model_copy(update={"figure": None}))


def source(name: str) -> str:
    """The source of a class or function of this package by its full name."""
    module, _, member = name.rpartition(".")
    return inspect.getsource(getattr(importlib.import_module(module), member)).rstrip()


def write(document: Document, folder: Path) -> str:
    """Write a document as HTML, LaTeX and notebook, with its figures as PNG; returns what was written."""
    stem, title = f"document-{document.document}", f"Document {document.document}, solved"
    report.make_folder(folder, folder)
    pictures = report.draw(document.blocks, folder / stem, digits=2)
    opening: Block = Text(text=INTRODUCTION)
    parts: dict[str, dict[str, tuple[Block, ...]]] = {"Document": {"What follows": (opening,)}}
    files.write(folder / f"{stem}.html", page.book(title, parts | {"Questions": document.chapters}))
    flat: list[Block] = [opening]
    for question, blocks in document.chapters.items():
        flat += [Text(text=question, style="title"), *blocks]
    files.write(folder / f"{stem}.tex", latex.document(title, flat, pictures))
    files.write(folder / f"{stem}.ipynb", _notebook(title, document, pictures))
    counted = f"{len(pictures)} pictures" if pictures else "no pictures"
    return f"wrote {stem}.html, {stem}.tex and {stem}.ipynb with {counted} into {folder}"


def _notebook(title: str, document: Document, pictures: list[str]) -> str:
    """A markdown cell for each question, and its commands as a cell that runs them again."""
    cells, left = [sheets.cell("markdown", f"# {title}\n\n{INTRODUCTION}")], list(pictures)
    for answered in document.questions:
        *blocks, _ = document.chapters[answered.question]  # the last block holds the commands
        drawn = sum(isinstance(block, get_args(Figure)) for block in blocks)
        written = text.markdown(blocks, left[:drawn])
        left = left[drawn:]
        cells.append(sheets.cell("markdown", f"# {answered.question}\n\n{written}"))
        if answered.commands:
            cells.append(sheets.cell("code", "\n".join(f"!{command}" for command in answered.commands)))
    return sheets.as_notebook(cells)
