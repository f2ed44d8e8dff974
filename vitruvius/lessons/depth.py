r"""Why 56 plain layers train worse than 20, and what residual connections and normalisation change.

A layer is $h' = W \mathrm{relu}(h)$ (plain), with LayerNorm before the relu (normalised), with $h$ added
(residual, $h' = h + W \mathrm{relu}(h)$), or both; $W_{ij} \sim N(0, c/D)$, where the gain c is 2 for the
start of He et al. (2015) and 1/3 for that of nn.Linear. Shapes: B samples, D width, K classes."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log, log10, pi, sqrt
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import Field
from scipy.integrate import quad
from torch import Tensor
from torch.nn import functional

from vitruvius import lessons
from vitruvius.core.blocks import Bars, Panels
from vitruvius.core.config import Ints
from vitruvius.lessons import Answer, Attempt, Board, Exact, Proof, Step, leaves
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import Array, softmax

SUBJECT = "training"
TASK = (
    "Networks of <depths> plain layers of relu start with D Var(w) = <gain>: going back through a layer, the "
    "weight matrix multiplies the squared length of a gradient by that number, and the relu halves it. By "
    "which factor does a layer change the squared length? How large is the gradient (its length, not the "
    "square) at the output of the deepest network's first layer, if it is 1 at the output of its last? And "
    "how large if every layer has a skip, h' = h + W relu(h)?"
)
KINDS = ("plain", "residual", "normalised", "both")
SAMPLES, CLASSES, EPS, DIVERGED = 64, 4, 1e-5, 1e6
LAYERS, WIDE = 220, 4
"""Layers whose factors are compared with theory; what a width of 1 would take off them."""


class Question(lessons.Question):
    """Depths to compare, the start, and a short training by gradient descent."""

    depths: Ints = (20, 56)
    gain: Exact = Fraction(2)
    """c: D times the variance of a weight."""
    width: int = Field(64, ge=16, le=256)
    steps: int = Field(50, ge=1, le=500)
    rate: float = Field(0.01, gt=0, le=1)
    seed: int = Field(0, ge=0)

    def refuse(self) -> None:
        if not self.depths or not 2 <= min(self.depths) <= max(self.depths) <= 100:
            raise ValueError(f"depths has {list(self.depths)}, it needs numbers of layers from 2 to 100")
        if not Fraction(1, 100) <= self.gain <= 4:
            raise ValueError(f"gain is {self.gain}, it must be from 1/100 to 4")
        work = sum(self.depths) * self.steps * self.width**2
        if work > 5e7:
            raise ValueError(f"depths x steps x width^2 is {work:.2g}, it needs to be at most 5e7")


class Net(NamedTuple):
    """A stack of relu layers."""

    question: Question
    kind: str
    depth: int

    @property
    def parts(self) -> tuple[Question, bool, bool]:
        """The question, and whether the layers have skips and norms."""
        return self.question, self.kind in ("residual", "both"), self.kind in ("normalised", "both")


class Trained(NamedTuple):
    """What a network shows before and after its training."""

    sizes: list[float]  # of the gradient at each layer's output, that of the last being 1
    loss: float | None  # after training, None if it diverged
    cosine: float  # mean over pairs of samples, of the last layer's outputs before training


ByKindAndDepth = dict[str, dict[str, Any]]
"""Something of each kind of network and each depth."""


def solve(question: Question) -> Iterator[Step | Answer]:
    """How a gradient changes per layer, by theory and measured in fresh networks, and what training does."""
    half, deepest = question.gain / 2, str(max(question.depths))
    board = Board(vars(question), half=half, factor=half, more=1 + half, deepest=deepest)
    yield board.step(
        "The block is h' = W relu(h), and h' = h + W relu(h) with a skip. Follow the gradient back through "
        "one: W multiplies its squared length by c = <gain>, the relu halves it. A plain layer passes on "
        "<half> of it, a skip adds 1, and a norm divides by the variance that the layer before made, the "
        "same c/2. With both, the stream grows with every layer and the branch counts less.",
        r"\text{plain: } \frac{c}{2} = \frac{1}{2} \cdot <gain> = <half>, \quad \text{residual: } 1 + "
        r"\frac{c}{2} = <more>, \quad "
        r"\text{normalised: } \frac{c/2}{c/2} = 1, \quad \text{both, at layer } l: 1 + \frac{c/2}{1 + l c/2}",
        {"plain": half, "residual": 1 + half, "normalised": Fraction(1)},
        shows="factor",
    )
    theory, runs = _each(question, _theory), _each(question, _trained)
    measured, loss = _part(runs, "sizes"), _part(runs, "loss")
    pairs = [(kind, theory[kind][deepest][0], measured[kind][deepest][0]) for kind in KINDS]
    board |= {"first": "; ".join(f"{kind} {ideal:.2g} and {found:.2g}" for kind, ideal, found in pairs)}
    board |= {"theory": theory, "measured": measured, "loss": loss, "plain": pairs[0][1]}
    board["residual"] = pairs[1][1]
    board["other"] = _sizes(Net(question, "residual", int(deepest)), inside=True)[0]
    board |= {"skipped": pairs[1][2], "apart": board["other"] / pairs[1][2]}
    yield board.step(
        "Size of the gradient at the first of <deepest> layers relative to the last, by theory (infinite "
        "width) and measured (width <width>): <first>.",
        r"\left( \frac{c}{2} \right)^{(L - 1)/2} = \left( <half> \right)^{(<deepest> - 1)/2} = <plain>, "
        r"\quad \left( 1 + \frac{c}{2} \right)^{(L - 1)/2} = \left( <more> \right)^{(<deepest> - 1)/2} = "
        r"<residual>",
        "theory measured plain residual",
        _panels({"Theory": theory, "Measured": measured}, deepest),
    )
    yield board.step(
        "Which block it is matters: h' = h + relu(W h) adds only what is positive, the stream drifts one "
        "way, and the gradient with it. Its size at the first layer is <other:.3g>, not <skipped:.3g>.",
        r"\frac{\lVert \nabla_{h_1} \rVert \text{ of } h + \mathrm{relu}(W h)}"
        r"{\lVert \nabla_{h_1} \rVert \text{ of } h + W \mathrm{relu}(h)} = <apart>",
    )
    yield from _training_steps(question, board, runs)
    yield Answer(fields=board.pick("theory measured loss"))


def _panels(ways: dict[str, ByKindAndDepth], deepest: str) -> Panels:
    """Theory beside measurement, on one scale."""
    chosen = {name: {kind: sizes[kind][deepest] for kind in KINDS} for name, sizes in ways.items()}
    shown = [size for named in chosen.values() for row in named.values() for size in row if size > 0]
    scale = (min(shown) / 2, max(shown) * 2)
    layers = range(1, int(deepest) + 1)
    panels = (
        curves(name, named, layers, ("layer", "size of the gradient"), log="y")
        for name, named in chosen.items()
    )
    same = tuple(panel.model_copy(update={"y_range": scale}) for panel in panels)
    return Panels(title=f"Gradient in {deepest} layers", figures=same)


def _training_steps(question: Question, board: Board, runs: ByKindAndDepth) -> Iterator[Step]:
    losses = board["loss"].items()
    bars = {
        f"{kind} {depth}" + (" (diverged)" if loss is None else ""): loss or 0.0
        for kind, row in losses
        for depth, loss in row.items()
    }
    rows = [["layers", *runs["plain"]], *([kind, *map(_shown, row.values())] for kind, row in losses)]
    names, heights = tuple(bars), tuple(bars.values())
    board |= {"samples": SAMPLES, "classes": CLASSES, "guess": log(CLASSES)}
    board["rows"] = [[rf"\mathrm{{{cell}}}" for cell in row] for row in rows]
    yield board.step(
        "Training loss after <steps> steps at rate <rate:g> on <samples> samples of <classes> classes, by "
        "depth; guessing costs <guess:.4g>." + _compared(board["loss"]["plain"]),
        "<rows>",
        "loss",
        Bars(title="Training loss", names=names, values=heights, y_label="loss"),
    )
    started = {c: question.model_copy(update={"gain": c}) for c in (Fraction(1, 3), Fraction(2))}
    kept = {
        c: {depth: _trained(Net(asked, "plain", int(depth))) for depth in runs["plain"]}
        for c, asked in started.items()
    }
    board["told"] = "; ".join(
        f"gain {c}, {depth} layers: size {run.sizes[0]:.2g}, loss {_shown(run.loss)}"
        for c, row in kept.items()
        for depth, run in row.items()
    )
    board["alike"] = ", ".join(f"{kind} {list(row.values())[-1].cosine:.4g}" for kind, row in runs.items())
    yield board.step(
        "To stop at 'dying gradients' is the common mistake. The gradient of plain layers dies with "
        "nn.Linear's gain of 1/3 and keeps its size with He's gain of 2, but that alone does not make them "
        "learn what a skip with a norm learns (at the first layer, <told>). The other half: without skips "
        "all inputs end up alike (mean cosine of two samples' last outputs: <alike>), so the gradient is "
        "there but cannot tell them apart. A skip keeps the differences, and a norm inside its branch tames "
        "the growth that the skip brings.",
        value={
            str(c): {d: {"size": run.sizes[0], "loss": run.loss} for d, run in row.items()}
            for c, row in kept.items()
        },
    )


def _compared(plain: dict[str, float | None]) -> str:
    """Whether more plain layers train worse here."""
    shallow, deep = min(plain, key=int), max(plain, key=int)
    few, many = plain[shallow], plain[deep]
    if shallow == deep or few is None or many is None:
        return ""
    how = "worse" if many > few * 1.001 else "better" if few > many * 1.001 else "no different"
    return f" {deep} plain layers are {how} than {shallow}: {_shown(many)} against {_shown(few)}."


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Gaussian integrals layer by layer, and all networks again with hand-written backward passes."""
    found, integrals = _each(question, _by_hand), _each(question, _integrated)
    yield agree("theory", "Gaussian integrals, layer by layer", _logs(answer["theory"]), _logs(integrals))
    sizes = _logs(_part(found, "sizes"))
    yield agree("measured", "backward pass written by hand", _logs(answer["measured"]), sizes)
    yield agree("loss", "training with that backward pass", answer["loss"], _part(found, "loss"), 1e-8)
    for kind in KINDS:
        yield _fits(question, kind)


@lru_cache(maxsize=64)
def _fits(question: Question, kind: str) -> Proof:
    """Fresh weights: does a layer change the squared length by the factor that theory gives?

    The factors of single layers scatter; their mean over many layers must be within five standard errors,
    beside what a finite width takes off."""
    net, ratios = Net(question, kind, max(question.depths)), list[float]()
    expected = np.diff(np.log(_integrated(net)))
    for seed in range(1, 1 + -(-LAYERS // (net.depth - 1))):
        fresh = question.model_copy(update={"seed": question.seed + seed})
        ratios.extend(np.exp(2 * (expected - np.diff(np.log(_sizes(net._replace(question=fresh)))))))
    mean, error = float(np.mean(ratios)), float(np.std(ratios, ddof=1)) / sqrt(len(ratios))
    limit = 5 * error + WIDE / question.width
    detail = f"a layer's factor is {mean:.3f} of theory over {len(ratios)} layers, {limit:.2g} off is allowed"
    return holds(f"theory fits, {kind}", "fresh draws of the weights", abs(mean - 1) <= limit, detail)


def attempt(question: Question, write: Attempt) -> None:
    """What a layer does to a gradient, and its size at the first layer, plain and with skips."""
    gain, layers = float(question.gain), max(question.depths)
    half = write(
        "factor",
        gain / 2,
        "factor of the gradient's squared length per plain layer",
        "What does the matrix do to the squared length, and what the relu?",
        r"\frac{c}{2}",
        open_relu=("the relu is forgotten, which halves", gain),
        length=("the factor of the length is given, not of its square", (gain / 2) ** 0.5),
    )
    write(
        "plain",
        half ** ((layers - 1) / 2),
        "length of the gradient at the first layer",
        "How many layers lie between the first and the last, and what does each do to the squared length?",
        r"\left( \frac{c}{2} \right)^{(L - 1) / 2}",
        squared=("the squared length is given", half ** (layers - 1)),
        one_more=("all layers are counted, the last too", half ** (layers / 2)),
    )
    write(
        "residual",
        (1 + half) ** ((layers - 1) / 2),
        "the same with a skip in every layer",
        "What reaches a layer beside the gradient that went through the matrix and the relu?",
        r"\left( 1 + \frac{c}{2} \right)^{(L - 1) / 2}",
        skip_squared=("the squared length is given", (1 + half) ** (layers - 1)),
        skip_one_more=("all layers are counted, the last too", (1 + half) ** (layers / 2)),
        skip_once=("one skip over all layers is counted", 1 + half ** ((layers - 1) / 2)),
    )


def draw(random: Random) -> dict[str, Any]:
    """A shallow and a deep network, few enough layers to be trained in a moment."""
    depths = [random.randint(2, 4), random.randint(5, 16)]
    given = {"depths": depths, "steps": random.randint(2, 4), "width": 16}
    return given | {"gain": f"{random.randint(1, 4)}/{random.randint(2, 5)}"}


def _each(question: Question, work: Callable[[Net], Any]) -> ByKindAndDepth:
    return {kind: {str(d): work(Net(question, kind, d)) for d in question.depths} for kind in KINDS}


def _part(runs: ByKindAndDepth, name: str) -> ByKindAndDepth:
    return {kind: {depth: getattr(run, name) for depth, run in row.items()} for kind, row in runs.items()}


def _theory(net: Net) -> list[float]:
    """The gradient's size at the output of each layer, that of the last being 1, for infinite width."""
    half = float(net.question.gain) / 2
    if net.kind == "both":  # the mean square of the stream is 1 + l c/2
        return [sqrt((1 + net.depth * half) / (1 + layer * half)) for layer in range(1, net.depth + 1)]
    factor = {"plain": half, "residual": 1 + half, "normalised": 1.0}[net.kind]
    return [factor ** ((net.depth - layer) / 2) for layer in range(1, net.depth + 1)]


def _shown(loss: float | None) -> str:
    return "diverged" if loss is None else f"{loss:.4g}"


def _start(net: Net) -> tuple[Array, Array, list[Array]]:
    """Normalised samples of noisy classes, their labels, and all weights, the head last."""
    asked = net.question
    draw, width = np.random.default_rng(asked.seed), asked.width
    labels = np.arange(SAMPLES) % CLASSES
    x_BD = draw.normal(size=(CLASSES, width))[labels] + draw.normal(size=(SAMPLES, width))
    x_BD = (x_BD - x_BD.mean(1, keepdims=True)) / x_BD.std(1, keepdims=True)
    layers = [draw.normal(size=(width, width)) * sqrt(asked.gain / width) for _ in range(net.depth)]
    return x_BD, labels, [*layers, draw.normal(size=(CLASSES, width)) / sqrt(width)]


def _streams(net: Net, x_BD: Tensor, weights: list[Tensor], inside: bool = False) -> list[Tensor]:
    """The input and the output of every layer; `inside` puts the matrix inside the relu."""
    (_, skip, norm), streams = net.parts, [x_BD]
    for w_DD in weights[:-1]:
        h = functional.layer_norm(streams[-1], x_BD.shape[1:], eps=EPS) if norm else streams[-1]
        branch = (h @ w_DD.T).relu() if inside else h.relu() @ w_DD.T
        streams.append(streams[-1] + branch if skip else branch)
    return streams


def _sizes(net: Net, inside: bool = False) -> list[float]:
    """The gradient's size at each layer's output in an untrained network, that of the last being 1."""
    x, y, start = _start(net)
    streams = _streams(net, torch.tensor(x).requires_grad_(), list(map(torch.tensor, start)), inside)
    loss = functional.cross_entropy(streams[-1] @ torch.tensor(start[-1]).T, torch.tensor(y))
    sizes = [grad.norm().item() for grad in torch.autograd.grad(loss, streams[1:])]
    return [size / sizes[-1] for size in sizes]


@lru_cache(maxsize=64)
def _trained(net: Net) -> Trained:
    """The training by autograd."""
    asked, (x, y, start) = net.question, _start(net)
    x_BD, y_B, weights = torch.tensor(x), torch.tensor(y), [torch.tensor(w).requires_grad_() for w in start]

    def forward() -> tuple[Tensor, list[Tensor]]:
        streams = _streams(net, x_BD, weights)
        return functional.cross_entropy(streams[-1] @ weights[-1].T, y_B), streams[1:]

    loss, streams = forward()
    unit = streams[-1].detach() / streams[-1].detach().norm(dim=1, keepdim=True)
    cosine = ((unit @ unit.T).sum().item() - SAMPLES) / (SAMPLES * (SAMPLES - 1))
    for _ in range(asked.steps):
        for weight, grad in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= asked.rate * grad
        loss = forward()[0]
        if not loss.item() < DIVERGED:
            break
    return Trained(_sizes(net), loss.item() if loss.item() < DIVERGED else None, cosine)


@lru_cache(maxsize=64)
@np.errstate(over="ignore", invalid="ignore")  # a training that diverges says so in its loss
def _by_hand(net: Net) -> Trained:
    """The same training with every derivative written out."""
    (asked, skip, norm), (x_BD, y_B, weights) = net.parts, _start(net)
    wanted_BK, sizes = np.eye(CLASSES)[y_B], list[float]()
    for step in range(asked.steps + 1):
        stream, kept = x_BD, []
        for w_DD in weights[:-1]:
            deviation = np.sqrt(stream.var(1, keepdims=True) + EPS) if norm else 1.0
            normed = (stream - stream.mean(1, keepdims=True)) / deviation if norm else stream
            kept.append((normed, deviation))
            stream = np.maximum(normed, 0) @ w_DD.T + (stream if skip else 0)
        logits_BK = stream @ weights[-1].T
        logits_BK -= logits_BK.max(1, keepdims=True)
        losses_BK = np.log(np.exp(logits_BK).sum(1, keepdims=True)) - logits_BK
        loss = float((wanted_BK * losses_BK).sum() / SAMPLES)
        if step == asked.steps or (step and not loss < DIVERGED):
            break
        error_BK = (softmax(logits_BK) - wanted_BK) / SAMPLES
        back_BD = error_BK @ weights[-1]
        updates = [error_BK.T @ stream]
        for w_DD, (normed, deviation) in zip(weights[-2::-1], kept[::-1], strict=True):
            if step == 0:
                sizes.insert(0, float(np.linalg.norm(back_BD)))
            updates.insert(0, back_BD.T @ np.maximum(normed, 0))
            inner = (back_BD @ w_DD) * (normed > 0)
            if norm:
                along = normed * (inner * normed).mean(1, keepdims=True)
                inner = (inner - inner.mean(1, keepdims=True) - along) / deviation
            back_BD = inner + (back_BD if skip else 0)
        weights = [w - asked.rate * update for w, update in zip(weights, updates, strict=True)]
    return Trained([size / sizes[-1] for size in sizes], loss if loss < DIVERGED else None, 0.0)


@lru_cache(maxsize=64)
def _integrated(net: Net) -> list[float]:
    """The gradient's size layer by layer, with the mean squares of relu and of its slope as integrals."""

    def mean(value: Any) -> float:
        return float(quad(lambda z: value(z) * exp(-z * z / 2) / sqrt(2 * pi), 0, inf)[0])

    asked, skip, norm = net.parts
    forward, backward = (float(asked.gain) * mean(square) for square in (lambda z: z * z, lambda z: 1.0))
    square, factors = 1.0, []
    for _ in range(net.depth):
        grown = forward * (1 if norm else square) + (square if skip else 0)
        factors.append(backward / (grown if norm else 1) + (1 if skip else 0))
        square = grown
    sizes = [1.0]
    for factor in factors[-2::-1]:
        sizes.insert(0, sizes[0] * sqrt(factor))
    return sizes


def _logs(sizes: Any) -> dict[str, float]:
    """The logarithms of sizes to base 10, so that 1e-22 and 1 are compared with the same tolerance."""
    return {path: log10(max(size, 1e-300)) for path, size in leaves(sizes).items()}
