"""The doctor's findings as a result: what `doctor run` and `doctor model` show and print as JSON."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from vitruvius.core import config, records
from vitruvius.core.blocks import Block, Text

if TYPE_CHECKING:
    from vitruvius.engine.clinic import Report


class Found(config.Strict):
    """One finding."""

    bug: str
    severity: Literal["error", "warning", "info"]
    confidence: Literal["exact", "heuristic"]
    where: str
    evidence: str
    why: str
    fix: str


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
    def exit_code(self) -> int:  # type: ignore[override]
        """1 if something is proven wrong, otherwise the script's own."""
        return 1 if any(found.severity == "error" for found in self.findings) else self.script_exit

    def view(self) -> Iterable[Block]:
        for found in self.findings:
            style: Literal["error", "warning", "note"] = "note" if found.severity == "info" else found.severity
            yield Text(text=f"{found.where}: {found.severity}: {found.bug} ({found.confidence})", style=style)
            yield Text(text=f"  {found.evidence}.\n  Why: {found.why}.\n  Fix: {found.fix}.")
        if not self.checked:
            yield Text(text="nothing was checked: no backward pass was seen", style="warning")
        elif not self.findings:
            yield Text(text=f"nothing found by {len(self.checked)} checks in {self.steps} steps", style="good")
        else:
            yield Text(text=f"{len(self.checked)} checks, {self.steps} steps", style="note")
        for skipped in self.skipped if self.checked else ():
            yield Text(text=f"not checked: {skipped.check}: {skipped.why}", style="note")


def result(report: "Report") -> Result:
    """A report as a result."""
    found = [
        Found(
            bug=bug,
            severity=finding.severity,
            confidence="exact" if finding.exact else "heuristic",
            where=finding.where,
            evidence=finding.evidence,
            why=finding.why,
            fix=finding.fix,
        )
        for bug, finding in report.findings
    ]
    return Result(
        findings=tuple(found),
        checked=tuple(report.checked),
        skipped=tuple(Skipped(check=check, why=why) for check, why in report.skipped),
        steps=report.steps,
        seconds=round(report.seconds, 3),
        overhead=round(report.overhead, 4),
        script_exit=report.script_exit,
    )
