"""The result of a ranking: candidates with scores and ranks, and how well each score orders them."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, WrapSerializer

from vitruvius.arch.arch import Arch
from vitruvius.arch.listing import legend
from vitruvius.core import records
from vitruvius.core.blocks import Block, Cell, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.ranking.evaluation import (
    STRUCTURAL,
    Evaluation,
    NoiseCeiling,
    beaten,
    ceiling,
    evaluations,
    short,
    verdicts,
)
from vitruvius.ranking.settings import Config

SHOWN, SHOWN_SCORES, SHOWN_NAMES = 50, 3, 6
"""Networks and scores in the terminal's table, names in a sentence; the files hold all."""
LEGEND = (
    "tau: Kendall's tau-b with accuracy; gain: its size minus that of the best count, at once for all scores"
    "; within size: tau over pairs within 10 % of parameters; params: tau with parameters; seeds: tau "
    "between seeds; regret: points lost by the top 1 / 5"
)

WORKLOAD = "workload.json"
"""The file of a run that says how much there is to score, for those who follow it."""

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


class Workload(Strict):
    """How many networks are scored, and with how many seeds each."""

    networks: int
    seeds: int


class MeanScore(Strict):
    """A network's score over the seeds, or the reason why it has none."""

    mean: float | None = None
    """Geometric if all networks' scores have one sign, else arithmetic."""
    std: float | None = None
    values: tuple[float | None, ...] = ()
    """The score of each seed."""
    failed: str | None = None


class Candidate(Strict):
    """A ranked network with its size, its scores and its rank by each of them."""

    name: str
    params: int | None
    macs: int | None
    depth: int | None
    width: int | None
    peak_bytes: int | None = None
    """Memory of a training step with the ranking's batch: weights, gradients, AdamW, activations."""
    predicted_ms: float | None = None
    """Predicted milliseconds of one image on this machine; None without a price list."""
    arch: Arch | None = None
    """None for a module of the user's."""
    scores: dict[str, MeanScore]
    rank: dict[str, int]
    """By score; 1 is best, equal scores share a rank, failed ones the last."""
    accuracy: ByColumn[float | None]
    """A fraction; None where it is not known."""


class Predicted(Strict):
    """A network whose accuracy is not known: what it is predicted to be, with its 95 % interval."""

    name: str
    accuracy: float | None = None
    """None where the order is that of the prior, which predicts no accuracy."""
    low: float | None = None
    high: float | None = None


class Reranking(Strict):
    """The networks without a known accuracy, ordered by what the known ones have taught (`--known`)."""

    column: str
    labels: int
    """How many accuracies are known."""
    tau: float | None
    """Kendall's tau of leave-one-out predictions with the known accuracies."""
    counting: float | None
    """That of the number of parameters."""
    used: bool
    """Whether the predictions decide the order; else the mean rank by a few scores does."""
    rows: tuple[Predicted, ...]
    """The best first."""

    @property
    def sentence(self) -> str:
        """Say which network is expected to be the best, and how far that can be trusted."""
        taus = f"leave-one-out tau {short(self.tau)}, counting parameters {short(self.counting)}"
        if self.used:
            best = self.rows[0]
            around = f"{100 * (best.low or 0):.2f} {100 * (best.high or 0):.2f}"
            expected = f"{100 * (best.accuracy or 0):.2f} % [{around}]"
            return (
                f"{best.name} is expected to be the best, {expected}; {self.labels} known accuracies, {taus}"
            )
        why = "no better than counting" if self.labels >= 8 else "too few accuracies are known"
        return f"{self.rows[0].name} is first by the prior: {why} ({self.labels} known, {taus})"

    def table(self, most: int) -> Table:
        """The networks in order, with what they are predicted to reach."""
        cells = [
            (place, row.name, None if row.accuracy is None else f"{row.accuracy:.2%}", _between(row))
            for place, row in enumerate(self.rows[:most], 1)
        ]
        title = f"{counted(len(self.rows), 'network')} without a known {self.column}"
        return Table(title=title, columns=("place", "network", "predicted", "95 %"), rows=tuple(cells))


def _between(row: Predicted) -> str | None:
    return None if row.low is None or row.high is None else f"{row.low:.2%} .. {row.high:.2%}"


class Result(records.Result):
    """The candidates in the order of the first score, and how far each score can be trusted."""

    archs: tuple[Candidate, ...]
    evaluation: ByColumn[dict[str, Evaluation]]
    """By accuracy column and score."""
    best: dict[str, tuple[str, ...]]
    """By score: the winner, and the networks that cannot be told apart from it."""
    noise_ceiling: NoiseCeiling | None
    """As the table of networks records it."""
    reranking: Reranking | None = None
    """With --known."""
    data: str
    data_sha256: str | None = None
    measured_on: ByColumn[str | None] = {}
    """By accuracy column: the data on which the accuracies were measured; None where the table names none."""
    measured_elsewhere: tuple[str, ...] = ()
    """The data of accuracies that the table holds and that are not shown, as they are not of these data."""
    prediction_error: float | None = None
    """Median relative error of the predicted milliseconds on networks that the price list had not seen."""
    seconds: float
    """Since the last start."""
    cpu_seconds: float | None = None
    """Of all scores, whenever they were computed."""
    run: str
    config: Config

    @property
    def exit_code(self) -> int:
        """1 if no network has any of the scores that were asked for."""
        return int(not any(row.scores[name].mean is not None for row in self.archs for name in self.asked))

    @property
    def asked(self) -> list[str]:
        """The scores that were asked for; the structural ones if there are no others."""
        return [name for name in self.proxies if name not in STRUCTURAL] or self.proxies

    @property
    def seeds(self) -> list[int]:
        """The seeds of weights and minibatches."""
        return list(range(self.config.seed, self.config.seed + self.config.seeds))

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
        if self.reranking:
            yield Text(text=self.reranking.sentence, style="title")
            yield self.reranking.table(SHOWN)
        yield from answer(self)
        yield networks(self, self.asked[:SHOWN_SCORES], SHOWN)
        for column, evaluation in self.evaluation.items():
            yield evaluations(self.accuracy_name(column), evaluation)
            yield from verdicts(evaluation)
        yield from remarks(self)
        if self.command:
            yield Text(text=f"train the first: {self.command}")
        yield Text(text=f"{self.data}, {self.seconds:.1f} s; run: {self.run}", style="note")


def answer(result: Result) -> Iterator[Text]:
    """What a reader wants to know first: does a score beat counting, and who is first."""
    if result.exit_code:
        failed = next(score.failed for row in result.archs for score in row.scores.values() if score.failed)
        yield Text(text=f"no network has a score: everything failed, first with: {failed}", style="error")
        return
    for column, evaluation in result.evaluation.items():
        yield from beaten(result.accuracy_name(column), evaluation)
    yield Text(text=winner(result, result.asked[0]), style="title")


def networks(result: Result, shown: Sequence[str], most: int) -> Table:
    """The networks in order of the first score."""
    rows, first = result.archs, result.proxies[0]
    shared = Counter(row.rank[first] for row in rows)
    with_ms = any(row.predicted_ms is not None for row in rows)
    with_accuracy = any(row.accuracy.get(ONLY) is not None for row in rows)

    def cells(row: Candidate) -> tuple[Cell, ...]:
        known = row.accuracy.get(ONLY)
        accuracy = [None if known is None else f"{known:.2%}"] * with_accuracy
        means = [row.scores[proxy].mean for proxy in shown]
        place = f"{row.rank[first]}{'=' * (shared[row.rank[first]] > 1)}"
        peak = None if row.peak_bytes is None else row.peak_bytes / 2**20
        sizes = (place, row.name, row.params, row.macs, row.depth, peak)
        return *sizes, *[row.predicted_ms] * with_ms, *accuracy, *means

    sizes = ("place", "network", "parameters", "MACs", "depth", "peak MiB")
    columns = (*sizes, *["predicted ms"] * with_ms, *["accuracy"] * with_accuracy, *shown)
    title = (
        f"{counted(len(rows), 'network')} by {first}{f', with {result.accuracy_name(ONLY)}' * with_accuracy}"
    )
    shown_rows = tuple(map(cells, rows[:most]))
    note = f"{len(rows) - most:,} more in scores.csv" if len(rows) > most else ""
    return Table(title=title, columns=columns, rows=shown_rows, note=note)


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
    if result.noise_ceiling:
        yield Text(text=ceiling(result.noise_ceiling), style="note")
    yield from _about_columns(result)
    scores = [(f"{row.name}, {proxy}", score) for row in result.archs for proxy, score in row.scores.items()]
    failed = [f"{name}: {score.failed}" for name, score in scores if score.failed]
    if failed:
        text = f"failed scores, ranked last: {len(failed)}; {_some(failed, '; ', 3)}"
        yield Text(text=text, style="warning")


def _about_columns(result: Result) -> Iterator[Text]:
    """What the columns of memory and time mean."""
    if any(row.peak_bytes is not None for row in result.archs):
        text = f"peak MiB: memory of a training step with {counted(result.config.batch, 'image')}"
        error = result.prediction_error
        if error is not None and any(row.predicted_ms is not None for row in result.archs):
            text += f"; {legend(error)}"
        yield Text(text=text, style="note")


def winner(result: Result, proxy: str) -> str:
    """The winner by a score, the networks that tie with it, or why there is none."""
    best, seeds = result.best[proxy], result.config.seeds
    scored = [row.name for row in result.archs if row.scores[proxy].mean is not None]
    if not best:
        return f"{proxy}: no network has a score"
    if len(scored) == 1:
        return f"{proxy}: {scored[0]} is the only network with a score, and nobody wins alone"
    if seeds < 2:
        first = [row.name for row in result.archs if row.rank[proxy] == 1]
        are = f"{_some(first, ', ')} {'are' if len(first) > 1 else 'is'} first"
        return f"{proxy}: {are}, but one seed cannot name a winner"
    if len(best) == 1:
        return f"{proxy}: {best[0]} wins"
    return f"{proxy}: {len(best)} networks cannot be told apart over {seeds} seeds: {_some(best, ', ')}"


def _some(items: Sequence[str], between: str, most: int = SHOWN_NAMES) -> str:
    more = f"{between}and {len(items) - most} more" if len(items) > most else ""
    return between.join(items[:most]) + more
