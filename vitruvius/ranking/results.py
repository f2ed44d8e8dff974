"""The result of a ranking: candidates with scores and ranks, and how well each score orders them."""

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from vitruvius.core import records
from vitruvius.core.blocks import Block
from vitruvius.core.config import Strict
from vitruvius.ranking.settings import Config

T = TypeVar("T")
ONLY = ""  # the name of the accuracy column where a table has one, or none


def _with_column(value: Any) -> Any:
    """Read JSON: a value that is not yet a dictionary by column belongs to the only one."""
    by_proxy = isinstance(value, dict) and any("verdict" in v for v in value.values() if isinstance(v, dict))
    return value if isinstance(value, dict) and not by_proxy else {ONLY: value}


def _without_column(value: Any, to_json: SerializerFunctionWrapHandler) -> Any:
    """Write JSON: the value of the only column stands alone."""
    found = to_json(value)
    return found.get(ONLY, found)


ByColumn = Annotated[dict[str, T], BeforeValidator(_with_column), WrapSerializer(_without_column)]
"""A value per accuracy column; in JSON, that of the only column without its name."""


class Interval(Strict):
    """A statistic with its 95 % bootstrap interval; None where it is not defined, as between constants."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class IntervalWithinSize(Interval):
    """A statistic over pairs of networks of nearly equal size; too few pairs give no value."""

    pairs: int = 0
    """Pairs that differ in both quantities; tied pairs are not counted."""


class MeanScore(Strict):
    """Mean and standard deviation of a network's score over the seeds, or the reason why it has none."""

    mean: float | None = None
    std: float | None = None
    failed: str | None = None


class Candidate(Strict):
    """A ranked network with its size, its scores and its rank by each of them."""

    name: str
    params: int | None
    macs: int | None
    depth: int | None
    width: int | None
    scores: dict[str, MeanScore]
    rank: dict[str, int]
    """By score; 1 is best, equal scores share a rank, failed ones the last."""
    accuracy: ByColumn[float | None]
    """A fraction; None where it is not known."""


class NoiseCeiling(Strict):
    """How well the accuracies of one training predict those of a second: no score can do better."""

    archs: int
    kendall: Interval
    spearman: Interval
    kendall_within_size: IntervalWithinSize


class Evaluation(Strict):
    """How well a score orders the networks whose accuracies are known."""

    kendall: Interval = Interval()
    spearman: Interval = Interval()
    kendall_within_size: IntervalWithinSize = IntervalWithinSize()
    kendall_with_params: float | None
    kendall_with_depth: float | None
    seed_agreement: float | None
    """Mean tau between the scores of two seeds."""
    regret_at_1: float | None = None
    """Accuracy points between the best network and the one ranked first."""
    regret_at_5: float | None = None
    verdict: str
    archs: int = Field(ge=0)
    """The number of networks with a known accuracy; 0 if they are too few."""


class Result(records.Result):
    """The candidates in the order of the first score, and how far each score can be trusted."""

    archs: tuple[Candidate, ...]
    evaluation: ByColumn[dict[str, Evaluation]]
    """By accuracy column and score."""
    best: dict[str, tuple[str, ...]]
    """By score: the winner, and the networks within two standard errors over the seeds of it."""
    noise_ceiling: NoiseCeiling | None
    """As the table of networks records it."""
    data: str
    seconds: float
    run: str
    config: Config

    @property
    def proxies(self) -> list[str]:
        """The scores that were asked for, then the structural ones."""
        return list(self.archs[0].scores)

    def view(self) -> Iterable[Block]:
        from vitruvius.ranking import report

        return report.summary(self)
