r"""Two zero-cost proxies by hand: grad_norm and SNIP of a Linear-ReLU-Linear net on one minibatch.

$L$ is the mean cross-entropy; $\sqrt{\sum_i (\partial L / \partial \theta_i)^2}$ is grad_norm and $\sum_i
|\theta_i \, \partial L / \partial \theta_i|$ is SNIP, over all weights and biases (Abdelfattah et al. 2021).
Shapes: B samples, I inputs, H hidden units, C classes; weights are (outputs x inputs)."""

import math
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from vitruvius import lessons, proxies
from vitruvius.core.blocks import Bars, Panels
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, Vector, exact, latex
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import log_softmax
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays, softmax, tensor

SUBJECT = "zero-cost ranking"
TASK = (
    "Two zero-cost proxies by hand: a net Linear-ReLU-Linear on one minibatch (rows of x are samples, "
    "y their classes counted from 0; weights are outputs x inputs). Work out the hidden values before "
    "and behind the ReLU, the logits, the probabilities, the mean cross-entropy, its gradients, "
    "grad_norm and SNIP."
)
PARAMETERS = ("w1", "b1", "w2", "b2")


class Question(lessons.Question):
    """A small classifier at initialisation, and one minibatch with its labels."""

    w1: Annotated[Matrix, "H I"] = exact(((1, -1), (0.5, 1), (-1, 0.5)))
    b1: Annotated[Vector, "H"] = exact((0, 0.5, 0))
    w2: Annotated[Matrix, "C H"] = exact(((1, -1, 0.5), (0, 1, -1)))
    b2: Annotated[Vector, "C"] = exact((0.5, 0))
    x: Annotated[Matrix, "B I"] = exact(((2, 1), (1, 3)))
    y: Annotated[tuple[int, ...], "B"] = (0, 1)
    """The class of each sample, counted from 0."""

    def refuse(self) -> None:
        samples, classes = self.sizes["B"], self.sizes["C"]
        if not all(0 <= label < classes for label in self.y):
            raise ValueError(f"y is {list(self.y)}: needs {samples} classes from 0 to {classes - 1}")


def solve(question: Question) -> Iterator[Step | Answer]:
    """Forward, backward, and the two sums over all parameters."""
    given = (np.array(getattr(question, name), object) for name in (*PARAMETERS, "x"))
    w1_HI, b1_H, w2_CH, b2_C, x_BI = given
    before_BH = x_BI @ w1_HI.T + b1_H
    hidden_BH = np.maximum(before_BH, 0)
    board = Board(before=before_BH, hidden=hidden_BH, values=before_BH.size, off=(before_BH <= 0).sum())
    yield board.step(
        "Forward through the first layer and the ReLU, one row per sample: of <values> values <off> are not "
        "positive and become 0.",
        r"Z = X W_1^\top + b_1 = <before>, \quad H = \max(Z, 0) = <hidden>",
        "before hidden",
    )
    logits_BC, count, label = hidden_BH @ w2_CH.T + b2_C, len(question.y), question.y[0]
    chosen = [log_softmax(row)[right] for row, right in zip(logits_BC, question.y, strict=True)]
    probabilities_BC, loss = softmax(logits_BC.astype(float)), -math.fsum(chosen) / count
    board |= {"logits": logits_BC, "probabilities": probabilities_BC, "loss": loss, "count": count}
    board |= {"power": logits_BC[0, label], "p": probabilities_BC[0, label]}
    board["powers"] = " + ".join(f"e^{{{latex(logit)}}}" for logit in logits_BC[0])
    yield board.step(
        "The logits, their softmax and the cross-entropy: the mean of -log p over the <count> right classes "
        "is <loss>.",
        r"F = H W_2^\top + b_2 = <logits>, \quad p_1 = \frac{e^{<power>}}{<powers>} = <p>, \quad L = <loss>",
        "logits probabilities loss",
    )
    error_BC = (probabilities_BC - np.eye(len(b2_C))[list(question.y)]) / count
    back_BH = np.where(before_BH > 0, error_BC @ w2_CH.astype(float), 0.0)
    gradients = {"w1": back_BH.T @ x_BI.astype(float), "b1": back_BH.sum(0)}
    gradients |= {"w2": error_BC.T @ hidden_BH.astype(float), "b2": error_BC.sum(0)}
    board |= {"error": error_BC, "back": back_BH, **gradients, "gradients": gradients}
    yield from _backward(board)
    yield from _scores(question, board, gradients)
    yield Answer(fields={"loss": loss, "gradients": gradients, **board.pick("grad_norm snip")})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd on torch's modules, SNIP by a mask of ones on the parameters, the product's own proxies."""
    given = {name: tensor(getattr(question, name)) for name in (*PARAMETERS, "x")}
    labels = torch.tensor(question.y)
    with torch.random.fork_rng(devices=[]):  # the drawn weights are replaced
        first, second = nn.Linear(*given["w1"].T.shape), nn.Linear(*given["w2"].T.shape)
    model = nn.Sequential(first, nn.ReLU(), second).double()
    weights = {key: given[name] for key, name in zip(model.state_dict(), PARAMETERS, strict=True)}
    model.load_state_dict(weights)
    loss = cross_entropy(model(given["x"]), labels)
    parts = torch.autograd.grad(loss, list(model.parameters()))
    yield agree("loss", "torch.nn.functional.cross_entropy", answer["loss"], loss.item())
    yield agree("gradients", "autograd", answer["gradients"], dict(zip(PARAMETERS, parts, strict=True)))
    norm = torch.cat([part.flatten() for part in parts]).norm().item()
    yield agree("grad_norm", "torch.linalg.vector_norm of autograd's gradient", answer["grad_norm"], norm)
    mask = {key: torch.ones_like(weight, requires_grad=True) for key, weight in weights.items()}
    masked = {key: mask[key] * weight for key, weight in weights.items()}
    output = torch.func.functional_call(model, masked, (given["x"],))
    sensitivities = torch.autograd.grad(cross_entropy(output, labels), list(mask.values()))
    by_mask = sum(part.abs().sum().item() for part in sensitivities)
    yield agree("snip", "gradient with respect to a mask of ones", answer["snip"], by_mask)
    once = proxies.one_pass(model, given["x"], labels)
    for name in ("grad_norm", "snip"):
        yield agree(name, f"vitruvius.proxies.{name}", answer[name], proxies.get(name)(once))


def attempt(question: Question, write: Attempt) -> None:
    """Forward, backward, and the two sums."""
    w1, b1, w2, b2, x = arrays(*(getattr(question, name) for name in (*PARAMETERS, "x")))
    before = write(
        "before",
        x @ w1.T + b1,
        "hidden values before the ReLU, a row per sample",
        "Which matrix multiplies a sample, and what is added?",
        r"Z = X W_1^T + b_1",
        no_bias=("the bias is forgotten", x @ w1.T),
    )
    hidden = write(
        "hidden",
        np.maximum(before, 0),
        "hidden values behind the ReLU",
        "What does a ReLU do to a negative number?",
        r"H = \max(Z, 0)",
        no_relu=("the ReLU is forgotten", before),
        absolute=("the absolute value is taken", np.abs(before)),
    )
    logits = write(
        "logits",
        hidden @ w2.T + b2,
        "logits, a row per sample",
        "Which matrix maps the hidden values to the classes?",
        r"F = H W_2^T + b_2",
        no_second_bias=("the bias is forgotten", hidden @ w2.T),
    )
    probabilities = write(
        "probabilities",
        softmax(logits),
        "probabilities of the classes",
        "Over what does the softmax run?",
        r"p = \operatorname{softmax}(F)",
        columns=("the softmax runs over the samples", softmax(logits.T).T),
    )
    label, count = list(question.y), len(question.y)
    losses = -np.log(np.maximum(probabilities[np.arange(count), label], 1e-300))
    write(
        "loss",
        float(losses.mean()),
        "loss",
        "Which probability counts, and is it a sum or a mean?",
        r"L = -\frac1B \sum_b \ln p_{b, y_b}",
        summed=("the cross-entropies are added up, not averaged", float(losses.sum())),
        base2=("the logarithm to base 2 is taken", float(losses.mean()) / math.log(2)),
    )
    error = (probabilities - np.eye(len(b2))[label]) / count

    def gradients(error: Array, gate: Any) -> dict[str, Array]:
        back = error @ w2 * gate
        return {"w1": back.T @ x, "b1": back.sum(0), "w2": error.T @ hidden, "b2": error.sum(0)}

    found = write(
        "gradients",
        gradients(error, before > 0),
        "gradients of the loss by w1, b1, w2 and b2",
        "What is the derivative of the cross-entropy by the logits, and where does the ReLU let it pass?",
        r"\Delta_2 = \frac1B (p - \text{one-hot}(y)), \; \Delta_1 = \Delta_2 W_2 \odot [Z > 0]",
        not_averaged=("the factor 1/B is lost", gradients(error * count, before > 0)),
        open_gate=("the ReLU is taken to be open everywhere", gradients(error, 1.0)),
    )
    _attempt_scores(question, {name: np.asarray(found[name]) for name in PARAMETERS}, write)


def _attempt_scores(question: Question, found: dict[str, Array], write: Attempt) -> None:
    squares = [float((grad**2).sum()) for grad in found.values()]
    write(
        "grad_norm",
        math.sqrt(math.fsum(squares)),
        "grad_norm",
        "Is it one norm over all parameters, or a sum of norms?",
        r"\sqrt{\sum_i (\partial L / \partial \theta_i)^2}",
        sum_of_norms=("the norms of the tensors are added up", sum(map(math.sqrt, squares))),
        squared=("the root is forgotten", math.fsum(squares)),
    )
    terms = {name: found[name] * np.array(getattr(question, name), float) for name in PARAMETERS}
    sizes = {name: float(np.abs(term).sum()) for name, term in terms.items()}
    write(
        "snip",
        sum(sizes.values()),
        "SNIP",
        "What is summed for each parameter, and with which sign?",
        r"\sum_i \left| \theta_i \, \partial L / \partial \theta_i \right|",
        cancelling=("the absolute values are forgotten", float(sum(term.sum() for term in terms.values()))),
        weights_only=("the biases are left out", sizes["w1"] + sizes["w2"]),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two inputs, three hidden units, two classes, two samples."""
    shapes = {"w1": (3, 2), "b1": (3,), "w2": (2, 3), "b2": (2,)}
    given = {name: whole(random, -1, 1, *shape) for name, shape in shapes.items()}
    return given | {"x": whole(random, 0, 2, 2, 2), "y": random.sample((0, 1), 2)}


def _backward(board: Board) -> Iterator[Step]:
    yield board.step(
        "Backward: at the logits the derivative is softmax minus 1 at the right class, over the <count> "
        "samples.",
        r"\Delta_2 = \tfrac{1}{<count>}(p - \text{one-hot}(y)) = <error>, \quad \frac{\partial L}{\partial "
        r"W_2} = \Delta_2^\top H = <w2>, \quad \frac{\partial L}{\partial b_2} = <b2>",
        "w2 b2",
        shows="gradients",
    )
    yield board.step(
        "Back through the ReLU only where it was open: the <off> values that became 0 pass nothing on.",
        r"\Delta_1 = \Delta_2 W_2 \odot [Z > 0] = <back>, \quad \frac{\partial L}{\partial W_1} = "
        r"\Delta_1^\top X = <w1>, \quad \frac{\partial L}{\partial b_1} = <b1>",
        "w1 b1",
    )


def _scores(question: Question, board: Board, gradients: dict[str, Array]) -> Iterator[Step]:
    terms = {name: gradients[name] * np.array(getattr(question, name), float) for name in PARAMETERS}
    squares = {name: math.fsum(gradients[name].ravel() ** 2) for name in PARAMETERS}
    saliences = {name: math.fsum(abs(term).flat) for name, term in terms.items()}
    board |= {"grad_norm": math.sqrt(math.fsum(squares.values())), "snip": math.fsum(saliences.values())}
    board |= {"layers": sum(map(math.sqrt, squares.values())), "size": sum(t.size for t in terms.values())}
    board["plain"] = sum(term.sum() for term in terms.values())
    sums = {"squares": squares, "saliences": saliences}
    board |= {name: " + ".join(map(latex, parts.values())) for name, parts in sums.items()}
    bars = tuple(
        Bars(title=title, names=PARAMETERS, values=tuple(values.values()), y_label=title)
        for title, values in (("squared gradient", squares), ("SNIP", saliences))
    )
    yield board.step(
        "grad_norm is one Euclidean norm over all <size> parameters. The common mistake is to add up the "
        "norms of the tensors: that would be <layers>, and it ranks networks differently.",
        r"\sqrt{<squares>} = <grad_norm>",
        figure=Panels(title="What each tensor adds", figures=bars),
    )
    yield board.step(
        "SNIP adds |weight x gradient| parameter by parameter. Without the absolute values the terms cancel: "
        "the sum would be <plain>.",
        "<saliences> = <snip>",
    )
