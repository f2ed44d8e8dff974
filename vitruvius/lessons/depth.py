r"""Why 56 plain layers train worse than 20, and what residual connections and normalisation change.

A layer is $h' = W \mathrm{relu}(h)$ (plain), with LayerNorm before the relu (normalised), with $h$ added (residual), or
both; $W_{ij} \sim N(0, c/D)$, where the gain c is 1/3 for nn.Linear's own start and 2 for that of He et al. (2015).
Shapes: B samples, D width, K classes.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log, log10, pi, sqrt
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars, Panels
from vitruvius.core.config import Ints
from vitruvius.lessons import Answer, Exact, Proof, Step
from vitruvius.lessons._board import matrix, number
from vitruvius.lessons._deep_nets import CLASSES, HAS_NORM, HAS_SKIP, SAMPLES, Net, Run, by_hand, trained
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds, leaves

if TYPE_CHECKING:
    pass

SUBJECT = "training"
KINDS = ("plain", "residual", "normalised", "both")


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
        if not Fraction(1, 100) <= self.gain <= 4:
            raise ValueError(f"gain is {self.gain}, it must be from 1/100 to 4")
        work = sum(self.depths) * self.steps * self.width**2
        if work > 5e7:
            raise ValueError(f"depths x steps x width^2 is {work:.2g}, it needs to be at most 5e7")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """How a gradient changes per layer by theory, measured in fresh networks, and what training makes of it."""
    half, deepest = question.gain / 2, str(max(question.depths))
    yield Step(
        says=f"Follow the gradient back through one layer: W multiplies its squared length by c = {question.gain}, the "
        f"relu halves it. A plain layer passes on {half} of it, a skip adds 1, and a norm divides by the variance that "
        "the layer before made, the same c/2. With both, the stream grows with every layer and the branch counts less.",
        formula=rf"\text{{plain: }} \frac{{c}}{{2}} = {number(half)}, \quad "
        rf"\text{{residual: }} 1 + \frac{{c}}{{2}} = {number(1 + half)}, \quad "
        r"\text{normalised: } \frac{c/2}{c/2} = 1, \quad \text{both, at layer } l: 1 + \frac{c/2}{1 + l c/2}",
        value={"plain": half, "residual": 1 + half, "normalised": Fraction(1)},
    )
    theory, runs = _each(question, _theory), _each(question, trained)
    measured = _part(runs, "sizes")
    first = (f"{kind} {theory[kind][deepest][0]:.2g} and {measured[kind][deepest][0]:.2g}" for kind in KINDS)
    yield Step(
        says=f"Size of the gradient at the first of {deepest} layers relative to the last, by theory (infinite width) "
        f"and measured (width {question.width}): {'; '.join(first)}.",
        formula=rf"\left( \frac{{c}}{{2}} \right)^{{({deepest} - 1)/2}} = {number(theory['plain'][deepest][0])}",
        value={"theory": theory, "measured": measured},
        figure=_figure(theory, measured, deepest),
    )
    losses = _part(runs, "loss")
    yield _loss_step(question, losses)
    yield _not_only_size(question, runs)
    yield Answer(fields={"theory": theory, "measured": measured, "loss": losses})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Gaussian integrals layer by layer, and all networks again with hand-written backward passes."""
    found, integrals = _each(question, by_hand), _each(question, _integrated)
    yield agree("theory", "Gaussian integrals, layer by layer", _logs(answer["theory"]), _logs(integrals))
    sizes = _logs(_part(found, "sizes"))
    yield agree("measured", "backward pass written by hand", _logs(answer["measured"]), sizes)
    yield agree("loss", "training with that backward pass", answer["loss"], _part(found, "loss"), 1e-8)
    depth = str(max(question.depths))
    for kind in KINDS:
        apart = abs(log(max(answer["measured"][kind][depth][0], 1e-300) / answer["theory"][kind][depth][0]))
        limit = 1 + 2 * sqrt(5 * int(depth) / question.width)  # the spread of one draw grows with depth / width
        detail = f"off by a factor of {exp(apart):.3g} over {depth} layers, at most {exp(limit):.3g} allowed"
        yield holds(f"theory fits, {kind}", "one draw of weights", apart <= limit, detail)


def _net(question: Question, kind: str, depth: int) -> Net:
    return Net(kind, depth, question.width, question.gain, question.steps, question.rate, question.seed)


def _each(question: Question, work: Callable[[Net], Any]) -> dict[str, dict[str, Any]]:
    return {kind: {str(depth): work(_net(question, kind, depth)) for depth in question.depths} for kind in KINDS}


def _part(runs: dict[str, dict[str, Run]], name: str) -> dict[str, dict[str, Any]]:
    return {kind: {depth: getattr(run, name) for depth, run in row.items()} for kind, row in runs.items()}


def _theory(net: Net) -> list[float]:
    """The gradient's size at the output of each layer, that of the last being 1, for infinite width."""
    half = float(net.gain) / 2
    if net.kind == "both":  # the mean square of the stream is 1 + l c/2
        return [sqrt((1 + net.depth * half) / (1 + layer * half)) for layer in range(1, net.depth + 1)]
    factor = {"plain": half, "residual": 1 + half, "normalised": 1.0}[net.kind]
    return [factor ** ((net.depth - layer) / 2) for layer in range(1, net.depth + 1)]


def _shown(loss: float | None) -> str:
    return "diverged" if loss is None else f"{loss:.4g}"


def _figure(theory: Any, measured: Any, depth: str) -> Panels:
    layers, panels = range(1, int(depth) + 1), []
    for name, sizes in (("theory", theory), ("measured", measured)):
        named = {kind: sizes[kind][depth] for kind in KINDS}
        panels.append(curves(f"{name.capitalize()}", named, layers, ("layer", "size"), log="y"))
    return Panels(title=f"Gradient in {depth} layers", figures=tuple(panels))


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
    he = {depth: trained(_net(strong, "plain", int(depth))) for depth in runs["residual"]}
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


@lru_cache(maxsize=16)
def _integrated(net: Net) -> list[float]:
    """The gradient's size layer by layer, with the mean squares of relu and of its slope as integrals."""
    from scipy.integrate import quad

    def mean(value: Any) -> float:
        return float(quad(lambda z: value(z) * exp(-z * z / 2) / sqrt(2 * pi), 0, inf)[0])

    forward, backward = float(net.gain) * mean(lambda z: z * z), float(net.gain) * mean(lambda z: 1.0)
    square, factors = 1.0, []
    for _ in range(net.depth):
        grown = forward * (1 if net.kind in HAS_NORM else square) + (square if net.kind in HAS_SKIP else 0)
        factors.append(backward / (grown if net.kind in HAS_NORM else 1) + (1 if net.kind in HAS_SKIP else 0))
        square = grown
    sizes = [1.0]
    for factor in factors[-2::-1]:
        sizes.insert(0, sizes[0] * sqrt(factor))
    return sizes


def _logs(sizes: Any) -> dict[str, float]:
    """Decades: sizes of 1e-22 and 1 count alike."""
    return {path: log10(max(size, 1e-300)) for path, size in leaves(sizes).items()}
