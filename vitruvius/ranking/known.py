"""`rank --known COLUMN`: known accuracies re-rank the networks whose accuracy is not, with intervals."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.ranking import seeds, surrogate, verdict
from vitruvius.ranking.results import Predicted, Reranking
from vitruvius.ranking.score import Network, ScoreTable


def refuse(column: str, table: Path | None) -> None:
    """Refuse a column that no table has, and one in which nothing or everything is known."""
    if table is None:
        raise UserError(f"--known {column}: only a table of networks has accuracies")
    tables.columns(table, column)
    values = tables.accuracies(table, column)
    count = sum(value is not None for value in values)
    if count == len(values):
        raise UserError(f"--known {column}: all {count} accuracies are known, nothing is left to be ranked")
    if count == 0:
        raise UserError(f"--known {column}: no accuracy is known")


def rerank(
    column: str,
    names: Sequence[str],
    networks: Sequence[Network],
    table: ScoreTable,
    accuracies: Sequence[float | None],
) -> Reranking:
    """Order networks without a known accuracy by the surrogate, or by the prior where that is no better."""
    scores = {name: seeds.order(verdict.matrix(rows)) for name, rows in table.items()}
    features: dict[str, Mapping[str, surrogate.Floats]] = {
        "scores": {f"rank by {name}": surrogate.ranks(values) for name, values in scores.items()}
    }
    archs = [network for network in networks if isinstance(network, Arch)]
    params = seeds.centre(verdict.matrix(table["params"]))
    if len(archs) == len(networks):
        features["structure"] = surrogate.structure(archs)
        params = np.array([float(cost.cost(arch).params) for arch in archs])
    known = np.array([np.nan if value is None else value for value in accuracies])
    prior = surrogate.prior(scores)
    fit = surrogate.fit(prior, features, known, params)
    used = fit is not None and fit.is_better
    order = fit.prediction_n if fit is not None and used else prior
    half = fit.half_width() if fit is not None else 0.0
    rows = []
    for index in sorted(np.flatnonzero(np.isnan(known)).tolist(), key=lambda index: (-order[index], index)):
        value = float(order[index])
        around = (
            {"accuracy": value, "low": max(0.0, value - half), "high": min(1.0, value + half)} if used else {}
        )
        rows.append(Predicted(name=names[index], **around))
    return Reranking(
        column=column,
        labels=int(np.isfinite(known).sum()),
        tau=None if fit is None else fit.tau,
        counting=None if fit is None else fit.counting,
        used=used,
        rows=tuple(rows),
    )
