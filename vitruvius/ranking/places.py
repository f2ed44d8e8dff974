"""Where each network stands by each score.

Shapes: n networks, S seeds.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.records import Score
from vitruvius.ranking import statistics
from vitruvius.ranking.results import Mark, Standing
from vitruvius.ranking.score import Network
from vitruvius.ranking.statistics import Floats

Table = Mapping[str, Sequence[Sequence[Score]]]
"""By proxy: for each network, a score per seed."""


def matrix(rows: Sequence[Sequence[Score]]) -> Floats:
    """Scores as numbers, (n, S); a network without a score in one seed has none at all: -inf in every one."""
    values = np.array([[-np.inf if score.value is None else score.value for score in row] for row in rows])
    values[np.isinf(values).any(1)] = -np.inf
    return values


def standings(names: Sequence[str], networks: Sequence[Network], table: Table) -> list[Standing]:
    """Each network with its size, its scores and its places."""
    ranks = {proxy: _ranks(statistics.mean(matrix(rows))) for proxy, rows in table.items()}
    found = []
    for index, (name, network) in enumerate(zip(names, networks, strict=True)):
        marks = {proxy: _mark(rows[index]) for proxy, rows in table.items()}
        place = {proxy: rank[index] for proxy, rank in ranks.items()}
        found.append(Standing(name=name, **_size(network, marks), scores=marks, rank=place))
    return found


def in_order(
    standings: Sequence[Standing], accuracies: Mapping[str, Sequence[float | None]]
) -> tuple[Standing, ...]:
    """The networks by their first score, each with its accuracy, or accuracies by column where there are several."""
    found = []
    for index, standing in enumerate(standings):
        by_column = {column: values[index] for column, values in accuracies.items()}
        known = by_column if len(by_column) > 1 else next(iter(by_column.values()), None)
        found.append(standing.model_copy(update={"accuracy": known}))
    return tuple(sorted(found, key=lambda standing: next(iter(standing.rank.values()))))


def _ranks(score_n: Floats) -> list[int]:
    """The place of each score: one more than there are better ones."""
    ordered = np.sort(-score_n)
    return (1 + np.searchsorted(ordered, -score_n)).tolist()


def _mark(scores: Sequence[Score]) -> Mark:
    failed = [(draw, score.failed) for draw, score in enumerate(scores, 1) if score.failed is not None]
    if failed:
        draw, reason = failed[0]
        return Mark(
            failed=reason if len(failed) == len(scores) else f"{reason} (in draw {draw} of {len(scores)})"
        )
    values_1S = np.array([[score.value for score in scores]], dtype=float)
    std = statistics.deviation(values_1S)[0] if len(scores) > 1 else None
    return Mark(mean=statistics.mean(values_1S)[0], std=std)


def _size(network: Network, marks: Mapping[str, Mark]) -> dict[str, int | None]:
    """Parameters, multiply-adds, depth and width: of an Arch in closed form, of other modules as they were counted."""
    if isinstance(network, Arch):
        found = cost.cost(network)
        return {"params": found.params, "macs": found.macs, "depth": network.depth, "width": network.width}
    counted = {name: marks[name].mean for name in ("params", "macs", "depth")}
    return {
        **{name: None if value is None else round(value) for name, value in counted.items()},
        "width": None,
    }
