"""How well a score orders networks whose accuracies are known: records, tables and sentences. No torch."""

import math
from collections.abc import Iterator, Mapping

from pydantic import Field

from vitruvius.core import plugins
from vitruvius.core.blocks import Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted

STRUCTURAL = plugins.constant(plugins.PACKAGE / "proxies" / "__init__.py", "STRUCTURAL")
"""Scores that only count; they are shown beside those that were asked for."""


class Interval(Strict):
    """A statistic with its 95 % bootstrap interval; None where it is not defined, as between constants."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class IntervalWithinSize(Interval):
    """A statistic over pairs of networks of nearly equal size; too few pairs give no value."""

    pairs: int = 0
    """Pairs that differ in both quantities; tied pairs are not counted."""


class NoiseCeiling(Strict):
    """How well the accuracies of one training order the networks as those of a second do."""

    archs: int
    trainings: int = Field(1, ge=1)
    """Trainings of each network whose mean is the accuracy."""
    kendall: Interval
    spearman: Interval
    kendall_within_size: IntervalWithinSize


class Evaluation(Strict):
    """How well a score orders the networks whose accuracies are known."""

    kendall: Interval = Interval()
    spearman: Interval = Interval()
    kendall_within_size: IntervalWithinSize = IntervalWithinSize()
    gain: Interval = Interval()
    """Size of tau minus that of the best count; the interval holds for all compared scores at once."""
    best_count: str = ""
    """The structural score with the largest tau; where it ties, parameters decide."""
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


def beaten(accuracy: str, evaluation: Mapping[str, Evaluation]) -> Iterator[Text]:
    """Whether a score beats the best count for one column of accuracies."""
    compared = {name: one for name, one in evaluation.items() if one.archs and name not in STRUCTURAL}
    if not compared:
        return
    count = next(iter(compared.values())).best_count
    beats = [name for name, one in compared.items() if one.verdict.startswith("beats")]
    tau = evaluation[count].kendall if count in evaluation else Interval()
    counting = f"counting {count}{', then params' * (count != 'params')} (tau {interval(tau)})"
    best = max(compared, key=lambda name: compared[name].kendall.value or -1.0)
    text = f"{', '.join(beats)} {'beat' if len(beats) > 1 else 'beats'} {counting}"
    if not beats:
        gain = f"tau {interval(compared[best].kendall)}, gain {interval(compared[best].gain)}"
        text = f"no score beats {counting}; the best of {len(compared)} compared is {best} ({gain})"
    yield Text(text=f"{accuracy}: {text}", style="good" if beats else "title")


def evaluations(accuracy: str, evaluation: Mapping[str, Evaluation]) -> Table:
    """A row per score: how well it orders the networks; narrow enough for 100 columns."""
    count = next(iter(evaluation.values())).archs
    rows: list[tuple[str, ...]] = []
    for name, e in evaluation.items():
        params, depth, seeds = map(short, (e.kendall_with_params, e.kendall_with_depth, e.seed_agreement))
        if count:
            taus = interval(e.kendall), short(e.gain.value), within(e.kendall_within_size)
            rows.append((name, *taus, params, seeds, f"{e.regret_at_1:.1f} / {e.regret_at_5:.1f}"))
        else:
            rows.append((name, params, depth, seeds))
    title = "What the scores count (too few accuracies are known to judge them)"
    columns: tuple[str, ...] = ("score", "tau with params", "with depth", "between seeds")
    if count:
        title = f"What the scores are worth for {accuracy}, {counted(count, 'network')}"
        columns = ("score", "tau [95 %]", "gain", "within size, pairs", "params", "seeds", "regret 1 / 5")
    return Table(title=title, columns=columns, rows=tuple(rows))


def short(value: float | None) -> str:
    """A correlation with two digits.

    >>> short(0.523), short(-0.1), short(1.0), short(None)
    ('.52', '-.10', '1.00', '-')
    """
    return "-" if value is None else f"{value:.2f}".replace("0.", ".", 1)


def interval(found: Interval) -> str:
    """A correlation with its interval.

    >>> interval(Interval(value=0.523, low=-0.1, high=0.68))
    '.52 [-.10 .68]'
    """
    return "-" if found.value is None else f"{short(found.value)} [{short(found.low)} {short(found.high)}]"


def within(found: IntervalWithinSize) -> str:
    """A correlation within size with the number of pairs it rests on."""
    return f"{'too few' if found.value is None else interval(found)}, {found.pairs}"


def verdicts(evaluation: Mapping[str, Evaluation]) -> Iterator[Text]:
    """The scores by verdict, with how many were compared: the luckiest of many looks good."""
    names: dict[str, list[str]] = {}
    for name, found in evaluation.items():
        if name not in STRUCTURAL and found.archs:
            names.setdefault(found.verdict, []).append(name)
    compared = sum(map(len, names.values()))
    for verdict, members in names.items():
        text = f"{verdict} ({len(members)} of {compared} compared): {', '.join(members)}"
        yield Text(text=text, style="good" if verdict.startswith("beats") else "plain")


def ceiling(noise: NoiseCeiling) -> str:
    """How far a perfect score could come, by how well two trainings agree."""
    taus = noise.kendall, noise.kendall_within_size
    agree, agree_within = map(interval, taus)
    reach, reach_within = (interval(reachable(tau, noise.trainings)) for tau in taus)
    what = "one training" if noise.trainings == 1 else f"the mean of {noise.trainings}"
    pairs = counted(noise.kendall_within_size.pairs, "pair")
    return (
        f"noise ceiling: two trainings of the same networks agree with tau {agree}, within size "
        f"{agree_within} ({pairs}); against {what} a score without noise could reach {reach}, "
        f"within size {reach_within}"
    )


def reachable(agreement: Interval, trainings: int) -> Interval:
    r"""The tau that a noise-free score can reach, from the tau between two single trainings.

    On the scale of Pearson's correlation, $\rho = \sin(\pi\tau/2)$, agreement is a reliability; that of a
    mean of $k$ trainings is $k\rho / (1 + (k-1)\rho)$ (Spearman and Brown), and a score without noise
    correlates with its square root.

    >>> round(reachable(Interval(value=0.91), 2).value, 3), round(reachable(Interval(value=0.91), 1).value, 3)
    (0.955, 0.936)
    """
    known = {"value": agreement.value, "low": agreement.low, "high": agreement.high}
    found = {name: _reachable(tau, trainings) for name, tau in known.items() if tau is not None}
    return Interval(**found)


def _reachable(tau: float, trainings: int) -> float:
    single = max(0.0, math.sin(math.pi * tau / 2))
    reliability = trainings * single / (1 + (trainings - 1) * single)
    return 2 / math.pi * math.asin(min(1.0, math.sqrt(reliability)))
