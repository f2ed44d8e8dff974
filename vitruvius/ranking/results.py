"""What a ranking says, as data: where each network stands, and how far each score can be trusted."""

from pydantic import Field

from vitruvius.core.config import Strict


class Interval(Strict):
    """A statistic with its 95 % bootstrap interval; None where it is not defined, as between constants."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Within(Interval):
    """A statistic over pairs of nearly equal size; too few pairs give no value."""

    pairs: int = 0
    """Pairs that differ in both quantities: tied ones say nothing and are not counted."""


class Mark(Strict):
    """A network's score: mean and deviation over the seeds, or why there is none."""

    mean: float | None = None
    std: float | None = None
    failed: str | None = None


class Standing(Strict):
    """One network with its scores and its place by each of them."""

    name: str
    params: int | None
    macs: int | None
    depth: int | None
    width: int | None
    scores: dict[str, Mark]
    rank: dict[str, int]
    """1 is best; equal scores share a place, failed ones the last."""
    accuracy: float | dict[str, float | None] | None = None
    """A fraction; one per column where the table has several."""


class Ceiling(Strict):
    """How well the accuracies of one training of n networks predict those of a second: no score can do better."""

    archs: int
    kendall: Interval
    spearman: Interval
    kendall_within_size: Within


class Evaluation(Strict):
    """How well a score orders the networks whose accuracies are known."""

    kendall: Interval = Interval()
    spearman: Interval = Interval()
    kendall_within_size: Within = Within()
    kendall_with_params: float | None
    kendall_with_depth: float | None
    seed_agreement: float | None
    """Mean tau between the scores of two seeds."""
    regret_at_1: float | None = None
    """Accuracy points between the best network and the one ranked first."""
    regret_at_5: float | None = None
    verdict: str
    archs: int = Field(ge=0)
    """How many networks this rests on."""
