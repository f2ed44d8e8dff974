r"""Scores of a population: ranks of several proxies put together, which one network alone does not have.

`az_nas` (Lee and Ham 2024): $\sum_k \log(r_k / n)$, where $r_k$ is the rank of the network by score $k$ among
all $n$, $n$ for the best; the four are expressivity, progressivity, trainability and multiply-adds.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import rankdata

from vitruvius.core import plugins
from vitruvius.core.records import Score
from vitruvius.proxies import STRUCTURAL

AGGREGATES = {"az_nas": ("az_expressivity", "az_progressivity", "az_trainability", "macs")}
"""The scores that each aggregate ranks."""
Rows = Sequence[Sequence[Score]]  # for each network, a score per seed


def requested(names: Iterable[str]) -> list[str]:
    """Return the scores that `--proxies` names, aggregates among them; `all` is every one."""
    every = (*plugins.members("proxies"), *AGGREGATES)
    return list(dict.fromkeys(member for name in names for member in (every if name == "all" else [name])))


def members(names: Iterable[str]) -> list[str]:
    """Return the proxies to compute: aggregates are replaced by what they rank."""
    return list(dict.fromkeys(member for name in names for member in AGGREGATES.get(name, (name,))))


def with_aggregates(table: dict[str, list[tuple[Score, ...]]], names: Iterable[str]) -> dict[str, Rows]:
    """Return the scores as they were requested, aggregates among them, then the others, counts last."""
    found: dict[str, Rows] = {
        name: aggregate([table[member] for member in AGGREGATES[name]]) if name in AGGREGATES else table[name]
        for name in requested(names)
        if name in AGGREGATES or (name in table and name not in STRUCTURAL)
    }
    return {**found, **{name: rows for name, rows in table.items() if name not in found}}


def aggregate(parts: Sequence[Rows]) -> Rows:
    """Add up the logarithms of relative ranks, seed by seed; a network that lacks a part has no score."""
    failed = [_failure([part[index] for part in parts]) for index in range(len(parts[0]))]
    known = [index for index, reason in enumerate(failed) if reason is None]
    if not known:
        return [tuple(Score(failed=reason) for _ in parts[0][0]) for reason in failed]
    values = np.array([[[score.value for score in part[index]] for index in known] for part in parts])
    scores = np.log(rankdata(values.astype(float), axis=1) / len(known)).sum(0)
    by_index = dict(zip(known, scores.tolist(), strict=True))
    return [
        tuple(Score(value=value) for value in by_index[index])
        if index in by_index
        else tuple(Score(failed=failed[index]) for _ in parts[0][index])
        for index in range(len(parts[0]))
    ]


def _failure(rows: Sequence[Sequence[Score]]) -> str | None:
    """Return the first reason why one of a network's scores is missing."""
    return next((score.failed for row in rows for score in row if score.failed is not None), None)
