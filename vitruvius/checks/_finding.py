"""A finding: the bug, its line in the source, the evidence, and the change that mends it."""

import linecache
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Annotated, Literal

from pydantic import Field

from vitruvius.core import records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.patch import Patch


class Finding(records.Record):
    """A bug: what is wrong, in which line, by which numbers, and the change that mends it."""

    bug: str = ""  # the check that found it; `findings` fills it in
    severity: Literal["error", "warning", "info"] = "warning"
    confidence: Literal["exact", "heuristic"] = "heuristic"
    where: str
    module: str | None = None  # the guilty module by its dotted name within the network, where one is known
    evidence: str
    why: str
    fix: str
    patch: Patch | None = None
    """The edit of the source that mends it, where the source itself shows which: `doctor fix` applies it."""
    also: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Other lines that take part; an allowance on any of them counts."""
    explains: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Bugs that are only consequences of this one."""

    def source(self) -> str:
        """The guilty line of the source file between its neighbours, with a marker; empty if unknown."""
        return quoted(self.where)

    def change(self) -> str:
        """The guilty line with the lines that go and come in its patch; without a patch the line alone."""
        if self.patch is None:
            return quoted(self.where, around=0)
        file, _, number = self.where.rpartition(":")
        here = int(number) if self.patch.file == file else 0
        rows = _placed(self.patch)
        gone = {line for _, line, _, _ in rows}
        # A line that comes is shown below the one that it follows.
        shown = {here, *(edit.line - 1 for edit in self.patch.edits if here and not edit.old)} - gone - {0}
        for line in shown:
            mark = ">" if line == here else ""
            rows.append((line, line, mark, linecache.getline(file, line).rstrip()))
        return "\n".join(
            _row(mark, line, text) for _, line, mark, text in sorted(rows, key=lambda row: row[0])
        )

    def view(self) -> Iterable[Block]:
        line = f"{shown_location(self.where)}: " if self.where else ""
        style = "note" if self.severity == "info" else self.severity
        module = f" in module {self.module}" if self.module and self.module not in self.evidence else ""
        yield Text(text=f"{line}{self.severity}: {self.bug} ({self.confidence}){module}", style=style)
        if source := self.change():
            yield Text(text=source, style="code")
        yield Text(text=_folded(f"{self.evidence}. Why: {self.why}."))
        if self.patch is None:  # otherwise the lines above say it
            yield Text(text=_folded(f"Fix: {self.fix}."))


def _placed(patch: Patch) -> list[tuple[float, int, str, str]]:
    """The rows of a patch with their places among the lines of the file."""
    found: list[tuple[float, int, str, str]] = []
    for edit in patch.edits:
        found += [(edit.line + index, edit.line + index, "-", text) for index, text in enumerate(edit.old)]
        found += [(edit.line + len(edit.old) - 0.5, 0, "+", text) for text in edit.new]
    return found


def quoted(where: str, around: int = 1) -> str:
    """A line of the source between so many neighbours, with a marker; empty if it is unknown."""
    file, _, number = where.rpartition(":")
    if not number.isdigit() or not linecache.getline(file, int(number)).strip():
        return ""
    lines = range(max(1, int(number) - around), int(number) + around + 1)
    texts = [(line, linecache.getline(file, line).rstrip()) for line in lines]
    return "\n".join(_row(">" * (line == int(number)), line, text) for line, text in texts if text)


def _row(mark: str, line: int, text: str) -> str:
    return f"  {mark or ' '} {line or '':>4} | {text}"


def _folded(text: str) -> str:
    """A sentence as indented lines that fit a terminal of 80 columns."""
    return fill(text, 79, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def shown_location(where: str) -> str:
    """A `file:line` as a person in the working directory would write it, or a notebook's cell and line."""
    file, colon, line = where.rpartition(":")
    if cell := _cell(file):
        return f"{cell}, line {line}"
    path = Path(file)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return f"{path.relative_to(Path.cwd())}{colon}{line}" if inside else where


def _cell(file: str) -> str:
    """The name of the notebook's cell whose code has this file name, which IPython invents; else nothing."""
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    compiler = getattr(find_shell() if find_shell else None, "compile", None)
    format_name = getattr(compiler, "format_code_name", None)
    return " ".join((format_name(file) if format_name else None) or ())
