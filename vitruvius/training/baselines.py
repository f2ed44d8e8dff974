r"""Baselines that a network must beat: a linear probe and nearest neighbours on the pixels of the same split.

Cheap by counts: at most 10,000 training and 2,000 other images, averaged to at most 32 pixels a side. The
probe minimises $-\frac1n\sum_i\log p_{i,y_i} + \frac\lambda2\lVert W\rVert_F^2$. Nothing here draws from
torch's random numbers. Shapes: n samples, d pixels, K classes, C channels, H and W the image's sides.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from vitruvius.core import files
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset, Split, stratified_order
from vitruvius.training.results import Baseline, Baselines

TRAIN_IMAGES, OTHER_IMAGES = 10_000, 2_000
SIDES = (32, 16, 8, 4)
WORK = 2 * 10**8  # most training images x pixels x classes of the linear probe
PENALTIES = (1e-3, 1e-1)
ROUNDS = 60  # of L-BFGS
NEIGHBOURS = 5
AT_A_TIME = 1024
FILE = "baselines.json"
Array = NDArray[np.float32]
Classify = Callable[[Array], NDArray[np.int64]]


class Samples(NamedTuple):
    """Pixels of some images of a split, with their classes."""

    x: Array  # (n, d)
    y: NDArray[np.int64]  # (n,)
    mirrored: Array  # (n, d), the same images left-right


def measure(data: Dataset) -> Baselines | None:
    """Fit the baselines and measure them on the validation images; None without labels."""
    if data.train.y is None or len(data.classes) < 2 or not len(data.train):
        return None
    side = _side(data)
    train = _samples(data.train, side, TRAIN_IMAGES)
    validation = _samples(data.validation, side, OTHER_IMAGES)
    scaled = _scaling(train.x)
    x = scaled(train.x)
    neighbours = _nearest(x, train.y, len(data.classes))
    fits = [(penalty, _linear(x, train.y, len(data.classes), penalty)) for penalty in PENALTIES]
    if not len(validation.y):
        found = (Baseline(name="linear probe", val_accuracy=None, l2=PENALTIES[0]), _neighbours(None))
        return Baselines(found=found, images=len(train.y), side=side, most_judged=OTHER_IMAGES)
    scores = [_accuracy(fit, scaled(validation.x), validation.y) for _, fit in fits]
    best = scores.index(max(scores))
    nearest = _accuracy(neighbours, scaled(validation.x), validation.y)
    found = (
        Baseline(name="linear probe", val_accuracy=scores[best], l2=fits[best][0]),
        _neighbours(nearest),
    )
    classify = fits[best][1] if scores[best] >= nearest else neighbours
    mirrored = None
    if validation.mirrored is not validation.x:
        turned = _accuracy(classify, scaled(validation.mirrored), validation.y)
        mirrored = are_recognised(max(scores[best], nearest), turned, len(validation.y))
    return Baselines(found=found, images=len(train.y), side=side, most_judged=OTHER_IMAGES, mirrored=mirrored)


def are_recognised(accuracy: float, mirrored: float, images: int) -> bool:
    """Whether mirror images are recognised as well, up to two standard errors of the accuracy.

    >>> are_recognised(0.95, 0.40, 200), are_recognised(0.55, 0.53, 200)
    (False, True)
    """
    error = math.sqrt(max(accuracy * (1 - accuracy), 1 / images) / images)
    return mirrored >= accuracy - 2 * error


def test(known: Baselines, data: Dataset) -> Baselines:
    """Add the accuracies on the test images; the penalty stays the one that was chosen."""
    if not len(data.test) or not known.found:
        return known
    train = _samples(data.train, known.side, TRAIN_IMAGES)
    tested = _samples(data.test, known.side, OTHER_IMAGES)
    scaled, classes = _scaling(train.x), len(data.classes)
    x = scaled(train.x)
    found = []
    for one in known.found:
        fit = _nearest(x, train.y, classes) if one.l2 is None else _linear(x, train.y, classes, one.l2)
        accuracy = _accuracy(fit, scaled(tested.x), tested.y)
        found.append(one.model_copy(update={"test_accuracy": accuracy}))
    return known.model_copy(update={"found": tuple(found)})


def read(folder: RunFolder) -> Baselines | None:
    """Return what a run has measured before."""
    path = folder.path(FILE)
    return files.read_as(path, Baselines) if path.is_file() else None


def keep(folder: RunFolder, found: Baselines) -> None:
    """Write the baselines into the run folder, so that a resumed run need not measure them again."""
    files.write_json(folder.path(FILE), found.model_dump(mode="json"))


def _neighbours(accuracy: float | None) -> Baseline:
    return Baseline(name="nearest neighbours", val_accuracy=accuracy)


def _side(data: Dataset) -> int:
    """Return the largest side at which the linear probe stays cheap."""
    if len(data.shape) != 3:
        return 0
    channels, height, width = data.shape
    images = min(len(data.train), TRAIN_IMAGES)
    work = images * channels * len(data.classes)
    fitting = (side for side in SIDES if work * side * side <= WORK)
    return min(next(fitting, SIDES[-1]), height, width)


def _samples(split: Split, side: int, most: int) -> Samples:
    """Return at most so many images, every class in proportion."""
    assert split.y is not None
    rows = sorted(stratified_order(split.y.tolist(), 0)[:most])
    parts = [split.x[rows[start : start + AT_A_TIME]] for start in range(0, len(rows), AT_A_TIME)]
    y = split.y[rows].numpy()
    x = _joined([_pixels(part, side) for part in parts])
    if split.x.ndim != 4:
        return Samples(x, y, x)
    return Samples(x, y, _joined([_pixels(part.flip(3), side) for part in parts]))


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty((0, 1), np.float32)


def _pixels(x: Tensor, side: int) -> Array:
    """Return images as rows of pixels, averaged to `side` where they are larger; other samples flattened."""
    values = x.float()
    if x.ndim == 4 and side < min(x.shape[2:]):
        values = adaptive_avg_pool2d(values, side)
    return values.flatten(1).numpy()


def _scaling(train: Array) -> Callable[[Array], Array]:
    """Return the function that centres every pixel and divides all by one standard deviation."""
    mean = train.mean(0)
    std = float((train - mean).std()) or 1.0
    return lambda x: (x - mean) / np.float32(std)


def _linear(x_nd: Array, y_n: NDArray[np.int64], classes: int, penalty: float) -> Classify:
    """Fit multinomial logistic regression by L-BFGS."""
    n, d = x_nd.shape
    wanted_nK = np.zeros((n, classes), np.float32)
    wanted_nK[np.arange(n), y_n] = 1

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight_dK, bias_K = _unpacked(flat, d)
        score_nK = x_nd @ weight_dK + bias_K
        score_nK -= score_nK.max(1, keepdims=True)
        chance_nK = np.exp(score_nK)
        total_n = chance_nK.sum(1, keepdims=True)
        value = float((np.log(total_n[:, 0]) - (score_nK * wanted_nK).sum(1)).mean())
        value += penalty / 2 * float((weight_dK.astype(np.float64) ** 2).sum())
        error_nK = (chance_nK / total_n - wanted_nK) / np.float32(n)
        gradient_dK = (x_nd.T @ error_nK).astype(np.float64) + penalty * weight_dK
        return value, np.concatenate([gradient_dK.ravel(), error_nK.sum(0).astype(np.float64)])

    start = np.zeros((d + 1) * classes)
    fitted: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    weight_dK, bias_K = _unpacked(fitted.x, d)
    return lambda x: (x @ weight_dK + bias_K).argmax(1)


def _unpacked(flat: NDArray[np.float64], d: int) -> tuple[Array, Array]:
    both = flat.reshape(d + 1, -1).astype(np.float32)
    return both[:d], both[d]


def _nearest(x_nd: Array, y_n: NDArray[np.int64], classes: int) -> Classify:
    """Let the five nearest training images vote; of equal votes the nearer ones win."""
    known, square = torch.from_numpy(x_nd), (x_nd**2).sum(1)
    votes = 1 + np.arange(NEIGHBOURS, 0, -1) / (10 * NEIGHBOURS)

    def classify(x: Array) -> NDArray[np.int64]:
        found = []
        for start in range(0, len(x), AT_A_TIME):
            part = x[start : start + AT_A_TIME]
            distance = torch.from_numpy(square) - 2 * torch.from_numpy(part) @ known.T
            near = distance.topk(min(NEIGHBOURS, len(x_nd)), largest=False).indices.numpy()
            count = np.zeros((len(part), classes))
            for rank in range(near.shape[1]):
                count[np.arange(len(part)), y_n[near[:, rank]]] += votes[rank]
            found.append(count.argmax(1))
        return np.concatenate(found) if found else np.empty(0, np.int64)

    return classify


def _accuracy(classify: Classify, x: Array, y: NDArray[np.int64]) -> float:
    return float((classify(x) == y).mean())
