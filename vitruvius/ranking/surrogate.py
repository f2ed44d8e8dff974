r"""Predict the accuracies of networks from a few known ones: a prior of mean ranks and a ridge regression.

The prior is the mean of a network's ranks by a few scores, none of which was fitted. With known accuracies
$y$, features $x$ (the prior, structure, ranks by all scores, accuracies of shorter trainings) are weighted by
ridge regression, $\min_w \sum_i (y_i - b - w^T x_i)^2 + \lambda |w|^2$, with the $\lambda$ of the least
leave-one-out error (Allen 1974): a weight may be negative, so that the sign of size is learned and not
assumed. The regression is used from about 10 accuracies on, never on fewer than 8, and only where its
leave-one-out predictions order the networks better than counting parameters does.

Shapes: n networks, k of them with a known accuracy, F features.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, t

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.ranking import statistics

PRIOR = ("params", "width_sum", "dss", "synflow", "snip")
"""The scores whose mean rank is the prior."""
FEWEST, ENOUGH = 8, 10
MARGIN = 0.1
"""By how much the regression must be better than counting where fewer than 10 accuracies are known."""
PRIOR_SCALE = 4.0
"""How many times larger the weight of the prior may be than that of a group of features."""
PENALTIES = tuple(10.0 ** (power / 4) for power in range(-8, 13))
OUTLIER = 3.0
"""Accuracies further than so many standard deviations (by the median deviation) from the median are drawn in:
one diverged training would otherwise decide the fit."""
Floats = NDArray[np.float64]
Groups = Mapping[str, Mapping[str, Floats]]
"""Features (n,) by group and name; a group as a whole has the weight of one feature."""


@dataclass(frozen=True)
class Fit:
    """What was learned from the known accuracies."""

    prediction_n: Floats
    """Of every network; of those with a known accuracy, by the others alone (leave-one-out)."""
    error: float
    """Root mean square error of the leave-one-out predictions."""
    labels: int
    tau: float | None
    """Kendall's tau of the leave-one-out predictions with the known accuracies."""
    counting: float | None
    """That of the number of parameters."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Accuracy gained per standard deviation of a feature."""

    @property
    def is_better(self) -> bool:
        """Whether the predictions are to be used: enough accuracies, and a better order than counting's."""
        if self.labels < FEWEST or self.tau is None:
            return False
        margin = 0.0 if self.labels >= ENOUGH else MARGIN
        return self.tau > max(self.counting or 0.0, 0.0) + margin

    def half_width(self, level: float = 0.95) -> float:
        """Return half the width of the interval around a prediction."""
        return float(t.ppf((1 + level) / 2, max(1, self.labels - 2))) * self.error


def prior(scores: Mapping[str, Floats]) -> Floats:
    """Return the mean rank of each network by the scores of the prior that are there, from 0 to 1.

    >>> prior({"params": np.array([10.0, 30.0, 20.0]), "snip": np.array([1.0, 3.0, 2.0])}).tolist()
    [0.0, 1.0, 0.5]
    """
    found = [ranks(scores[name]) for name in PRIOR if name in scores]
    return np.mean(found, axis=0)


def ranks(values_n: Floats) -> Floats:
    """Return ranks from 0 (lowest) to 1; equal values share one, and failed scores are the lowest."""
    values_n = np.where(np.isfinite(values_n), values_n, -np.inf)
    return (rankdata(values_n) - 1) / max(1, len(values_n) - 1)


def structure(archs: Sequence[Arch]) -> dict[str, Floats]:
    """Return what can be counted: logarithms of sizes, means over the layers."""
    rows = []
    for arch in archs:
        layers = arch.layers
        inner = sum(layer.heads * layer.head_dim for layer in layers) / arch.depth
        heads, mlp = (sum(getattr(layer, name) for layer in layers) / arch.depth for name in ("heads", "mlp"))
        price = cost.cost(arch)
        sizes = (price.params, price.macs, arch.width, heads, inner, mlp, arch.patch)
        rows.append((*map(math.log, sizes), float(arch.depth)))
    names = ("params", "macs", "width", "heads", "attention width", "mlp", "patch")
    columns = np.array(rows, dtype=float).T
    return dict(zip([*(f"log {name}" for name in names), "depth"], columns, strict=True))


def groups(archs: Sequence[Arch], scores: Mapping[str, Floats]) -> dict[str, dict[str, Floats]]:
    """Return the features of networks: structure, and the ranks by every score."""
    ranked = {f"rank by {name}": ranks(values) for name, values in scores.items()}
    return {"structure": structure(archs), "scores": ranked}


def fit(prior_n: Floats, features: Groups, accuracy_n: Floats, params_n: Floats) -> Fit | None:
    """Fit the known accuracies (NaN: unknown) and predict all; None with fewer than three."""
    known = np.flatnonzero(np.isfinite(accuracy_n))
    if len(known) < 3:
        return None
    names, x_nF = _design(prior_n, features)
    y_k = _without_outliers(accuracy_n[known])
    center_F, mean = x_nF[known].mean(0), float(y_k.mean())
    x_kF, centred_k = x_nF[known] - center_F, y_k - mean
    best: tuple[float, Floats, Floats] | None = None
    left, values, right = np.linalg.svd(x_kF, full_matrices=False)
    for penalty in PENALTIES:
        shrunk = values / (values**2 + penalty)
        weight_F = right.T @ (shrunk * (left.T @ centred_k))
        leverage_k = 1 / len(known) + np.einsum("kr,r->k", left**2, values * shrunk)
        out_k = (centred_k - x_kF @ weight_F) / np.maximum(1 - leverage_k, 1e-6)
        error = math.sqrt(float(np.mean(out_k**2)))
        if best is None or error < best[0]:
            best = error, weight_F, y_k - out_k
    assert best is not None
    error, weight_F, left_out_k = best
    prediction_n = mean + (x_nF - center_F) @ weight_F
    prediction_n[known] = left_out_k
    # Without a network the mean of the others moves away from it: that says nothing about their order.
    others_k = (len(known) * mean - y_k) / (len(known) - 1)
    scales = x_nF.std(0)
    return Fit(
        prediction_n=prediction_n,
        error=error,
        labels=len(known),
        tau=statistics.tau(left_out_k - others_k, accuracy_n[known]),
        counting=statistics.tau(params_n[known], accuracy_n[known]),
        weights={name: float(w * s) for name, w, s in zip(names, weight_F, scales, strict=True)},
    )


def _design(prior_n: Floats, features: Groups) -> tuple[list[str], Floats]:
    """Return names and columns of all features, standardised; each group has the variance of one feature."""
    names, columns = ["prior"], [PRIOR_SCALE * _standardised(prior_n)]
    for group in features.values():
        varying = {name: values for name, values in group.items() if np.ptp(values) > 0}
        for name, values in varying.items():
            names.append(name)
            columns.append(_standardised(values) / math.sqrt(len(varying)))
    return names, np.stack(columns, 1)


def _standardised(values_n: Floats) -> Floats:
    deviation = float(values_n.std())
    return (values_n - values_n.mean()) / (deviation or 1.0)


def _without_outliers(y_k: Floats) -> Floats:
    middle = float(np.median(y_k))
    spread = 1.4826 * float(np.median(np.abs(y_k - middle)))
    return np.clip(y_k, middle - OUTLIER * spread, middle + OUTLIER * spread) if spread else y_k
