"""Campaigns against faults: each damages, kills or floods many times, and carries a fault it must catch.

A campaign is a module with `FULL` (the rounds before a release), `SMALL` (those of the slow tests) and
`run(rounds, first)`, which returns a Tally. What happens in a round depends on its number alone, so that a
long campaign can be run in pieces whose counts add up. docs/reliability.md says what each of them does.
"""

from collections import Counter
from dataclasses import dataclass, field

CAMPAIGNS = ("kill", "crash_points", "corrupt", "disk", "race", "parse", "flags", "huge")
SHOWN = 10
"""Failures that are printed; the others are counted."""


@dataclass
class Tally:
    """What a campaign counted: outcomes per phase, failures in words, and the planted fault."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    planted: str = ""
    """The fault that was planted, in words."""
    is_caught: bool = False
    """Whether the campaign noticed it."""

    def count(self, phase: str, outcome: str, number: int = 1) -> None:
        """Count an outcome of a phase."""
        self.counts.setdefault(phase, Counter())[outcome] += number

    def fail(self, phase: str, outcome: str, what: str) -> None:
        """Count an outcome that must not be, and say what happened."""
        self.count(phase, outcome)
        self.failures.append(f"{phase}: {what}")

    @property
    def is_passed(self) -> bool:
        """Whether nothing failed, and the planted fault did not pass unseen."""
        return not self.failures and self.is_caught

    def lines(self) -> list[str]:
        """Return the report: a line per phase, the planted fault, the failures."""
        width = max(map(len, self.counts), default=0)
        found = [
            f"{phase:<{width}}  "
            + ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(of.items()))
            for phase, of in self.counts.items()
        ]
        found.append(f"planted: {self.planted}: {'caught' if self.is_caught else 'NOT CAUGHT'}")
        found += [f"FAILED {what}" for what in self.failures[:SHOWN]]
        more = len(self.failures) - SHOWN
        return [*found, f"and {more:,} more failures"] if more > 0 else found
