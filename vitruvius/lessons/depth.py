r"""Why 56 plain layers train worse than 20, and what residual connections and normalisation change.

A layer is $h' = W \mathrm{relu}(h)$ (plain), with LayerNorm before the relu (normalised), with $h$ added (residual), or
both; $W_{ij} \sim N(0, c/D)$, where the gain c is 1/3 for nn.Linear's own start and 2 for that of He et al. (2015).
Shapes: B samples, D width, K classes.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log, log10, pi, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars, Lines, Series
from vitruvius.core.config import Ints
from vitruvius.lessons import Answer, Exact, Proof, Step
from vitruvius.lessons._board import matrix, number
from vitruvius.lessons._proofs import agree, holds

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "training"
SAMPLES, CLASSES, EPS, DIVERGED = 64, 4, 1e-5, 1e6
KINDS = ("plain", "residual", "normalised", "both")
HAS_SKIP, HAS_NORM = ("residual", "both"), ("normalised", "both")


class Question(lessons.Question):
    """Depths to compare, the start, and a short training by gradient descent."""

    depths: Ints = (20, 56)
    gain: Exact = Fraction(1, 3)
    """c: D times the variance of a weight."""
    width: int = Field(64, ge=16, le=256)
    steps: int = Field(50, ge=1, le=500)
    rate: float = Field(0.001, gt=0, le=1)
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        if not self.depths or not 2 <= min(self.depths) <= max(self.depths) <= 100:
            raise ValueError(f"depths has {list(self.depths)}, it needs numbers of layers from 2 to 100")
        if not 0 < self.gain <= 4:
            raise ValueError(f"gain is {self.gain}, it must be positive and at most 4")
        work = sum(self.depths) * self.steps * self.width**2
        if work > 5e7:
            raise ValueError(f"depths x steps x width^2 is {work:.2g}, it needs to be at most 5e7")
        return self


class Run(NamedTuple):
    """What a network shows before and after its training."""

    sizes: list[float]  # of the gradient at each layer's output, that of the last being 1
    loss: float | None  # after training, None if it diverged
    cosine: float  # mean over pairs of samples, of the last layer's outputs before training


def solve(question: Question) -> Iterator[Step | Answer]:
    """How a gradient changes per layer by theory, measured in fresh networks, and what training makes of it."""
    half, deepest = question.gain / 2, str(max(question.depths))
    yield Step(
        says=f"Follow the gradient back through one layer: W multiplies its squared length by c = {question.gain}, the "
        f"relu halves it. A plain layer passes on {half} of it, a skip adds 1, and a norm divides by the variance that "
        "the layer before made, the same c/2. With both, the stream grows with every layer and the branch counts less.",
        formula=rf"\frac{{c}}{{2}} = {number(half)}, \quad 1 + \frac{{c}}{{2}} = {number(1 + half)}, \quad "
        r"\frac{c/2}{c/2} = 1, \quad 1 + \frac{c/2}{1 + l c/2}",
        value={"plain": half, "residual": 1 + half, "normalised": Fraction(1)},
    )
    theory = {kind: {str(depth): _theory(question, kind, depth) for depth in question.depths} for kind in KINDS}
    runs = {kind: {str(depth): _trained(question, kind, depth) for depth in question.depths} for kind in KINDS}
    measured = {kind: {depth: run.sizes for depth, run in row.items()} for kind, row in runs.items()}
    first = (f"{kind} {theory[kind][deepest][0]:.2g} and {measured[kind][deepest][0]:.2g}" for kind in KINDS)
    yield Step(
        says=f"Size of the gradient at the first of {deepest} layers relative to the last, by theory (infinite width) "
        f"and measured (width {question.width}): {'; '.join(first)}.",
        formula=rf"\left( \frac{{c}}{{2}} \right)^{{({deepest} - 1)/2}} = {number(theory['plain'][deepest][0])}",
        value={"theory": theory, "measured": measured},
        figure=_figure(theory, measured, deepest),
    )
    losses = {kind: {depth: run.loss for depth, run in row.items()} for kind, row in runs.items()}
    yield _loss_step(question, losses)
    yield _not_only_size(question, runs)
    yield Answer(fields={"theory": theory, "measured": measured, "loss": losses})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Gaussian integrals layer by layer, and all networks again with hand-written backward passes."""
    found = {kind: {str(depth): _by_hand(question, kind, depth) for depth in question.depths} for kind in KINDS}
    integrals = {kind: {str(depth): _integrated(question, kind, depth) for depth in question.depths} for kind in KINDS}
    sizes = {kind: {depth: run.sizes for depth, run in row.items()} for kind, row in found.items()}
    losses = {kind: {depth: run.loss for depth, run in row.items()} for kind, row in found.items()}
    yield agree("theory", "Gaussian integrals, layer by layer", _logs(answer["theory"]), _logs(integrals))
    yield agree("measured", "backward pass written by hand", _logs(answer["measured"]), _logs(sizes))
    yield agree("loss", "training with that backward pass", answer["loss"], losses, 1e-8)
    depth = str(max(question.depths))
    for kind in KINDS:
        apart = abs(log(max(answer["measured"][kind][depth][0], 1e-300) / answer["theory"][kind][depth][0]))
        limit = 1 + 2 * sqrt(5 * int(depth) / question.width)  # the spread of one draw grows with depth / width
        detail = f"off by a factor of {exp(apart):.3g} over {depth} layers, at most {exp(limit):.3g} allowed"
        yield holds(f"theory fits, {kind}", "one draw of weights", apart <= limit, detail)


def _theory(question: Question, kind: str, depth: int) -> list[float]:
    """The gradient's size at the output of each layer, that of the last being 1, for infinite width."""
    half = float(question.gain) / 2
    if kind == "both":  # the mean square of the stream is 1 + l c/2
        return [sqrt((1 + depth * half) / (1 + layer * half)) for layer in range(1, depth + 1)]
    factor = {"plain": half, "residual": 1 + half, "normalised": 1.0}[kind]
    return [factor ** ((depth - layer) / 2) for layer in range(1, depth + 1)]


def _shown(loss: float | None) -> str:
    return "diverged" if loss is None else f"{loss:.4g}"


def _figure(theory: Any, measured: Any, depth: str) -> Lines:
    layers = tuple(float(layer) for layer in range(1, int(depth) + 1))
    curves = {f"{kind}, theory": theory[kind][depth] for kind in KINDS}
    curves |= {f"{kind}, measured": measured[kind][depth] for kind in KINDS}
    series = tuple(Series(name=name, x=layers, y=tuple(y)) for name, y in curves.items())
    return Lines(title=f"Gradient in {depth} layers", series=series, x_label="layer", y_label="size", log_y=True)


def _loss_step(question: Question, losses: dict[str, dict[str, float | None]]) -> Step:
    named = {f"{kind} {depth}": loss for kind, line in losses.items() for depth, loss in line.items()}
    rows = [["layers", *map(str, question.depths)]]
    rows += [[kind, *map(_shown, line.values())] for kind, line in losses.items()]
    heights = tuple(loss or 0.0 for loss in named.values())
    return Step(
        says=f"Training loss after {question.steps} steps at rate {question.rate:g} on {SAMPLES} samples of {CLASSES} "
        f"classes, by depth; guessing costs {log(CLASSES):.4g}.",
        formula=matrix([[rf"\mathrm{{{cell}}}" for cell in line] for line in rows]),
        value=losses,
        figure=Bars(title="Training loss", names=tuple(named), values=heights, y_label="loss (0: diverged)"),
    )


def _not_only_size(question: Question, runs: dict[str, dict[str, Run]]) -> Step:
    strong = question.model_copy(update={"gain": Fraction(2)})
    he = {depth: _trained(strong, "plain", int(depth)) for depth in runs["residual"]}
    rival = {depth: _shown(run.loss) for depth, run in runs["residual"].items()}
    told = "; ".join(
        f"{depth} layers: size {run.sizes[0]:.2g}, loss {_shown(run.loss)} against {rival[depth]}"
        for depth, run in he.items()
    )
    alike = ", ".join(f"{kind} {list(row.values())[-1].cosine:.4g}" for kind, row in runs.items())
    return Step(
        says="To stop at 'dying gradients' is the common mistake: plain layers started with gain 2 keep the gradient's "
        f"size and still learn less than residual ones ({told}). The other half: without skips all inputs end up "
        f"alike (mean cosine of two samples' last outputs: {alike}), so the gradient is there but cannot tell them "
        "apart. A skip keeps the size and the differences, and a norm inside its branch tames the growth.",
        value={depth: {"size": run.sizes[0], "loss": run.loss} for depth, run in he.items()},
    )


def _start(question: Question, depth: int) -> tuple[Any, Any, list[Any]]:
    """Normalised samples of noisy classes, their labels, and all weights, the head last."""
    import numpy as np

    draw, width = np.random.default_rng(question.seed), question.width
    labels = np.arange(SAMPLES) % CLASSES
    x_BD = draw.normal(size=(CLASSES, width))[labels] + draw.normal(size=(SAMPLES, width))
    x_BD = (x_BD - x_BD.mean(1, keepdims=True)) / x_BD.std(1, keepdims=True)
    layers = [draw.normal(size=(width, width)) * sqrt(question.gain / width) for _ in range(depth)]
    return x_BD, labels, [*layers, draw.normal(size=(CLASSES, width)) / sqrt(width)]


@lru_cache(maxsize=16)
def _trained(question: Question, kind: str, depth: int) -> Run:
    """The training by autograd."""
    import torch
    from torch.nn import functional

    x, y, start = _start(question, depth)
    x_BD, y_B, weights = torch.tensor(x), torch.tensor(y), [torch.tensor(w).requires_grad_() for w in start]

    def forward() -> tuple["Tensor", list["Tensor"]]:
        streams = [x_BD]
        for w_DD in weights[:-1]:
            h = functional.layer_norm(streams[-1], x_BD.shape[1:], eps=EPS) if kind in HAS_NORM else streams[-1]
            branch = h.relu() @ w_DD.T
            streams.append(streams[-1] + branch if kind in HAS_SKIP else branch)
        return functional.cross_entropy(streams[-1] @ weights[-1].T, y_B), streams[1:]

    loss, streams = forward()
    sizes = [grad.norm().item() for grad in torch.autograd.grad(loss, streams, retain_graph=True)]
    unit = streams[-1].detach() / streams[-1].detach().norm(dim=1, keepdim=True)
    cosine = ((unit @ unit.T).sum().item() - SAMPLES) / (SAMPLES * (SAMPLES - 1))
    for _ in range(question.steps):
        for weight, grad in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= question.rate * grad
        loss = forward()[0]
        if not loss.item() < DIVERGED:
            break
    return Run([size / sizes[-1] for size in sizes], loss.item() if loss.item() < DIVERGED else None, cosine)


@lru_cache(maxsize=16)
def _by_hand(question: Question, kind: str, depth: int) -> Run:
    """The same training with every derivative written out."""
    import numpy as np

    x_BD, y_B, weights = _start(question, depth)
    wanted_BK = np.eye(CLASSES)[y_B]
    sizes: list[float] = []
    for step in range(question.steps + 1):
        stream, kept = x_BD, []
        for w_DD in weights[:-1]:
            deviation = np.sqrt(stream.var(1, keepdims=True) + EPS) if kind in HAS_NORM else 1.0
            normed = (stream - stream.mean(1, keepdims=True)) / deviation if kind in HAS_NORM else stream
            kept.append((normed, deviation))
            stream = np.maximum(normed, 0) @ w_DD.T + (stream if kind in HAS_SKIP else 0)
        logits_BK = stream @ weights[-1].T
        logits_BK = logits_BK - logits_BK.max(1, keepdims=True)
        p_BK = np.exp(logits_BK) / np.exp(logits_BK).sum(1, keepdims=True)
        loss = float(-(wanted_BK * (logits_BK - np.log(np.exp(logits_BK).sum(1, keepdims=True)))).sum() / SAMPLES)
        if step == question.steps or (step and not loss < DIVERGED):
            break
        error_BK = (p_BK - wanted_BK) / SAMPLES
        back_BD = error_BK @ weights[-1]
        updates = [error_BK.T @ stream]
        for w_DD, (normed, deviation) in zip(weights[-2::-1], kept[::-1], strict=True):
            if step == 0:
                sizes.insert(0, float(np.linalg.norm(back_BD)))
            updates.insert(0, back_BD.T @ np.maximum(normed, 0))
            inner = (back_BD @ w_DD) * (normed > 0)
            if kind in HAS_NORM:
                along = normed * (inner * normed).mean(1, keepdims=True)
                inner = (inner - inner.mean(1, keepdims=True) - along) / deviation
            back_BD = inner + (back_BD if kind in HAS_SKIP else 0)
        weights = [weight - question.rate * update for weight, update in zip(weights, updates, strict=True)]
    return Run([size / sizes[-1] for size in sizes], loss if loss < DIVERGED else None, 0.0)


@lru_cache(maxsize=16)
def _integrated(question: Question, kind: str, depth: int) -> list[float]:
    """The gradient's size layer by layer, with the mean squares of relu and of its slope as integrals."""
    from scipy.integrate import quad

    def mean(value: Any) -> float:
        return float(quad(lambda z: value(z) * exp(-z * z / 2) / sqrt(2 * pi), 0, inf)[0])

    forward, backward = float(question.gain) * mean(lambda z: z * z), float(question.gain) * mean(lambda z: 1.0)
    square, factors = 1.0, []
    for _ in range(depth):
        grown = forward * (1 if kind in HAS_NORM else square) + (square if kind in HAS_SKIP else 0)
        factors.append(backward / (grown if kind in HAS_NORM else 1) + (1 if kind in HAS_SKIP else 0))
        square = grown
    sizes = [1.0]
    for factor in factors[-2::-1]:
        sizes.insert(0, sizes[0] * sqrt(factor))
    return sizes


def _logs(sizes: Any) -> Any:
    """Decades: sizes of 1e-22 and 1 count alike."""
    if isinstance(sizes, dict):
        return {name: _logs(part) for name, part in sizes.items()}
    return [log10(max(size, 1e-300)) for size in sizes]
