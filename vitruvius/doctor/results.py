"""What `doctor run` and `doctor model` show and print as JSON: findings, checks, accumulation tables."""

from collections import Counter
from collections.abc import Iterable
from textwrap import indent
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from vitruvius.checks import Finding
from vitruvius.core import blocks, config, records
from vitruvius.core.blocks import Block, Text


class Skipped(config.Strict):
    """A check that could not run."""

    check: str
    why: str


class Quoted(records.Record):
    """The source line that a finding names, between its neighbours, as it was when the script ran."""

    where: str
    source: str


class MicroBatches(config.Strict):
    """A batch as `steps` micro-batches of `batch` rows: how far it is from the whole."""

    batch: int
    steps: int
    logits: float | None  # largest difference of an output
    gradient: float | None  # norm of the difference of the gradients over the norm of the gradient
    failed: str | None


class AccumulationTable(config.Strict):
    """Gradient accumulation of one network."""

    network: str
    where: str
    modules: tuple[str, ...]  # modules whose output for a row depends on the other rows
    rows: tuple[MicroBatches, ...]
    failed: str | None

    def view(self) -> Iterable[Block]:
        """The table, or why there is none."""
        if self.failed:
            yield Text(text=f"no table for {self.network}: {self.failed}", style="warning")
            return
        mixing = f"modules that mix rows: {', '.join(self.modules) or 'none'}"
        yield blocks.Table(
            title=f"{self.network}: a batch of {self.rows[0].batch} in parts, against the whole",
            columns=("batch", "steps", "logits differ by", "gradient differs by (relative)"),
            rows=tuple((row.batch, row.steps, row.logits, row.failed or row.gradient) for row in self.rows),
            note=f"{mixing}; loss: squared distance to fixed random numbers, dropout off",
        )


class Result(records.Result):
    """All findings, root causes first, and which checks ran."""

    findings: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    steps: int = 0
    seconds: float = 0.0
    overhead: float = 0.0  # fraction of the time that went into watching
    script_exit: int = 0
    tables: tuple[AccumulationTable, ...] | None = None
    """Gradient accumulation of each network; None, and not in JSON, unless asked for."""
    fail_on: Annotated[Literal["error", "warning"], Field(exclude=True)] = "error"
    """The least severity that makes the exit code 1."""

    @model_serializer(mode="wrap")
    def _without_missing_tables(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        return fields if self.tables is not None else {k: v for k, v in fields.items() if k != "tables"}

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that are errors (or, if so wanted, warnings)."""
        bad = ("error",) if self.fail_on == "error" else ("error", "warning")
        return tuple(found for found in self.findings if found.severity in bad)

    @property
    def exit_code(self) -> int:
        """1 if there is a failing finding, otherwise the script's own."""
        return 1 if self.failing else self.script_exit

    @property
    def verdict(self) -> str:
        """Findings and checks in one line: `2 bugs, 1 suspicion; 52 of 66 checks could be made`."""
        words = {"error": ("bug", "bugs"), "warning": ("suspicion", "suspicions"), "info": ("note", "notes")}
        counts: Counter[str] = Counter(found.severity for found in self.findings)
        said = [f"{counts[kind]} {words[kind][counts[kind] > 1]}" for kind in words if counts[kind]]
        total = len(self.checked) + len(self.skipped)
        return f"{', '.join(said)}; {len(self.checked)} of {total} checks could be made"

    def view(self) -> Iterable[Block]:
        if self.script_exit:
            yield Text(text=f"the script ended with exit code {self.script_exit}", style="error")
        if self.findings:
            bad = any(found.severity == "error" for found in self.findings)
            yield Text(text=self.verdict, style="error" if bad else "warning")
        for found in self.findings:
            yield from found.view()
        yield from self.summary()
        for table in self.tables or ():
            yield from table.view()

    def summary(self) -> Iterable[Block]:
        """How many checks ran, and why others did not."""
        count = f"{len(self.checked)} checks"
        if not self.checked:
            nothing = "nothing was checked: neither a backward pass nor a step was seen"
            yield Text(text=nothing, style="warning")
        elif not self.findings:
            yield Text(text=f"nothing found by {count} in {self.steps} steps", style="good")
        else:
            yield Text(text=f"{count}, {self.steps} steps", style="note")
        for skipped in self.skipped if self.checked else ():
            yield Text(text=f"not checked: {skipped.check}: {skipped.why}", style="note")


class Document(records.Result):
    """A diagnosis as another program reads it (`--format`)."""

    text: str
    code: int
    """The exit code of the diagnosis."""

    @property
    def exit_code(self) -> int:
        return self.code

    def view(self) -> Iterable[Block]:
        yield Text(text=self.text, style="code")


class Explained(records.Result):
    """A bug that the doctor knows (`--explain`): its check, two small programs, the lesson behind it."""

    bug: str
    text: str
    looks_for: str
    sick: str
    healthy: str
    lesson: str | None
    lesson_summary: str

    def view(self) -> Iterable[Block]:
        yield Text(text=self.bug, style="title")
        yield Text(text=f"{self.text}\nThe check looks for: {self.looks_for}")
        yield Text(text="Sick:", style="error")
        yield Text(text=indent(self.sick.rstrip("\n"), "    "), style="code")
        yield Text(text="Healthy:", style="good")
        yield Text(text=indent(self.healthy.rstrip("\n"), "    "), style="code")
        if self.lesson:
            yield Text(text=f"The lesson behind it: {self.lesson_summary}")
            yield Text(text=f"    vitruvius explain {self.lesson}", style="code")


class Watched(records.Record):
    """How many checks looked at a training of ours (`train --doctor`)."""

    result: Result

    def view(self) -> Iterable[Block]:
        return self.result.summary()
