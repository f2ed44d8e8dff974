r"""Truncated back-propagation through time: what cutting the gradient after k time steps costs.

The net is $h_t = \sigma(W x_t + U h_{t-1})$, $y_t = V h_t$, $L = \sum_t \lVert z_t - y_t \rVert^2$. With
`steps` = k the gradient of each $L_t$ passes through the states $h_t, \dots, h_{t-k+1}$; the one before them
counts as a constant."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import Array, arrays, tensors
from vitruvius.nn.recurrent import RNN
from vitruvius.nn.seeding import torch_seeded

SUBJECT = "recurrent nets and graphs"
TASK = (
    "Back-propagation through time, cut after <steps> time steps. On the scalar model h_t = u h_(t-1) "
    "+ x_t with u = <memory>, inputs +1 or -1 with equal chance and the loss (x_1 - h_T)^2 at the end "
    "of T = <length> steps: what is the expected whole gradient by u, the expected one cut after "
    "<steps> steps, and the bias?"
)
LAG, WINDOW, UPDATES = 3, 2, 400
"""The copy task: the first of LAG + 1 bits is asked for at the end; the short gradient sees WINDOW time
steps.
"""


class Question(lessons.Question):
    """A net, a sequence and the window; a scalar model for the bias."""

    limits = {"T": (1, 32), "H": (1, 16), "I": (1, 16), "O": (1, 16)}
    """Time steps, hidden units, inputs and outputs."""
    steps: Annotated[int, Field(ge=1, le=32)] = 2
    """How many time steps the gradient of each error passes through."""
    w: Annotated[Matrix, "H I"] = exact(((1, -1), (-1, 1)))
    u: Annotated[Matrix, "H H"] = exact(((3, -2), (-1, 3)))
    v: Annotated[Matrix, "O H"] = exact(((2, -1),))
    inputs: Annotated[Matrix, "T I"] = exact(((1, 0), (0, 1), (1, 1), (0, 0), (1, 0), (0, 1)))
    targets: Annotated[Matrix, "T O"] = exact(((1,), (0,), (1,), (0,), (1,), (1,)))
    memory: Exact = exact("1/2")
    """u of the scalar model h_t = u h_(t-1) + x_t."""
    length: Annotated[int, Field(ge=2, le=12)] = 6
    """Its number of time steps."""

    def refuse(self) -> None:
        if abs(self.memory) > 2:
            raise ValueError(f"memory is {self.memory}: needs a number from -2 to 2")

    @property
    def net(self) -> tuple[Matrix, ...]:
        """The three matrices, the inputs and the targets."""
        return self.w, self.u, self.v, self.inputs, self.targets


def solve(question: Question) -> Iterator[Step | Answer]:
    """The truncated gradient beside the whole one, its bias in a scalar model, and what it cannot learn."""
    times = question.sizes["T"]
    windows, window = range(1, times + 1), min(question.steps, times)
    by_window = [_gradients(question, size) for size in windows]
    vectors = [np.concatenate([grad.ravel() for grad in grads.values()]) for grads in by_window]
    length = np.linalg.norm(vectors[-1]) or 1.0
    errors = [float(np.linalg.norm(vector - vectors[-1]) / length) for vector in vectors]
    board = Board(window=window, back=window - 1, times=times, gradients=by_window[window - 1])
    board["relative_error"], named = errors[window - 1], {"relative error of the gradient": errors}
    yield board.step(
        "Follow each error back through <window> of at most <times> time steps and drop the rest of the sum. "
        "V is used after the recursion, so its gradient loses nothing; those of W and U do, and the gradient "
        "as a whole is off by <relative_error> of its length.",
        r"\nabla_W^{(<window>)} L = \sum_t \sum_{s=t-<back>}^{t} D_s \left(\prod_{r=s+1}^{t} U^T D_r\right) "
        r"\nabla_{h_t} L_t \, x_s^T = <gradients[w]>, \quad D_s = \mathrm{diag}(h_s \odot (1 - h_s)), \quad "
        r"\nabla_U^{(<window>)} L = <gradients[u]>",
        "gradients relative_error",
        curves("What a longer window buys", named, windows, ("steps", "relative error")),
    )
    full, truncated = (_expected(question, k) for k in (question.length, question.steps))
    board["scalar"] = {"full": full, "truncated": truncated, "bias": truncated - full}
    yield _bias_step(question, board["scalar"])
    yield _copy_step()
    yield Answer(fields=board.pick("gradients relative_error scalar"))


def _bias_step(question: Question, scalar: dict[str, Fraction]) -> Step:
    board = Board(vars(question) | scalar, scalar=scalar, count=2**question.length)
    verdict = "they differ by <bias>: the estimate is biased" if scalar["bias"] else "here they are equal"
    return board.step(
        "Is the estimate unbiased? Take a net so small that the expectation is exact: one linear unit, "
        "inputs +1 or -1 with equal chance, and the first of <length> inputs as the target at the end. Over "
        "all <count> sequences the whole gradient is <full> on average, the one cut after <steps> steps "
        "<truncated>; " + verdict + ", and no amount of data averages that away.",
        r"h_t = u h_{t-1} + x_t, \quad \mathbb{E}\left[\frac{d}{du} (x_1 - h_T)^2\right] = 2 "
        r"\sum_{j=1}^{T-1} \min(k, j) \, u^{2j-1} - 2 \min(k, T-1) \, u^{T-2} : \quad k \geq T - 1: <full>, "
        r"\quad k = <steps>: <truncated>, \quad \mathrm{bias} = <bias>",
        "scalar",
    )


def _copy_step() -> Step:
    losses = {f"gradient through {steps} steps": _copy_losses(steps, seed=0) for steps in (WINDOW, LAG + 1)}
    (truncated, full), axes = (curve[-1] for curve in losses.values()), ("update", "mean squared error")
    return Board(truncated=truncated, full=full, lag=LAG, bits=LAG + 1, updates=UPDATES, window=WINDOW).step(
        "What this does to a task: show <bits> random bits and ask for the first one at the end, <lag> steps "
        "later. Always answering 1/2 costs 0.25. After <updates> updates the whole gradient has reached "
        "<full:.2g>, the gradient cut after <window> steps <truncated:.2g>: nothing tells the weights to "
        "keep the bit. Language is full of such lags: a verb agrees with a subject a clause away, a pronoun "
        "with a name a paragraph away.",
        value="truncated full",
        figure=curves(f"Copying a bit over {LAG} steps", losses, range(UPDATES), axes, log="y"),
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd through the product's net with its window, autograd over all scalar sequences, a second
    training.
    """
    found = [_by_autograd(question, window) for window in (question.steps, None)]
    short, whole = (torch.cat([grad.flatten() for grad in grads.values()]) for grads in found)
    error = float((short - whole).norm() / (whole.norm() or 1.0))
    yield agree("truncated gradients", "autograd, states detached", answer["gradients"], found[0])
    yield agree("distance from the whole gradient", "autograd", answer["relative_error"], error)
    full, truncated = (_scalar_by_autograd(question, k) for k in (12, question.steps))
    expected = {"full": full, "truncated": truncated, "bias": truncated - full}
    yield agree("expectations of the scalar model", "autograd over all sequences", answer["scalar"], expected)
    cut, copied = (_copy_losses(window, seed=1)[-1] for window in (WINDOW, LAG + 1))
    detail = f"with other first weights {copied:.2g} with the whole gradient, {cut:.2g} with {WINDOW} steps"
    learnt = copied < 0.05 < 0.15 < cut
    yield holds("the copy task needs the whole lag", "trained a second time", learnt, detail)


def attempt(question: Question, write: Attempt) -> None:
    """The expected gradients of the scalar model, and the bias."""
    full, cut, u = _expected(question, question.length), _expected(question, question.steps), question.memory
    last, k = question.length - 1, min(question.steps, question.length - 1)
    dropped = 2 * sum((j * u ** (2 * j - 1) for j in range(1, k + 1)), Fraction(0)) - 2 * k * u ** (last - 1)

    def gradients(truncated: Fraction, bias: Fraction) -> dict[str, float]:
        return {"full": float(full), "truncated": float(truncated), "bias": float(bias)}

    write(
        "scalar",
        gradients(cut, cut - full),
        "expected whole gradient, expected cut gradient, and their difference (cut minus whole)",
        "Through how many factors u does each input reach the end, and how many of them does the cut see?",
        r"2 \sum_{j=1}^{T-1} \min(k, j) u^{2j-1} - 2 \min(k, T-1) u^{T-2}",
        dropped=("inputs from before the cut are dropped altogether", gradients(dropped, dropped - full)),
        other_way=("the cut gradient is taken off the whole one", gradients(cut, full - cut)),
        no_bias=("the cut gradient is taken to be unbiased", gradients(full, Fraction(0))),
    )
    window = min(question.steps, question.sizes["T"])
    grads = _gradients(question, window)
    longer, whole = _gradients(question, window + 1), _gradients(question, question.sizes["T"])
    found = write(
        "gradients",
        grads,
        "gradients of W, U and V of the net, cut after so many steps",
        "At which state does each error's way back end?",
        r"\sum_t \sum_{s=t-k+1}^{t} D_s \left( \prod_{r=s+1}^{t} U^T D_r \right) \nabla_{h_t} L_t \, x_s^T",
        one_more=("the way back is one step too long", longer),
        uncut=("the gradient is not cut", whole),
    )
    vectors = [np.concatenate([np.ravel(of[name]) for name in "wuv"]) for of in (found, whole)]
    away = np.linalg.norm(vectors[0] - vectors[1])
    lengths = [np.linalg.norm(vector) or 1.0 for vector in vectors]
    write(
        "relative_error",
        float(away / lengths[1]),
        "distance of the cut gradient from the whole one, as part of the whole one's length",
        "Which length is divided by?",
        r"\frac{\lVert g_k - g \rVert}{\lVert g \rVert}",
        absolute=("the distance is not divided by a length", float(away)),
        of_cut=("the length of the cut gradient is divided by", float(away / lengths[0])),
    )


def draw(random: Random) -> dict[str, Any]:
    """A short sequence, and a scalar model with a short fraction."""
    length = random.randint(4, 7)
    memory = random.choice(("1/2", "1/3", "2/3", "-1/2", "3/4"))
    given: dict[str, Any] = {"steps": 2, "length": length, "memory": memory}
    given |= {name: whole(random, -2, 2, 2, 2) for name in "wu"} | {"v": whole(random, -2, 2, 1, 2)}
    return given | {"inputs": whole(random, 0, 1, 4, 2), "targets": whole(random, 0, 1, 4, 1)}


def _gradients(question: Question, window: int) -> dict[str, Array]:
    """Each error followed back through `window` states."""
    w, u, v, x, z = arrays(*question.net)
    states = [np.zeros(len(u))]
    for x_I in x:
        with np.errstate(over="ignore"):  # exp overflows to infinity, whose sigmoid is 0 as it should be
            states.append(1 / (1 + np.exp(-(w @ x_I + u @ states[-1]))))
    grads = {"w": np.zeros_like(w), "u": np.zeros_like(u), "v": np.zeros_like(v)}
    for t in range(1, len(states)):
        error_O = -2 * (z[t - 1] - v @ states[t])
        grads["v"] += np.outer(error_O, states[t])
        flow_H = v.T @ error_O
        for s in range(t, max(0, t - window), -1):
            flow_H = states[s] * (1 - states[s]) * flow_H
            grads["w"] += np.outer(flow_H, x[s - 1])
            grads["u"] += np.outer(flow_H, states[s - 1])
            flow_H = u.T @ flow_H
    return grads


def _expected(question: Question, k: int) -> Fraction:
    """The mean gradient of the scalar model over all sequences of signs, cut after k steps."""
    u, last = question.memory, question.length - 1
    noise = sum((min(k, j) * u ** (2 * j - 1) for j in range(1, last + 1)), Fraction(0))
    return 2 * noise - 2 * min(k, last) * u ** (last - 1)


def _by_autograd(question: Question, window: int | None) -> dict[str, Tensor]:
    w, u, v, x, z = tensors(*question.net)
    with torch.random.fork_rng(devices=[]):  # the drawn weights are replaced
        model = RNN(w.shape[1], w.shape[0], v.shape[0]).double()
    weights = {"w": model.w.weight, "u": model.u.weight, "v": model.v.weight}
    for weight, value in zip(weights.values(), (w, u, v), strict=True):
        weight.data.copy_(value)
    loss = (z - torch.cat(model(x[None], window=window))).square().sum()
    return dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))


def _scalar_by_autograd(question: Question, k: int) -> float:
    x_BT = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=question.length)), dtype=torch.float64)
    u = torch.tensor(float(question.memory), dtype=torch.float64, requires_grad=True)
    h_B = torch.zeros(len(x_BT), dtype=torch.float64)
    for t, x_B in enumerate(x_BT.T):
        h_B = (h_B.detach() if t <= question.length - k else h_B) * u + x_B
    (gradient,) = torch.autograd.grad((x_BT[:, 0] - h_B).square().mean(), u)
    return gradient.item()


@cache
def _copy_losses(window: int, seed: int) -> tuple[float, ...]:
    """The loss of each update on all bit sequences at once; a second input, always 1, is the bias."""
    bits_BT = torch.tensor(list(itertools.product((0.0, 1.0), repeat=LAG + 1)))
    x_BTI = torch.stack([bits_BT, torch.ones_like(bits_BT)], dim=-1)
    with torch_seeded(seed):
        model = RNN(inputs=2, hidden=8, outputs=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(UPDATES):
        loss = (model(x_BTI, window=window)[-1] - bits_BT[:, :1]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return tuple(losses)
