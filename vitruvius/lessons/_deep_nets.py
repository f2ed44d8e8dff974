"""Deep networks of four kinds, trained twice: by autograd, and with every derivative written out.

Shapes: B samples, D width, K classes.
"""

from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

SAMPLES, CLASSES, EPS, DIVERGED = 64, 4, 1e-5, 1e6
HAS_SKIP, HAS_NORM = ("residual", "both"), ("normalised", "both")


class Net(NamedTuple):
    """A stack of relu layers with its start and its training by gradient descent."""

    kind: str
    depth: int
    width: int
    gain: Fraction  # width times the variance of a weight
    steps: int
    rate: float
    seed: int


class Run(NamedTuple):
    """What a network shows before and after its training."""

    sizes: list[float]  # of the gradient at each layer's output, that of the last being 1
    loss: float | None  # after training, None if it diverged
    cosine: float  # mean over pairs of samples, of the last layer's outputs before training


def _start(net: Net) -> tuple[Any, Any, list[Any]]:
    """Normalised samples of noisy classes, their labels, and all weights, the head last."""
    import numpy as np

    draw, width = np.random.default_rng(net.seed), net.width
    labels = np.arange(SAMPLES) % CLASSES
    x_BD = draw.normal(size=(CLASSES, width))[labels] + draw.normal(size=(SAMPLES, width))
    x_BD = (x_BD - x_BD.mean(1, keepdims=True)) / x_BD.std(1, keepdims=True)
    layers = [draw.normal(size=(width, width)) * sqrt(net.gain / width) for _ in range(net.depth)]
    return x_BD, labels, [*layers, draw.normal(size=(CLASSES, width)) / sqrt(width)]


@lru_cache(maxsize=16)
def trained(net: Net) -> Run:
    """The training by autograd."""
    import torch
    from torch.nn import functional

    x, y, start = _start(net)
    x_BD, y_B, weights = torch.tensor(x), torch.tensor(y), [torch.tensor(w).requires_grad_() for w in start]

    def forward() -> tuple["Tensor", list["Tensor"]]:
        streams = [x_BD]
        for w_DD in weights[:-1]:
            h = functional.layer_norm(streams[-1], x_BD.shape[1:], eps=EPS) if net.kind in HAS_NORM else streams[-1]
            branch = h.relu() @ w_DD.T
            streams.append(streams[-1] + branch if net.kind in HAS_SKIP else branch)
        return functional.cross_entropy(streams[-1] @ weights[-1].T, y_B), streams[1:]

    loss, streams = forward()
    sizes = [grad.norm().item() for grad in torch.autograd.grad(loss, streams, retain_graph=True)]
    unit = streams[-1].detach() / streams[-1].detach().norm(dim=1, keepdim=True)
    cosine = ((unit @ unit.T).sum().item() - SAMPLES) / (SAMPLES * (SAMPLES - 1))
    for _ in range(net.steps):
        for weight, grad in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= net.rate * grad
        loss = forward()[0]
        if not loss.item() < DIVERGED:
            break
    return Run([size / sizes[-1] for size in sizes], loss.item() if loss.item() < DIVERGED else None, cosine)


@lru_cache(maxsize=16)
def by_hand(net: Net) -> Run:
    """The same training with every derivative written out."""
    import numpy as np

    x_BD, y_B, weights = _start(net)
    wanted_BK = np.eye(CLASSES)[y_B]
    sizes: list[float] = []
    for step in range(net.steps + 1):
        stream, kept = x_BD, []
        for w_DD in weights[:-1]:
            deviation = np.sqrt(stream.var(1, keepdims=True) + EPS) if net.kind in HAS_NORM else 1.0
            normed = (stream - stream.mean(1, keepdims=True)) / deviation if net.kind in HAS_NORM else stream
            kept.append((normed, deviation))
            stream = np.maximum(normed, 0) @ w_DD.T + (stream if net.kind in HAS_SKIP else 0)
        logits_BK = stream @ weights[-1].T
        logits_BK = logits_BK - logits_BK.max(1, keepdims=True)
        p_BK = np.exp(logits_BK) / np.exp(logits_BK).sum(1, keepdims=True)
        loss = float(-(wanted_BK * (logits_BK - np.log(np.exp(logits_BK).sum(1, keepdims=True)))).sum() / SAMPLES)
        if step == net.steps or (step and not loss < DIVERGED):
            break
        error_BK = (p_BK - wanted_BK) / SAMPLES
        back_BD = error_BK @ weights[-1]
        updates = [error_BK.T @ stream]
        for w_DD, (normed, deviation) in zip(weights[-2::-1], kept[::-1], strict=True):
            if step == 0:
                sizes.insert(0, float(np.linalg.norm(back_BD)))
            updates.insert(0, back_BD.T @ np.maximum(normed, 0))
            inner = (back_BD @ w_DD) * (normed > 0)
            if net.kind in HAS_NORM:
                along = normed * (inner * normed).mean(1, keepdims=True)
                inner = (inner - inner.mean(1, keepdims=True) - along) / deviation
            back_BD = inner + (back_BD if net.kind in HAS_SKIP else 0)
        weights = [weight - net.rate * update for weight, update in zip(weights, updates, strict=True)]
    return Run([size / sizes[-1] for size in sizes], loss if loss < DIVERGED else None, 0.0)
