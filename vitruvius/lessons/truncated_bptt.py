r"""Truncated back-propagation through time: what cutting the gradient after k time steps costs.

The net is $h_t = \sigma(W x_t + U h_{t-1})$, $y_t = V h_t$, $L = \sum_t \lVert z_t - y_t \rVert^2$. With `steps` = k
the gradient of each $L_t$ passes through the states $h_t, \dots, h_{t-k+1}$; the one before them counts as a constant.
"""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Lines, Series
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree, holds

if TYPE_CHECKING:
    from torch import Tensor

    Array = np.ndarray[Any, Any]

SUBJECT = "recurrent nets and graphs"
LONGEST, WIDEST = 32, 16
LAG, WINDOW, UPDATES = 3, 2, 400
"""The copy task: the first of LAG + 1 bits is asked for at the end; the short gradient sees WINDOW time steps."""


class Question(lessons.Question):
    """A net, a sequence and the window; a scalar model for the bias."""

    steps: Annotated[int, Field(ge=1, le=LONGEST)] = 2
    """How many time steps the gradient of each error passes through."""
    w: Matrix = exact(((1, -1), (-1, 1)))
    u: Matrix = exact(((3, -2), (-1, 3)))
    v: Matrix = exact(((2, -1),))
    inputs: Matrix = exact(((1, 0), (0, 1), (1, 1), (0, 0), (1, 0), (0, 1)))
    targets: Matrix = exact(((1,), (0,), (1,), (0,), (1,), (1,)))
    memory: Exact = exact("1/2")
    """u of the scalar model h_t = u h_(t-1) + x_t."""
    length: Annotated[int, Field(ge=2, le=12)] = 6
    """Its number of time steps."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _shapes.recurrent(self, LONGEST, WIDEST)
        if abs(self.memory) > 2:
            raise ValueError(f"memory is {self.memory}: needs a number from -2 to 2")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The truncated gradient beside the whole one, its bias in a scalar model, and what it cannot learn."""
    times = len(question.inputs)
    by_window = [_gradients(question, window) for window in range(1, times + 1)]
    errors = [_relative_error(found, by_window[-1]) for found in by_window]
    window = min(question.steps, times)
    gradients, error = by_window[window - 1], errors[window - 1]
    yield Step(
        says=f"Follow each error back through {window} of at most {times} time steps and drop the rest of the sum. V "
        "is used after the recursion, so its gradient loses nothing; those of W and U do, and the gradient as a whole "
        f"is off by {error:.6g} of its length.",
        formula=rf"\nabla_W^{{({window})}} L = \sum_t \sum_{{s=t-{window - 1}}}^{{t}} D_s \left(\prod_{{r=s+1}}^{{t}} "
        rf"U^T D_r\right) \nabla_{{h_t}} L_t \, x_s^T = {_board.matrix(gradients['w'])}, \quad D_s = "
        rf"\mathrm{{diag}}(h_s \odot (1 - h_s)), \quad \nabla_U^{{({window})}} L = {_board.matrix(gradients['u'])}",
        value={"gradients": gradients, "relative_error": error},
        figure=_error_figure(errors),
    )
    scalar = {"full": _expected(question, question.length), "truncated": _expected(question, question.steps)}
    scalar["bias"] = scalar["truncated"] - scalar["full"]
    yield _bias_step(question, scalar)
    yield _copy_step()
    yield Answer(fields={"gradients": gradients, "relative_error": error, "scalar": scalar})


def _bias_step(question: Question, scalar: dict[str, Fraction]) -> Step:
    full, truncated, bias = (_board.number(scalar[name]) for name in ("full", "truncated", "bias"))
    verdict = f"they differ by {scalar['bias']}: the estimate is biased" if scalar["bias"] else "here they are equal"
    return Step(
        says=f"Is the estimate unbiased? Take a net so small that the expectation is exact: one linear unit, inputs +1 "
        f"or -1 with equal chance, and the first of {question.length} inputs as the target at the end. Over all "
        f"{2**question.length} sequences the whole gradient is {scalar['full']} on average, the one cut after "
        f"{question.steps} steps {scalar['truncated']}; {verdict}, and no amount of data averages that away.",
        formula=rf"h_t = u h_{{t-1}} + x_t, \quad \mathbb{{E}}\left[\frac{{d}}{{du}} (x_1 - h_T)^2\right] = "
        rf"2 \sum_{{j=1}}^{{T-1}} \min(k, j) \, u^{{2j-1}} - 2 \min(k, T-1) \, u^{{T-2}} : \quad "
        rf"k \geq T - 1: {full}, \quad k = {question.steps}: {truncated}, \quad \mathrm{{bias}} = {bias}",
        value=scalar,
    )


def _copy_step() -> Step:
    curves = {window: _copy_losses(window, seed=0) for window in (WINDOW, LAG + 1)}
    short, whole = curves[WINDOW][-1], curves[LAG + 1][-1]
    counts = tuple(float(count) for count in range(UPDATES))
    return Step(
        says=f"What this does to a task: show {LAG + 1} random bits and ask for the first one at the end, {LAG} steps "
        f"later. Always answering 1/2 costs 0.25. After {UPDATES} updates the whole gradient has reached {whole:.2g}, "
        f"the gradient cut after {WINDOW} steps {short:.2g}: nothing tells the weights to keep the bit. Language is "
        "full of such lags: a verb agrees with a subject a clause away, a pronoun with a name a paragraph away.",
        value={"truncated": short, "full": whole},
        figure=Lines(
            title=f"Copying a bit over {LAG} steps",
            series=tuple(
                Series(name=f"gradient through {window} steps", x=counts, y=losses) for window, losses in curves.items()
            ),
            x_label="update",
            y_label="mean squared error",
            log_y=True,
        ),
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd through the product's net with its window, autograd over all scalar sequences, a second training."""
    import torch

    found = [_by_autograd(question, window) for window in (question.steps, None)]
    vectors = [torch.cat([grad.flatten() for grad in grads.values()]) for grads in found]
    length = float(vectors[1].norm())
    error = float((vectors[0] - vectors[1]).norm()) / length if length else 0.0
    yield agree("truncated gradients", "autograd, states detached", answer["gradients"], found[0])
    yield agree("distance from the whole gradient", "autograd", answer["relative_error"], error)
    expected = {name: _scalar_by_autograd(question, k) for name, k in (("full", 12), ("truncated", question.steps))}
    expected["bias"] = expected["truncated"] - expected["full"]
    yield agree("expectations of the scalar model", "autograd over all sequences", answer["scalar"], expected)
    short, whole = (_copy_losses(window, seed=1)[-1] for window in (WINDOW, LAG + 1))
    detail = f"with other first weights {whole:.2g} with the whole gradient, {short:.2g} with {WINDOW} steps"
    yield holds("the copy task needs the whole lag", "trained a second time", whole < 0.05 < 0.15 < short, detail)


def _gradients(question: Question, window: int) -> dict[str, list[list[float]]]:
    """Each error followed back through `window` states."""
    w, u, v, x, z = (np.array(getattr(question, field), dtype=float) for field in ("w", "u", "v", "inputs", "targets"))
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
    return {name: grad.tolist() for name, grad in grads.items()}


def _relative_error(found: dict[str, Any], whole: dict[str, Any]) -> float:
    ours, theirs = (np.concatenate([np.ravel(grad) for grad in grads.values()]) for grads in (found, whole))
    length = np.linalg.norm(theirs)
    return float(np.linalg.norm(ours - theirs) / length) if length else 0.0


def _expected(question: Question, k: int) -> Fraction:
    """The mean gradient of the scalar model over all sequences of signs, cut after k steps."""
    u, last = question.memory, question.length - 1
    noise = sum((min(k, j) * u ** (2 * j - 1) for j in range(1, last + 1)), Fraction(0))
    return 2 * noise - 2 * min(k, last) * u ** (last - 1)


def _by_autograd(question: Question, window: int | None) -> "dict[str, Tensor]":
    import torch

    from vitruvius.nn.recurrent import RNN

    w, u, v, x, z = (
        torch.tensor([[float(entry) for entry in row] for row in getattr(question, field)], dtype=torch.float64)
        for field in ("w", "u", "v", "inputs", "targets")
    )
    with torch.random.fork_rng(devices=[]):  # the drawn weights are replaced
        model = RNN(w.shape[1], w.shape[0], v.shape[0]).double()
    weights = {"w": model.w.weight, "u": model.u.weight, "v": model.v.weight}
    for weight, value in zip(weights.values(), (w, u, v), strict=True):
        weight.data.copy_(value)
    loss = (z - torch.cat(model(x[None], window=window))).square().sum()
    return dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))


def _scalar_by_autograd(question: Question, k: int) -> float:
    import torch

    x_BT = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=question.length)), dtype=torch.float64)
    u = torch.tensor(float(question.memory), dtype=torch.float64, requires_grad=True)
    h_B = torch.zeros(len(x_BT), dtype=torch.float64)
    for t, x_B in enumerate(x_BT.T):
        h_B = (h_B.detach() if t <= question.length - k else h_B) * u + x_B
    (gradient,) = torch.autograd.grad((x_BT[:, 0] - h_B).square().mean(), u)
    return gradient.item()


@cache
def _copy_losses(window: int, seed: int) -> tuple[float, ...]:
    """The loss of each update on all bit sequences at once; a second input is always 1 and serves as a bias."""
    import torch

    from vitruvius.nn.recurrent import RNN

    bits_BT = torch.tensor(list(itertools.product((0.0, 1.0), repeat=LAG + 1)))
    x_BTI = torch.stack([bits_BT, torch.ones_like(bits_BT)], dim=-1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
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


def _error_figure(errors: list[float]) -> Lines:
    windows = tuple(float(window) for window in range(1, len(errors) + 1))
    series = Series(name="relative error of the gradient", x=windows, y=tuple(errors))
    return Lines(title="What a longer window buys", series=(series,), x_label="steps", y_label="relative error")
