r"""Two zero-cost proxies by hand: grad_norm and SNIP of a Linear-ReLU-Linear net on one minibatch.

$L$ is the mean cross-entropy; $\sqrt{\sum_i (\partial L / \partial \theta_i)^2}$ is grad_norm and
$\sum_i |\theta_i \, \partial L / \partial \theta_i|$ is SNIP, over all weights and biases (Abdelfattah et al. 2021).
Shapes: B samples, I inputs, H hidden units, C classes; weights are (outputs x inputs).
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars, Panels
from vitruvius.lessons import Answer, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._exact import log_softmax, softmax
from vitruvius.lessons._proofs import agree

SUBJECT = "zero-cost ranking"
PARAMETERS = ("w1", "b1", "w2", "b2")


class Question(lessons.Question):
    """A small classifier at initialisation, and one minibatch with its labels."""

    w1: Matrix = exact(((1, -1), (0.5, 1), (-1, 0.5)))
    b1: Vector = exact((0, 0.5, 0))
    w2: Matrix = exact(((1, -1, 0.5), (0, 1, -1)))
    b2: Vector = exact((0.5, 0))
    x: Matrix = exact(((2, 1), (1, 3)))
    """One row per sample."""
    y: tuple[int, ...] = (0, 1)
    """The class of each sample, counted from 0."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        hidden, classes, samples = len(self.b1), len(self.b2), len(self.x)
        inputs = len(self.x[0]) if self.x else 0
        if not 1 <= min(hidden, classes, samples, inputs) <= max(hidden, classes, samples, inputs) <= _shapes.LARGEST:
            sizes = f"{samples} samples of {inputs} inputs, {hidden} hidden units, {classes} classes"
            raise ValueError(f"x, b1 and b2 give {sizes}: each needs 1 to {_shapes.LARGEST}")
        needs = {"w1": (hidden, inputs), "w2": (classes, hidden), "x": (samples, inputs)}
        for field, size in needs.items():
            _shapes.exactly(field, getattr(self, field), *size)
        if len(self.y) != samples or not all(0 <= label < classes for label in self.y):
            raise ValueError(f"y is {list(self.y)}: needs {samples} classes from 0 to {classes - 1}")
        return self


class Pass(NamedTuple):
    """One forward and one backward pass."""

    before_BH: list[list[Any]]  # of the ReLU, exact
    hidden_BH: list[list[Any]]
    logits_BC: list[list[Any]]
    probabilities_BC: list[list[float]]
    loss: float
    error_BC: list[list[float]]  # dL / dlogits
    back_BH: list[list[float]]  # dL / d(before the ReLU)
    gradients: dict[str, Any]


def solve(question: Question) -> Iterator[Step | Answer]:
    """Forward, backward, and the two sums over all parameters."""
    found = _pass(question)
    off = sum(value <= 0 for row in found.before_BH for value in row)
    yield Step(
        says=f"Forward through the first layer and the ReLU, one row per sample: of "
        f"{len(found.before_BH) * len(question.b1)} values {off} are not positive and become 0.",
        formula=rf"Z = X W_1^\top + b_1 = {_board.matrix(found.before_BH)}, \quad H = \max(Z, 0) = "
        rf"{_board.matrix(found.hidden_BH)}",
        value={"before": found.before_BH, "hidden": found.hidden_BH},
    )
    first, label = found.logits_BC[0], question.y[0]
    powers = " + ".join(rf"e^{{{_board.number(logit)}}}" for logit in first)
    yield Step(
        says=f"The logits, their softmax and the cross-entropy: the mean of -log p over the {len(question.y)} right "
        f"classes is {found.loss:.6g}.",
        formula=rf"F = H W_2^\top + b_2 = {_board.matrix(found.logits_BC)}, \quad "
        rf"p_1 = \frac{{e^{{{_board.number(first[label])}}}}}{{{powers}}} = "
        rf"{_board.number(found.probabilities_BC[0][label])}, \quad L = {_board.number(found.loss)}",
        value={"logits": found.logits_BC, "probabilities": found.probabilities_BC, "loss": found.loss},
    )
    yield from _backward_steps(question, found)
    grad_norm, snip = yield from _score_steps(question, found)
    fields = {"loss": found.loss, "gradients": found.gradients, "grad_norm": grad_norm, "snip": snip}
    yield Answer(fields=fields)


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd on torch's own modules, SNIP by a mask of ones on the parameters, and the product's proxies."""
    import torch
    from torch import nn
    from torch.nn import functional

    from vitruvius import proxies

    given = {name: torch.tensor(getattr(question, name), dtype=torch.float64) for name in (*PARAMETERS, "x")}
    labels = torch.tensor(question.y)
    with torch.random.fork_rng(devices=[]):  # the drawn weights are replaced
        first, second = nn.Linear(*given["w1"].T.shape), nn.Linear(*given["w2"].T.shape)
    model = nn.Sequential(first, nn.ReLU(), second).double()
    names = dict(zip(("0.weight", "0.bias", "2.weight", "2.bias"), PARAMETERS, strict=True))
    model.load_state_dict({key: given[name] for key, name in names.items()})
    loss = functional.cross_entropy(model(given["x"]), labels)
    gradients = dict(zip(names.values(), torch.autograd.grad(loss, list(model.parameters())), strict=True))
    yield agree("loss", "torch.nn.functional.cross_entropy", answer["loss"], loss.item())
    yield agree("gradients", "autograd", answer["gradients"], gradients)
    flat = torch.cat([part.flatten() for part in gradients.values()])
    yield agree("grad_norm", "torch.linalg.vector_norm of autograd's gradient", answer["grad_norm"], flat.norm().item())
    mask = {key: torch.ones_like(given[name], requires_grad=True) for key, name in names.items()}
    masked = {key: mask[key] * given[name] for key, name in names.items()}
    output = torch.func.functional_call(model, masked, (given["x"],))
    sensitivities = torch.autograd.grad(functional.cross_entropy(output, labels), list(mask.values()))
    by_mask = sum(part.abs().sum().item() for part in sensitivities)
    yield agree("snip", "gradient with respect to a mask of ones", answer["snip"], by_mask)
    once = proxies.one_pass(model, given["x"], labels)
    for name in ("grad_norm", "snip"):
        yield agree(name, f"vitruvius.proxies.{name}", answer[name], proxies.get(name)(once))


def _backward_steps(question: Question, found: Pass) -> Iterator[Step]:
    count = len(question.y)
    yield Step(
        says=f"Backward: at the logits the derivative is softmax minus 1 at the right class, over the {count} samples.",
        formula=rf"\Delta_2 = \tfrac{{1}}{{{count}}}(p - \text{{one-hot}}(y)) = {_board.matrix(found.error_BC)}, \quad "
        rf"\frac{{\partial L}}{{\partial W_2}} = \Delta_2^\top H = {_board.matrix(found.gradients['w2'])}, \quad "
        rf"\frac{{\partial L}}{{\partial b_2}} = {_board.row(found.gradients['b2'])}",
        value={"w2": found.gradients["w2"], "b2": found.gradients["b2"]},
    )
    closed = sum(value <= 0 for row in found.before_BH for value in row)
    yield Step(
        says=f"Back through the ReLU only where it was open: the {closed} values that became 0 pass nothing on.",
        formula=rf"\Delta_1 = \Delta_2 W_2 \odot [Z > 0] = {_board.matrix(found.back_BH)}, \quad "
        rf"\frac{{\partial L}}{{\partial W_1}} = \Delta_1^\top X = {_board.matrix(found.gradients['w1'])}, \quad "
        rf"\frac{{\partial L}}{{\partial b_1}} = {_board.row(found.gradients['b1'])}",
        value={"w1": found.gradients["w1"], "b1": found.gradients["b1"]},
    )


def _score_steps(question: Question, found: Pass) -> Any:
    squares, saliences, plain = {}, {}, 0.0
    for name in PARAMETERS:
        pairs = list(zip(_flat(found.gradients[name]), _flat(getattr(question, name)), strict=True))
        squares[name] = math.fsum(g * g for g, _ in pairs)
        saliences[name] = math.fsum(abs(g * float(weight)) for g, weight in pairs)
        plain += math.fsum(g * float(weight) for g, weight in pairs)
    grad_norm, snip = math.sqrt(math.fsum(squares.values())), math.fsum(saliences.values())
    layers = math.fsum(math.sqrt(square) for square in squares.values())
    yield Step(
        says=f"grad_norm is one Euclidean norm over all {_count(question)} parameters. The common mistake is to add up "
        f"the norms of the tensors: that would be {layers:.6g}, and it ranks networks differently.",
        formula=rf"\sqrt{{{_sum(squares)}}} = {_board.number(grad_norm)}",
        value=grad_norm,
        figure=Panels(
            title="What each tensor adds", figures=(_bars("squared gradient", squares), _bars("SNIP", saliences))
        ),
    )
    yield Step(
        says=f"SNIP adds |weight x gradient| parameter by parameter. Without the absolute values the terms cancel: "
        f"the sum would be {plain:.6g}.",
        formula=rf"{_sum(saliences)} = {_board.number(snip)}",
        value=snip,
    )
    return grad_norm, snip


def _pass(question: Question) -> Pass:
    before = _affine(question.x, question.w1, question.b1)
    hidden = [[max(value, 0) for value in row] for row in before]
    logits = _affine(hidden, question.w2, question.b2)
    probabilities = [softmax(row) for row in logits]
    count = len(question.y)
    loss = math.fsum(-log_softmax(row)[label] for row, label in zip(logits, question.y, strict=True)) / count
    error = [
        [(p - (c == label)) / count for c, p in enumerate(row)]
        for row, label in zip(probabilities, question.y, strict=True)
    ]
    columns = list(zip(*question.w2, strict=True))
    back = [
        [
            math.fsum(e * w for e, w in zip(row, column, strict=True)) if z > 0 else 0.0
            for column, z in zip(columns, zs, strict=True)
        ]
        for row, zs in zip(error, before, strict=True)
    ]
    gradients = {"w1": _outer(back, question.x), "b1": _sums(back), "w2": _outer(error, hidden), "b2": _sums(error)}
    return Pass(before, hidden, logits, probabilities, loss, error, back, gradients)


def _affine(rows: Any, weights: Matrix, bias: Vector) -> list[list[Any]]:
    return [
        [sum(a * w for a, w in zip(row, line, strict=True)) + b for line, b in zip(weights, bias, strict=True)]
        for row in rows
    ]


def _outer(left: Any, right: Any) -> list[list[float]]:
    """The transpose of the left times the right: sums over the samples."""
    return [
        [math.fsum(a * float(b) for a, b in zip(rows, columns, strict=True)) for columns in zip(*right, strict=True)]
        for rows in zip(*left, strict=True)
    ]


def _sums(rows: list[list[float]]) -> list[float]:
    return [math.fsum(column) for column in zip(*rows, strict=True)]


def _flat(value: Any) -> list[Any]:
    return [item for row in value for item in row] if isinstance(value[0], list | tuple) else list(value)


def _count(question: Question) -> int:
    return sum(len(_flat(getattr(question, name))) for name in PARAMETERS)


def _sum(terms: dict[str, float]) -> str:
    return " + ".join(map(_board.number, terms.values()))


def _bars(title: str, values: dict[str, float]) -> Bars:
    return Bars(title=title, names=tuple(values), values=tuple(values.values()), y_label=title)
