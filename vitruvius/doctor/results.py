"""The doctor's findings as records: what `doctor run`, `doctor model` and `train --doctor` show and print as JSON."""

from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from vitruvius.core import blocks, config, records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.errors import VitruviusError

if TYPE_CHECKING:
    from vitruvius.doctor.diagnose import Report


class Found(records.Record):
    """One finding."""

    bug: str
    severity: Literal["error", "warning", "info"]
    confidence: Literal["exact", "heuristic"]
    where: str
    module: str | None
    """The guilty module by its dotted name within the network, where one is known."""
    evidence: str
    why: str
    fix: str

    def view(self) -> Iterable[Block]:
        style: Literal["error", "warning", "note"] = "note" if self.severity == "info" else self.severity
        place = f"{self.where}: " if self.where else ""
        yield Text(text=f"{place}{self.severity}: {self.bug} ({self.confidence})", style=style)
        yield Text(text=f"  {self.evidence}.\n  Why: {self.why}.\n  Fix: {self.fix}.")


class Skipped(config.Strict):
    """A check that could not look."""

    check: str
    why: str


class Result(records.Result):
    """All findings, root causes first, and what was looked at."""

    findings: tuple[Found, ...]
    checked: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    steps: int
    seconds: float
    overhead: float
    """Share of the time that went into watching."""
    script_exit: int

    @property
    def exit_code(self) -> int:
        """1 if something is proven wrong, otherwise the script's own."""
        return 1 if any(found.severity == "error" for found in self.findings) else self.script_exit

    def view(self) -> Iterable[Block]:
        for found in self.findings:
            yield from found.view()
        yield from self.summary()

    def summary(self) -> Iterable[Block]:
        """How much was looked at."""
        if not self.checked:
            yield Text(
                text="nothing was checked: neither a backward pass nor a step was seen", style="warning"
            )
        elif not self.findings:
            yield Text(
                text=f"nothing found by {len(self.checked)} checks in {self.steps} steps", style="good"
            )
        else:
            yield Text(text=f"{len(self.checked)} checks, {self.steps} steps", style="note")
        for skipped in self.skipped if self.checked else ():
            yield Text(text=f"not checked: {skipped.check}: {skipped.why}", style="note")


class Row(config.Strict):
    """A batch as `steps` micro-batches of `batch` rows: how far it is from the whole."""

    batch: int
    steps: int
    logits: float | None
    """Largest difference of an output."""
    gradient: float | None
    """Length of the difference of the gradients over that of the gradient."""
    failed: str | None


class Table(config.Strict):
    """Gradient accumulation of one network."""

    network: str
    where: str
    modules: tuple[str, ...]
    """Those whose answer depends on which rows come together."""
    rows: tuple[Row, ...]
    failed: str | None

    def view(self) -> Iterable[Block]:
        """The rows, or why there are none."""
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


class Tabled(Result):
    """The findings, and the tables that were asked for."""

    tables: tuple[Table, ...]

    def view(self) -> Iterable[Block]:
        yield from super().view()
        for table in self.tables:
            yield from table.view()


class Summary(records.Record):
    """How much of a training of our own was looked at."""

    report: Result

    def view(self) -> Iterable[Block]:
        return self.report.summary()


def result(report: "Report", table: bool = False) -> Result:
    """A report as a result, with tables where they were asked for."""
    found = [
        Found(
            bug=bug,
            severity=finding.severity,
            confidence="exact" if finding.exact else "heuristic",
            where=finding.where,
            module=finding.module,
            evidence=finding.evidence,
            why=finding.why,
            fix=finding.fix,
        )
        for bug, finding in report.findings
    ]
    plain = Result(
        findings=tuple(found),
        checked=tuple(report.checked),
        skipped=tuple(Skipped(check=check, why=why) for check, why in report.skipped),
        steps=report.steps,
        seconds=round(report.seconds, 3),
        overhead=round(report.overhead, 4),
        script_exit=report.script_exit,
    )
    if not table:
        return plain
    rows = [(found, tuple(Row(**row._asdict()) for row in found.rows)) for found in report.tables]
    return Tabled(
        **dict(plain), tables=tuple(Table(**{**found._asdict(), "rows": made}) for found, made in rows)
    )


def watched(work: Iterator[records.Record]) -> Generator[records.Record, None, tuple[Found, ...]]:
    """The records of a training by our own loop, and then what the doctor says of it."""
    from vitruvius.doctor import diagnose as clinic
    from vitruvius.doctor import user_code as tracing
    from vitruvius.objectives import classify
    from vitruvius.training import loop

    report, failure = clinic.Report(), None
    try:
        with tracing.as_users({loop.__file__, classify.__file__}), clinic.watch() as report:
            yield from work
    except VitruviusError as error:  # the findings may say why it failed
        failure = error
    said = result(report)
    if failure is None or said.checked:
        yield from said.findings
        yield Summary(report=said)
    if failure:
        raise failure
    return said.findings
