r"""Back-propagation through time: the gradients of a recurrent net, derived, filled in and checked.

$h_t = \sigma(W x_t + U h_{t-1})$, $y_t = V h_t$, $L = \sum_t \lVert z_t - y_t \rVert^2$ with the logistic $\sigma$.
Rows of `inputs`, `targets`, `hidden`, `outputs` and `grad_hidden` are time steps.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Graph
from vitruvius.lessons import Answer, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SUBJECT = "recurrent nets and graphs"
LONGEST, WIDEST = 32, 16


class Question(lessons.Question):
    """The weights, a sequence and its targets: three time steps, as the assignment unrolls the net."""

    w: Matrix = exact(((1, -1), (0.5, 2)))
    """Hidden units x inputs."""
    u: Matrix = exact(((1, 2), (-1, 0.5)))
    """Hidden units x hidden units."""
    v: Matrix = exact(((2, -1),))
    """Outputs x hidden units."""
    inputs: Matrix = exact(((1, 0), (0, 1), (1, 1)))
    targets: Matrix = exact(((1,), (0,), (1,)))
    start: Vector | None = None
    """The hidden state before the first time step; zero by default."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _shapes.recurrent(self, LONGEST, WIDEST)
        if self.start is not None:
            _shapes.vector("start", self.start, len(self.w), "hidden unit")
        return self


class Run(NamedTuple):
    """The question as arrays, and its forward pass."""

    w_HI: "Array"
    u_HH: "Array"
    v_OH: "Array"
    x_TI: "Array"
    z_TO: "Array"
    start_H: "Array"
    h_TH: "Array"
    y_TO: "Array"


def solve(question: Question) -> Iterator[Step | Answer]:
    """The forward pass, the recursion backwards, the gradients of the three matrices."""
    run = _forward(question)
    steps, loss = len(run.x_TI), float(((run.z_TO - run.y_TO) ** 2).sum())
    yield Step(
        says=f"Unroll the net over {steps} time steps. All copies of an arrow carry the same matrix, so a matrix "
        f"collects one contribution from each of the {steps} steps.",
        formula=r"h_t = \sigma(W x_t + U h_{t-1}), \quad y_t = V h_t, \quad L = \sum_t \lVert z_t - y_t \rVert^2",
        figure=_unrolled(steps),
    )
    states = r", \quad ".join(rf"h_{{{t}}} = {_board.column(h)}" for t, h in enumerate(run.h_TH, 1))
    yield Step(
        says=f"Forward, each state from the one before: the {steps} squared errors add up to {loss:.6g}.",
        formula=rf"{states}, \quad L = {_board.number(loss)}",
        value={"hidden": run.h_TH, "outputs": run.y_TO, "loss": loss},
    )
    slope_TH = run.h_TH * (1 - run.h_TH)
    grads = _gradients(run, slope_TH)
    yield from _backward_steps(run, slope_TH, grads)
    named = {f"grad_{name}": grad.tolist() for name, grad in grads.items()}
    yield Answer(fields={"hidden": run.h_TH.tolist(), "outputs": run.y_TO.tolist(), "loss": loss, **named})


def _backward_steps(run: Run, slope_TH: "Array", grads: dict[str, "Array"]) -> Iterator[Step]:
    last = len(slope_TH)
    local_TH = -2 * (run.z_TO - run.y_TO) @ run.v_OH
    yield Step(
        says="Two pieces are needed. A state reaches its own error through V: a factor -2 and the transpose of V. It "
        f"reaches the next state through U and the slope of the logistic sigmoid, h(1-h), here at most "
        f"{slope_TH.max():.6g} (never more than 1/4).",
        formula=rf"\nabla_{{h_t}} L_t = -2 V^T (z_t - y_t), \quad \nabla_{{h_{{{last}}}}} L_{{{last}}} = "
        rf"{_board.column(local_TH[-1])}, \quad \frac{{\partial h_{{t+1}}}}{{\partial h_t}} = "
        rf"\mathrm{{diag}}(h_{{t+1}} \odot (1 - h_{{t+1}})) \, U, \quad \frac{{\partial h_{{{last}}}}}"
        rf"{{\partial h_{{{last - 1}}}}} = {_board.matrix(slope_TH[-1][:, None] * run.u_HH)}",
        value={"local": local_TH, "slope": slope_TH},
    )
    total = r", \quad ".join(
        rf"\nabla_{{h_{{{t}}}}} L = {_board.column(grads['hidden'][t - 1])}" for t in range(last, 0, -1)
    )
    yield Step(
        says=f"Backwards from t = {last}: a state is used by its own output and by the next state, so its gradient is "
        "the sum over both ways; the last state has only the first way.",
        formula=r"\nabla_{h_t} L = \nabla_{h_t} L_t + U^T \mathrm{diag}(h_{t+1} \odot (1 - h_{t+1})) \, "
        rf"\nabla_{{h_{{t+1}}}} L : \quad {total}",
        value=grads["hidden"],
    )
    yield Step(
        says=f"Give each of the {last} time steps its own copy of the matrices, differentiate the copies, and add: the "
        "gradient behind the sigmoid times what the matrix multiplied, transposed.",
        formula=r"\nabla_W L = \sum_t \mathrm{diag}(h_t \odot (1 - h_t)) (\nabla_{h_t} L) \, x_t^T = "
        rf"{_board.matrix(grads['w'].tolist())}, \quad \nabla_U L = \sum_t \mathrm{{diag}}(h_t \odot (1 - h_t)) "
        rf"(\nabla_{{h_t}} L) \, h_{{t-1}}^T = {_board.matrix(grads['u'].tolist())}, \quad "
        rf"\nabla_V L = -2 \sum_t (z_t - y_t) \, h_t^T = {_board.matrix(grads['v'].tolist())}",
        value={name: grads[name] for name in ("w", "u", "v")},
    )
    wrong = _gradients(run, 1 - run.h_TH**2)
    away = np.linalg.norm(wrong["w"] - grads["w"]) / max(np.linalg.norm(grads["w"]), np.finfo(float).tiny)
    yield Step(
        says="The common mistakes: 1 - h^2 is the slope of tanh, not of the logistic sigmoid (it would move the "
        f"gradient of W by {away:.1%} of its length here); going back one step uses the transpose of U, not of W; and "
        "the error's derivative is -2 V^T (z - y), with the minus sign and the transpose.",
        value=away,
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's own recurrent net under autograd, and finite differences with an imaginary step."""
    import torch

    from vitruvius.nn.recurrent import RNN

    run = _forward(question)
    tensor = {name: torch.from_numpy(value) for name, value in run._asdict().items()}
    with torch.random.fork_rng(devices=[]):  # the drawn weights are replaced
        model = RNN(len(run.w_HI[0]), len(run.w_HI), len(run.v_OH)).double()
    for layer, name in ((model.w, "w_HI"), (model.u, "u_HH"), (model.v, "v_OH")):
        layer.weight.data.copy_(tensor[name])
    states = model.unroll(tensor["x_TI"][None], tensor["start_H"][None])
    outputs = torch.cat([model.v(state) for state in states])
    loss = (tensor["z_TO"] - outputs).square().sum()
    grads = torch.autograd.grad(loss, [*states, model.w.weight, model.u.weight, model.v.weight])
    forward = {"hidden": torch.cat(states).detach(), "outputs": outputs.detach(), "loss": loss.item()}
    backward = {"grad_hidden": torch.cat(grads[:-3]), "grad_w": grads[-3], "grad_u": grads[-2], "grad_v": grads[-1]}
    yield agree("states, outputs and loss", "vitruvius.nn.recurrent", {k: answer[k] for k in forward}, forward)
    yield agree("all gradients", "autograd", {k: answer[k] for k in backward}, backward)
    yield agree("all gradients", "finite differences", {k: answer[k] for k in backward}, _finite_differences(run))


def _forward(question: Question) -> Run:
    w, u, v, x_TI, z_TO = (
        np.array(getattr(question, field), dtype=float) for field in ("w", "u", "v", "inputs", "targets")
    )
    start = np.array(question.start if question.start is not None else (0,) * len(question.w), dtype=float)
    state, states = start, []
    for x_I in x_TI:
        with np.errstate(over="ignore"):  # exp overflows to infinity, whose sigmoid is 0 as it should be
            state = 1 / (1 + np.exp(-(w @ x_I + u @ state)))
        states.append(state)
    return Run(w, u, v, x_TI, z_TO, start, np.array(states), np.array(states) @ v.T)


def _gradients(run: Run, slope_TH: "Array") -> dict[str, "Array"]:
    error_TO = -2 * (run.z_TO - run.y_TO)
    total_TH = error_TO @ run.v_OH
    for t in range(len(total_TH) - 2, -1, -1):
        total_TH[t] += run.u_HH.T @ (slope_TH[t + 1] * total_TH[t + 1])
    inner_TH = slope_TH * total_TH
    before_TH = np.vstack([run.start_H, run.h_TH[:-1]])
    return {"hidden": total_TH, "w": inner_TH.T @ run.x_TI, "u": inner_TH.T @ before_TH, "v": error_TO.T @ run.h_TH}


def _finite_differences(run: Run) -> dict[str, "Array"]:
    """Each entry moved by i 1e-30: the imaginary part of the loss is the derivative, without cancellation."""
    tiny = 1e-30

    def loss(w: "Array", u: "Array", v: "Array", nudge_TH: "Array") -> complex:
        state, total = run.start_H.astype(complex), 0j
        for x, z, nudge in zip(run.x_TI, run.z_TO, nudge_TH, strict=True):
            state = (1 + np.tanh((w @ x + u @ state) / 2)) / 2 + nudge
            total += ((z - v @ state) ** 2).sum()
        return total

    point = {"grad_w": run.w_HI, "grad_u": run.u_HH, "grad_v": run.v_OH, "grad_hidden": np.zeros_like(run.h_TH)}
    found = {name: np.zeros_like(value) for name, value in point.items()}
    for name, value in point.items():
        for place in np.ndindex(value.shape):
            moved = {key: item.astype(complex) for key, item in point.items()}
            moved[name][place] += 1j * tiny
            found[name][place] = loss(*moved.values()).imag / tiny
    return found


def _unrolled(steps: int) -> Graph:
    """Inputs below, states in the middle, outputs above, time to the right."""
    columns = [f"{name}_{t}" for t in range(1, steps + 1) for name in ("x", "h", "y")]
    places = [(float(t), float(height)) for t in range(1, steps + 1) for height in range(3)]
    edges, labels = [], []
    for t in range(steps):
        below, state, above = 1 + 3 * t, 2 + 3 * t, 3 + 3 * t
        edges += [(max(0, state - 3), state), (below, state), (state, above)]
        labels += ["U", "W", "V"]
    return Graph(
        title=f"The net unrolled over {steps} time steps",
        nodes=("h_0", *columns),
        places=((0.0, 1.0), *places),
        edges=tuple(edges),
        labels=tuple(labels),
    )
