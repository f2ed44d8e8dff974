"""The result of a ranking: candidates with scores and ranks, and how well each score orders them."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from vitruvius.core import plugins, records
from vitruvius.core.blocks import Block, Cell, Table, Text
from vitruvius.core.config import Strict
from vitruvius.ranking.settings import Config

SHOWN, SHOWN_SCORES, SHOWN_NAMES = 50, 2, 6
"""Networks and scores in the terminal's table, names in a sentence; the files hold all."""
STRUCTURAL = plugins.constant(plugins.PACKAGE / "proxies" / "__init__.py", "STRUCTURAL")
"""Scores that only count; they are shown beside those that were asked for."""
LEGEND = (
    "tau: Kendall's tau-b with accuracy; rho: Spearman; within size: tau over pairs within 10 % of parameters"
    "; params: tau with parameters; seeds: tau between seeds; regret: points lost by the top 1 / 5"
)

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
    measured_on: ByColumn[str | None] = {}
    """By accuracy column: the data on which the accuracies were measured; None where the table names none."""
    measured_elsewhere: tuple[str, ...] = ()
    """The data of accuracies that the table holds and that are not shown, as they are not of these data."""
    seconds: float
    run: str
    config: Config

    @property
    def proxies(self) -> list[str]:
        """The scores that were asked for, then the structural ones."""
        return list(self.archs[0].scores)

    def accuracy_name(self, column: str) -> str:
        """Return what an accuracy column is called: always with the data that it was measured on.

        Of a table that names none this is said: nobody should take its accuracies for those of other data.
        """
        name, data = column or "accuracy", self.measured_on.get(column)
        return f"{name} on {data}" if data else f"{name} (data not named)"

    @property
    def command(self) -> str:
        """Return the command that trains the network in the first place; empty for modules of one's own."""
        (first, *_), words = self.archs, self.config.archs
        if any(".py:" in word for word in words):
            return ""
        is_table = words[0] == "fifty" or words[0].endswith(".json")
        arch = f"{words[0]}:{first.name}" if is_table else first.name
        return f"vitruvius train --data {shlex.quote(self.config.data)} --arch {shlex.quote(arch)}"

    def view(self) -> Iterable[Block]:
        asked = [proxy for proxy in self.proxies if proxy not in STRUCTURAL]
        yield networks(self, asked[:SHOWN_SCORES], SHOWN)
        for column, evaluation in self.evaluation.items():
            yield evaluations(self.accuracy_name(column), evaluation)
            yield from verdicts(evaluation)
        yield from remarks(self)
        if self.command:
            yield Text(text=f"train the first: {self.command}")
        yield Text(text=f"{self.data}, {self.seconds:.1f} s; run: {self.run}", style="note")


def networks(result: Result, shown: Sequence[str], most: int) -> Table:
    """The networks in order of the first score."""
    rows, first = result.archs, result.proxies[0]
    with_accuracy = any(row.accuracy.get(ONLY) is not None for row in rows)

    def cells(row: Candidate) -> tuple[Cell, ...]:
        known = row.accuracy.get(ONLY)
        accuracy = [None if known is None else f"{known:.2%}"] * with_accuracy
        means = [row.scores[proxy].mean for proxy in shown]
        return row.rank[first], row.name, row.params, row.macs, row.depth, row.width, *accuracy, *means

    sizes = ("place", "network", "parameters", "MACs", "depth", "width")
    columns = (*sizes, *["accuracy"] * with_accuracy, *shown)
    title = f"{len(rows)} networks by {first}{f', with {result.accuracy_name(ONLY)}' * with_accuracy}"
    shown_rows = tuple(map(cells, rows[:most]))
    note = f"{len(rows) - most:,} more in scores.csv" if len(rows) > most else ""
    return Table(title=title, columns=columns, rows=shown_rows, note=note)


def evaluations(accuracy: str, evaluation: Mapping[str, Evaluation]) -> Table:
    """A row per score: how well it orders the networks; narrow enough for 100 columns."""
    count = next(iter(evaluation.values())).archs
    rows: list[tuple[str, ...]] = []
    for name, e in evaluation.items():
        params, depth, seeds = map(short, (e.kendall_with_params, e.kendall_with_depth, e.seed_agreement))
        if count:
            taus = interval(e.kendall), short(e.spearman.value), within(e.kendall_within_size)
            rows.append((name, *taus, params, seeds, f"{e.regret_at_1:.1f} / {e.regret_at_5:.1f}"))
        else:
            rows.append((name, params, depth, seeds))
    if count:
        title = f"What the scores are worth for {accuracy}, {count} networks"
        names = ("score", "tau [95 %]", "rho", "within size, pairs", "params", "seeds", "regret 1 / 5")
        return Table(title=title, columns=names, rows=tuple(rows))
    columns = ("score", "tau with params", "with depth", "between seeds")
    return Table(
        title="What the scores count (too few accuracies are known to judge them)",
        columns=columns,
        rows=tuple(rows),
    )


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
        if name != "params" and found.archs:
            names.setdefault(found.verdict, []).append(name)
    compared = sum(map(len, names.values()))
    for verdict, members in names.items():
        text = f"{verdict} ({len(members)} of {compared} compared): {', '.join(members)}"
        yield Text(text=text, style="good" if verdict.startswith("beats") else "plain")


def remarks(result: Result) -> Iterator[Text]:
    """A legend of the tables, winners and ties, the noise ceiling of the accuracies, and failed scores."""
    if any(found.archs for by_proxy in result.evaluation.values() for found in by_proxy.values()):
        yield Text(text=LEGEND, style="note")
    if result.measured_elsewhere:
        where = f"measured on {', '.join(result.measured_elsewhere)}, not on {result.data}"
        yield Text(text=f"the table's accuracies were {where}: they are not shown and judge no score")
    for proxy in result.proxies:
        if proxy not in STRUCTURAL:
            yield Text(text=winner(result, proxy))
    ceiling = result.noise_ceiling
    if ceiling:
        tau, within_size = interval(ceiling.kendall), within(ceiling.kendall_within_size)
        text = f"noise ceiling: two trainings of the same networks agree with tau {tau}, within size "
        yield Text(text=f"{text}{within_size} pairs; no score can be judged beyond that", style="note")
    scores = [(f"{row.name}, {proxy}", score) for row in result.archs for proxy, score in row.scores.items()]
    failed = [f"{name}: {score.failed}" for name, score in scores if score.failed]
    if failed:
        text = f"failed scores, ranked last: {len(failed)}; {_some(failed, '; ', 3)}"
        yield Text(text=text, style="warning")


def winner(result: Result, proxy: str) -> str:
    """The winner by a score, the networks that tie with it, or why there is none."""
    best, seeds = result.best[proxy], result.config.seeds
    if not best:
        return f"{proxy}: no network has a score"
    if seeds < 2:
        first = [row.name for row in result.archs if row.rank[proxy] == 1]
        are = f"{_some(first, ', ')} {'are' if len(first) > 1 else 'is'} first"
        return f"{proxy}: {are}, but one seed cannot name a winner"
    if len(best) == 1:
        return f"{proxy}: {best[0]} wins"
    return f"{proxy}: a tie of {len(best)} within two standard errors over {seeds} seeds: {_some(best, ', ')}"


def _some(items: Sequence[str], between: str, most: int = SHOWN_NAMES) -> str:
    more = f"{between}and {len(items) - most} more" if len(items) > most else ""
    return between.join(items[:most]) + more
