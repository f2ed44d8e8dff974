"""The table of coursework: for every question of a document the commands, answer fields and errata.

The table is coursework.md beside this file, the one that docs/coursework.md shows."""

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from vitruvius.core.config import settings
from vitruvius.core.errors import unknown

TABLE = Path(__file__).with_suffix(".md")
HEADING = "## Document "


class Lesson(NamedTuple):
    """A lesson that answers a question, with its numbers."""

    name: str
    settings: tuple[str, ...] = ()
    """Fields of its question, field=value."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of its question that differ from the lesson's own."""
        return settings(self.settings)


class AssignmentQuestion(NamedTuple):
    """A question of a document."""

    question: str
    commands: tuple[str, ...]
    answer: str
    """Where the result stands, in words."""
    fields: tuple[str, ...]
    """Paths in the answers of the lessons, or in the values of their steps."""
    modules: tuple[str, ...]
    """Classes and functions of this package that were to be written."""
    errata: str
    """Where the document errs, and the right statement; empty if it does not."""
    steps: tuple[int, ...] = ()
    """Steps of the first lesson that answer the question in words, counted from 1; -1 is the last one."""

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """The lessons among the commands."""
        lines = (command for command in self.commands if command.startswith("vitruvius explain "))
        return tuple(map(_lesson, lines))


def documents() -> dict[str, tuple[AssignmentQuestion, ...]]:
    """All documents by number, with their questions in order.

    >>> documents()["001"][0].lessons[0].name
    'convolution'
    """
    _, *parts = TABLE.read_text(encoding="utf-8").split(HEADING)
    return {part[:3]: tuple(_rows(part)) for part in parts}


def document(number: str) -> tuple[AssignmentQuestion, ...]:
    """The questions of one document."""
    found = documents()
    if number not in found:
        raise unknown("document", number[:40], found)
    return found[number]


def _rows(part: str) -> list[AssignmentQuestion]:
    lines = [line.split(" | ") for line in part.splitlines() if line.startswith("| ")][1:]
    return [_row([cell.strip("| ") for cell in cells]) for cells in lines]


def _row(cells: list[str]) -> AssignmentQuestion:
    question, commands, answer, errata = cells
    quoted = re.findall(r"`([^`]+)`", answer)
    dotted = [name for name in quoted if re.fullmatch(r"[a-z_]\w*(\.\w+)*", name)]
    modules = tuple(name for name in dotted if name.startswith("vitruvius."))
    fields = tuple(name for name in dotted if not name.startswith("vitruvius."))
    return AssignmentQuestion(
        question,
        tuple(re.findall(r"`(vitruvius [^`]+)`", commands)),
        re.sub(r"[`]", "", answer),
        fields,
        modules,
        "" if errata == "-" else re.sub(r"^- \((.*)\)$", r"\1", errata).replace("`", ""),
        tuple(int(number or -1) for number in re.findall(r"\b(?:step (\d+)|last step)\b", answer)),
    )


def _lesson(command: str) -> Lesson:
    words = shlex.split(command)
    return Lesson(words[2], tuple(words[index + 1] for index, word in enumerate(words) if word == "--set"))
