"""What `doctor run` and `doctor model` show and print as JSON: findings, checks, accumulation tables."""

from collections import Counter
from collections.abc import Iterable
from textwrap import indent
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from vitruvius.checks import Finding, quoted, shown_location
from vitruvius.core import blocks, config, records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.counted import counted


class Skipped(config.Strict):
    """A check that could not run."""

    check: str
    why: str


class Crash(config.Strict):
    """The exception that ended a script, and the last line of the user's code before it."""

    error: str
    where: str

    def view(self) -> Iterable[Block]:
        """The error, and the line with a marker."""
        location = f"{shown_location(self.where)}: " if self.where else ""
        yield Text(text=f"{location}the script crashed: {self.error}", style="error")
        if source := quoted(self.where, around=0):
            yield Text(text=source, style="code")


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
    watched: int = 0  # of the steps, all of the first ones and some of the later ones
    seconds: float = 0.0
    overhead: float = 0.0  # fraction of the time that went into watching
    script_exit: int = 0
    crash: Crash | None = None
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
    def ending(self) -> str:
        """How the script ended, if not well."""
        if self.crash:
            return f"the script crashed: {self.crash.error}"
        return f"the script ended with exit code {self.script_exit}" if self.script_exit else ""

    @property
    def verdict(self) -> str:
        """Findings and checks in one line: `2 bugs, 1 suspicion; 52 of 66 checks could be made`."""
        words = {"error": ("bug", "bugs"), "warning": ("suspicion", "suspicions"), "info": ("note", "notes")}
        counts: Counter[str] = Counter(found.severity for found in self.findings)
        said = [f"{counts[kind]} {words[kind][counts[kind] > 1]}" for kind in words if counts[kind]]
        total = len(self.checked) + len(self.skipped)
        return f"{', '.join(said) or 'no bug found'}; {len(self.checked)} of {total} checks could be made"

    def view(self) -> Iterable[Block]:
        if self.crash:
            yield from self.crash.view()
        elif self.script_exit:
            yield Text(text=self.ending, style="error")
        yield self.headline()
        for found in self.findings:
            yield from found.view()
        yield from self.remarks()
        for table in self.tables or ():
            yield from table.view()

    def headline(self) -> Text:
        """The verdict, coloured by the worst finding."""
        if not self.checked:
            nothing = "nothing was checked: neither a backward pass nor a step was seen"
            return Text(text=nothing, style="warning")
        severities = {found.severity for found in self.findings}
        if "error" in severities:
            return Text(text=self.verdict, style="error")
        return Text(text=self.verdict, style="warning" if "warning" in severities else "good")

    def remarks(self) -> Iterable[Block]:
        """How many steps were watched, and which checks could not be made: a line for each reason."""
        if not self.checked:
            return
        if self.steps:
            steps = counted(self.steps, "step")
            some = f"{steps}, {self.watched:,} of them watched"
            yield Text(text=some if self.watched < self.steps else f"{steps} watched", style="note")
        reasons: dict[str, list[str]] = {}
        for skipped in self.skipped:
            reasons.setdefault(skipped.why, []).append(skipped.check)
        for why, names in reasons.items():
            yield Text(text=f"not checked: {', '.join(names)}: {why}", style="note")


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
        return (self.result.headline(), *self.result.remarks())


class Refused(config.Strict):
    """A bug that is left in the script, and why."""

    bug: str
    where: str
    why: str


class Fixed(records.Result):
    """What `doctor fix` has mended, as a diff, and what is left."""

    script: str
    mended: tuple[Finding, ...]
    refused: tuple[Refused, ...]
    """The errors that are left."""
    diff: str
    written: bool = False
    first: Annotated[Result, Field(exclude=True)]
    """The diagnosis before."""
    result: Result
    """The diagnosis of the mended copy."""
    source: Annotated[str, Field(exclude=True)]

    @property
    def exit_code(self) -> int:
        """0 if no error is left and the script ends well."""
        return 1 if self.refused else self.result.script_exit

    @property
    def verdict(self) -> str:
        """What was mended and what is left, in one line."""
        if not self.first.checked:
            return "nothing was checked: neither a backward pass nor a step was seen; nothing was changed"
        if not self.mended:
            found = f"{len(self.refused)} proven, none can be mended" if self.refused else "no bug to mend"
            return f"{found}; nothing was changed"
        names = ", ".join(f"{found.bug} (line {found.where.rpartition(':')[2]})" for found in self.mended)
        how = f"written to {self.script}" if self.written else "tried on a copy; --write changes the script"
        return f"mended and run again: {names}; {len(self.refused)} left; {how}"

    def view(self) -> Iterable[Block]:
        bad = self.refused or not self.mended
        yield Text(text=self.verdict, style="good" if not bad else "error" if self.refused else "plain")
        if self.diff:
            yield Text(text=self.diff, style="code")
        for note in dict.fromkeys(found.patch.note for found in self.mended if found.patch):
            if note:
                yield Text(text=note, style="note")
        for left in self.refused:
            yield Text(text=f"{shown_location(left.where)}: {left.bug}: {left.why}", style="error")
        if self.result.checked:
            yield Text(
                text=f"{'after that' if self.mended else 'the script'}: {self.result.verdict}", style="note"
            )
        if self.result.ending:
            yield Text(text=self.result.ending, style="error")
