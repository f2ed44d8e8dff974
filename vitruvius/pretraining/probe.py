r"""Probes: the accuracy that a simple classifier reaches on frozen features.

`lbfgs` minimises $-\frac1n\sum_i\log p_{i,y_i} + \frac{\lambda}2\lVert W\rVert_F^2$ with a free bias;
without the penalty separable features have no optimum. `adam` is the protocol of the autoencoder assignment,
`knn` asks the nearest neighbours. Shapes: n samples, k features, r principal directions, K classes.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, stratified_order
from vitruvius.nn.seeding import torch_seeded
from vitruvius.pretraining.results import FeatureScore
from vitruvius.pretraining.settings import ProbeChoice
from vitruvius.training import device, seeds
from vitruvius.training.batches import Batches
from vitruvius.training.loop import EVALUATION_BATCH

TOLERANCE = 1e-6  # norm of the gradient with respect to weights and bias at which `lbfgs` stops
CURVATURE = 0.01
"""Mean curvature of the cross-entropy that the scaling expects. Of 0 (no scaling), 0.001, 0.01 and 0.1 this
was the best compromise: about 25 evaluations on 100 untrained features instead of 124, 65 on 200 digits
instead of 60."""
MOST_ROUNDS = 500
ADAM_BATCH, ADAM_RATE = 200, 1e-3
WORTH_SHARING = 2**21  # entries of features from which more than one thread pays
NEIGHBOURS, TEMPERATURE = 20, 0.07
Encode = Callable[[Tensor], Tensor]


class Labelled(NamedTuple):
    """Features with their classes."""

    x: Tensor  # (n, k)
    y: Tensor  # (n,)


class Linear(NamedTuple):
    """A linear classifier, and the norm of its last gradient."""

    weight_kK: Tensor
    bias_K: Tensor
    gradient: float | None = None

    def classes(self, x_nk: Tensor) -> Tensor:
        """Return the predicted class of each sample."""
        return (x_nk.to(self.weight_kK) @ self.weight_kK + self.bias_K).argmax(1)


class Score(NamedTuple):
    """Test accuracy of a probe, and the last gradient norm of `lbfgs`."""

    accuracy: float
    gradient: float | None = None


def probe(
    method: str, train: Labelled, test: Labelled, classes: int, l2: float = 1e-3, seed: int = 0
) -> Score:
    """Fit a probe to some samples and measure its accuracy on others."""
    if method == "knn":
        return Score(_accuracy(nearest(train, test.x, classes), test.y))
    # Products of microseconds lose more by sharing than they win.
    with device.threads(1 if train.x.numel() < WORTH_SHARING else 0):
        fitted = lbfgs(train, classes, l2) if method == "lbfgs" else adam(train, classes, seed)
    return Score(_accuracy(fitted.classes(test.x), test.y), fitted.gradient)


def score(name: str, size: int, encode: Encode, data: Dataset, config: ProbeChoice) -> FeatureScore:
    """Probe one kind of features through all draws of labels."""
    split = data.test if config.on == "test" else data.validation
    assert split.y is not None
    assert data.train.y is not None
    test = Labelled(features(encode, Batches(split.x, split.y)), split.y)
    scores = []
    for number in range(1 if config.labels == "all" else config.draws):
        kept = draw(data.train.y, config.labels, config.seed, number)
        x, y = data.train.x[kept], data.train.y[kept]
        train = Labelled(features(encode, Batches(x, y)), y)
        seed = seeds.derive(config.seed, "probe", number)
        scores.append(probe(config.method, train, test, len(data.classes), config.l2, seed))
    accuracies = [found.accuracy for found in scores]
    return FeatureScore(
        features=name,
        size=size,
        mean=statistics.fmean(accuracies),
        spread=statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0,
        low=min(accuracies),
        high=max(accuracies),
        accuracies=tuple(accuracies),
        gradient=max((found.gradient for found in scores if found.gradient is not None), default=None),
    )


def protocol(config: ProbeChoice, data: Dataset) -> str:
    """Describe in a sentence how features are probed."""
    objective = f"mean cross-entropy + {config.l2:g}/2 |W|^2 with a free bias"
    how = {
        "lbfgs": f"lbfgs, {objective}, to a gradient norm of 1e-6",
        "adam": "adam at 0.001, batches of 200, 50 epochs (1,000 on up to 200 labels)",
        "knn": "20 nearest neighbours by cosine, weighed by exp(cosine / 0.07)",
    }[config.method]
    labels = len(data.train) if config.labels == "all" else config.labels
    draws = counted(config.draws, "draw")
    drawn = "all" if config.labels == "all" else f"{draws}, classes in proportion, of"
    judged = counted(len(getattr(data, config.on)), f"{config.on} sample")
    return f"{how}; {drawn} {counted(labels, 'training label')}, counted on the {judged}"


def features(encode: Encode, split: Batches) -> Tensor:
    """Encode all samples of a split, (n, k) on the CPU."""
    with torch.no_grad():
        return torch.cat([encode(x).flatten(1).cpu() for x in batches(split)])


def batches(split: Batches) -> Iterator[Tensor]:
    """Yield all samples of a split in order, as a model sees them."""
    return (split.batch(sample_B).x for sample_B in torch.split(torch.arange(len(split)), EVALUATION_BATCH))


def draw(y: Tensor, labels: int | str, seed: int, number: int = 0) -> Tensor:
    """Draw the samples that keep their labels: all, or so many at random with every class in proportion."""
    if labels == "all":
        return torch.arange(len(y))
    assert isinstance(labels, int)
    if labels > len(y):
        raise UserError(f"--labels {labels:,}: there are {len(y):,} labelled samples")
    order = stratified_order(y.tolist(), seeds.derive(seed, "labels", number))
    kept = torch.tensor(order[:labels])
    if int(y[kept].bincount().count_nonzero()) < 2:
        counts = ", ".join(map(str, y.bincount().tolist()))
        why = f"all of one class, the classes have {counts} samples; ask for more labels"
        raise UserError(f"--labels {labels:,}: {why}")
    return kept


def lbfgs(train: Labelled, classes: int, l2: float = 1e-3) -> Linear:
    """Minimise the penalised cross-entropy by L-BFGS."""
    problem = _Penalised(train, classes, l2)
    never: dict[str, Any] = {"tolerance_grad": 0, "tolerance_change": 0}  # the loop below says when to stop
    search = {"max_iter": 5, "history_size": 20, "line_search_fn": "strong_wolfe", **never}
    optimiser = torch.optim.LBFGS([problem.u_Ks], **search)
    for _ in range(MOST_ROUNDS):
        optimiser.step(problem)  # type: ignore[no-untyped-call]
        problem()  # the last point that a line search looks at is not always the one it takes
        if problem.slope <= TOLERANCE:
            break
    return problem.fitted()


class _Penalised:
    """The penalised cross-entropy as a function of weights on scaled principal directions of the features.

    Centring only moves the bias, and a direction without variance has weight 0 at the optimum, so it is left
    out: the optimum is that of the features themselves, reached in fewer steps. The last direction,
    s = r + 1, is the bias.
    """

    def __init__(self, train: Labelled, classes: int, l2: float) -> None:
        x_nk = train.x.double()
        self.mean_k = x_nk.mean(0)
        centred_nk = x_nk - self.mean_k
        value_r, axes_kr = _axes(centred_nk)
        kept = value_r > 1e-12 * value_r.max()
        self.axes_kr, self.scale_r = axes_kr[:, kept], (CURVATURE * value_r[kept] + l2).rsqrt()
        z_rn = (centred_nk @ (self.axes_kr * self.scale_r)).T
        self.z_sn = torch.cat([z_rn, torch.full_like(x_nk[:, 0], CURVATURE**-0.5)[None]])
        self.pull_s = l2 * torch.cat([self.scale_r**2, self.scale_r.new_zeros(1)])
        self.truth_Kn = nn.functional.one_hot(train.y, classes).T.double()
        self.u_Ks = torch.zeros(classes, len(self.z_sn), dtype=torch.float64)
        self.slope = math.inf  # its norm for weights on the features as they are, neither centred nor scaled

    def __call__(self) -> Tensor:
        """Return the value at the current weights and set their gradient."""
        u_Ks, samples = self.u_Ks, self.truth_Kn.shape[1]
        log_Kn = (u_Ks @ self.z_sn).log_softmax(0)
        u_Ks.grad = (log_Kn.exp() - self.truth_Kn) @ self.z_sn.T / samples + u_Ks * self.pull_s
        bias_K1 = u_Ks.grad[:, -1:] * CURVATURE**0.5
        plain_Kr = u_Ks.grad[:, :-1] / self.scale_r + bias_K1 * (self.mean_k @ self.axes_kr)
        self.slope = float(torch.cat([plain_Kr, bias_K1], 1).norm())
        return (u_Ks.square() * self.pull_s).sum() / 2 - (log_Kn * self.truth_Kn).sum() / samples

    def fitted(self) -> Linear:
        """Return the classifier of features that are neither centred nor scaled."""
        weight_kK = self.axes_kr @ (self.u_Ks[:, :-1] * self.scale_r).T
        return Linear(weight_kK, self.u_Ks[:, -1] * CURVATURE**-0.5 - self.mean_k @ weight_kK, self.slope)


def _axes(centred_nk: Tensor) -> tuple[Tensor, Tensor]:
    """Return variances and principal directions (columns); of few samples only those that they span."""
    samples, features = centred_nk.shape
    if samples < features:
        _, root_r, axes_rk = torch.linalg.svd(centred_nk / samples**0.5, full_matrices=False)
        return root_r.square(), axes_rk.T
    value_k, axes_kk = torch.linalg.eigh(centred_nk.T @ centred_nk / samples)
    return value_k, axes_kk


def adam(train: Labelled, classes: int, seed: int = 0) -> Linear:
    """Fit the assignment's probe: Adam, batches of 200 in one order, 50 epochs, 1,000 on up to 200 labels."""
    parts = list(zip(torch.split(train.x, ADAM_BATCH), torch.split(train.y, ADAM_BATCH), strict=True))
    order = torch.randperm(len(parts), generator=seeds.generator(seed, "probe order")).tolist()
    with torch_seeded(seeds.derive(seed, "probe")):
        layer = nn.Linear(train.x.shape[1], classes, dtype=train.x.dtype)
    optimiser = torch.optim.Adam(layer.parameters(), lr=ADAM_RATE, fused=True)
    for _ in range(1000 if len(parts) == 1 else 50):
        for index in order:
            x_Bk, y_B = parts[index]
            optimiser.zero_grad()
            cross_entropy(layer(x_Bk), y_B).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return Linear(layer.weight.detach().T, layer.bias.detach())


def nearest(train: Labelled, x_nk: Tensor, classes: int) -> Tensor:
    """Classify by the 20 most similar labelled samples, weighed by exp(cosine / 0.07) (Wu et al. 2018)."""
    known_mk, found = normalize(train.x), []
    for part_Bk in torch.split(normalize(x_nk), EVALUATION_BATCH):
        likeness_BN, index_BN = (part_Bk @ known_mk.T).topk(min(NEIGHBOURS, len(known_mk)))
        votes_BK = torch.zeros(len(part_Bk), classes).to(part_Bk)
        votes_BK.scatter_add_(1, train.y[index_BN], (likeness_BN / TEMPERATURE).exp())
        found.append(votes_BK.argmax(1))
    return torch.cat(found)


def _accuracy(guess_n: Tensor, y_n: Tensor) -> float:
    return float((guess_n == y_n).double().mean())
