r"""Back-propagation through time: the gradients of a recurrent net, derived, filled in and checked.

$h_t = \sigma(W x_t + U h_{t-1})$, $y_t = V h_t$, $L = \sum_t \lVert z_t - y_t \rVert^2$ with the logistic
$\sigma$. Rows of `inputs`, `targets`, `hidden`, `outputs` and `grad_hidden` are time steps."""

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch

from vitruvius import lessons
from vitruvius.core.blocks import Graph
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._board import column
from vitruvius.lessons._draws import whole
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays
from vitruvius.nn.recurrent import RNN

SUBJECT = "recurrent nets and graphs"
TASK = (
    "Back-propagation through time. A recurrent net h_t = sigma(W x_t + U h_(t-1)), y_t = V h_t with "
    "the logistic sigmoid starts from h_0 = 0; its loss is the sum of the squared errors of all time "
    "steps. Rows of inputs and targets are time steps. Work out the forward pass and the gradients of "
    "the loss."
)
SHEET_FIGURE = 1


class Question(lessons.Question):
    """The weights, a sequence and its targets: three time steps, as the assignment unrolls the net."""

    limits = {"T": (1, 32), "H": (1, 16), "I": (1, 16), "O": (1, 16)}
    """Time steps, hidden units, inputs and outputs."""
    w: Annotated[Matrix, "H I"] = exact(((1, -1), (0.5, 2)))
    u: Annotated[Matrix, "H H"] = exact(((1, 2), (-1, 0.5)))
    v: Annotated[Matrix, "O H"] = exact(((2, -1),))
    inputs: Annotated[Matrix, "T I"] = exact(((1, 0), (0, 1), (1, 1)))
    targets: Annotated[Matrix, "T O"] = exact(((1,), (0,), (1,)))
    start: Annotated[Vector | None, "H"] = None
    """The hidden state before the first time step; zero by default."""


class ForwardPass(NamedTuple):
    """The question as arrays, and its forward pass."""

    w_HI: Array
    u_HH: Array
    v_OH: Array
    x_TI: Array
    z_TO: Array
    start_H: Array
    h_TH: Array
    y_TO: Array


def solve(question: Question) -> Iterator[Step | Answer]:
    """The forward pass, the recursion backwards, the gradients of the three matrices."""
    run = _forward(question)
    hidden, steps, loss = run.h_TH, len(run.x_TI), float(((run.z_TO - run.y_TO) ** 2).sum())
    board = Board(steps=steps, hidden=hidden, outputs=run.y_TO, loss=loss)
    yield board.step(
        "Unroll the net over <steps> time steps. All copies of an arrow carry the same matrix, so a matrix "
        "collects one contribution from each of the <steps> steps.",
        r"h_t = \sigma(W x_t + U h_{t-1}), \quad y_t = V h_t, \quad L = \sum_t \lVert z_t - y_t \rVert^2",
        figure=_unrolled(steps),
    )
    board["states"] = r", \quad ".join(rf"h_{{{t}}} = {column(h)}" for t, h in enumerate(hidden, 1))
    yield board.step(
        "Forward, each state from the one before: the <steps> squared errors add up to <loss>.",
        r"<states>, \quad L = <loss>",
        "hidden outputs loss",
    )
    slope_TH = hidden * (1 - hidden)
    grads = _gradients(run, slope_TH)
    yield from _backward_steps(run, slope_TH, grads)
    named = {f"grad_{name}": grad for name, grad in grads.items()}
    yield Answer(fields={"hidden": hidden, "outputs": run.y_TO, "loss": loss, **named})


def _backward_steps(run: ForwardPass, slope_TH: Array, grads: dict[str, Array]) -> Iterator[Step]:
    last, local_TH = len(slope_TH), -2 * (run.z_TO - run.y_TO) @ run.v_OH
    board = Board(grads, last=last, before=last - 1, local=local_TH, slope=slope_TH, largest=slope_TH.max())
    board["between"] = slope_TH[-1][:, None] * run.u_HH
    yield board.step(
        "Two pieces are needed. A state reaches its own error through V: a factor -2 and the transpose of V. "
        "It reaches the next state through U and the slope of the logistic sigmoid, h(1-h), here at most "
        "<largest> (never more than 1/4).",
        r"\nabla_{h_t} L_t = -2 V^T (z_t - y_t), \quad \nabla_{h_{<last>}} L_{<last>} = <local[-1]:column>, "
        r"\quad \frac{\partial h_{t+1}}{\partial h_t} = \mathrm{diag}(h_{t+1} \odot (1 - h_{t+1})) \, U, "
        r"\quad \frac{\partial h_{<last>}}{\partial h_{<before>}} = <between>",
        "local slope",
    )
    backwards = [rf"\nabla_{{h_{{{t}}}}} L = {column(grads['hidden'][t - 1])}" for t in range(last, 0, -1)]
    board["total"] = r", \quad ".join(backwards)
    yield board.step(
        "Backwards from t = <last>: a state is used by its own output and by the next state, so its gradient "
        "is the sum over both ways; the last state has only the first way.",
        r"\nabla_{h_t} L = \nabla_{h_t} L_t + U^T \mathrm{diag}(h_{t+1} \odot (1 - h_{t+1})) \, "
        r"\nabla_{h_{t+1}} L : \quad <total>",
        "hidden",
    )
    way_HH = np.eye(len(run.u_HH))
    for slope_H in slope_TH[1:]:
        way_HH = slope_H[:, None] * (run.u_HH @ way_HH)
    norm, steps = np.linalg.norm(run.u_HH, 2), last - 1
    board |= {"norm": norm, "bound": (norm / 4) ** steps, "way": np.linalg.norm(way_HH, 2), "gaps": steps}
    yield board.step(
        "How far does it reach? From the last state to the first the recursion multiplies <gaps> times with "
        "U "
        "and a slope of at most 1/4. So if the largest singular value of U, here <norm:.6g>, is below 4, the "
        "influence vanishes at least as fast as this bound, <bound:.4g>; here it is <way:.4g>. Above 4 it "
        "may explode, but need not.",
        r"\left\lVert \frac{\partial h_T}{\partial h_1} \right\rVert = \left\lVert \prod_{t=2}^{T} "
        r"\mathrm{diag}(h_t \odot (1 - h_t)) \, U \right\rVert \le \left( \frac{\lVert U \rVert}{4} "
        r"\right)^{T-1} = \left( \frac{<norm>}{4} \right)^{<gaps>} = <bound>",
        "bound way",
    )
    yield board.step(
        "Give each of the <last> time steps its own copy of the matrices, differentiate the copies, and add: "
        "the gradient behind the sigmoid times what the matrix multiplied, transposed.",
        r"\nabla_W L = \sum_t \mathrm{diag}(h_t \odot (1 - h_t)) (\nabla_{h_t} L) \, x_t^T = <w>, \quad "
        r"\nabla_U L = \sum_t \mathrm{diag}(h_t \odot (1 - h_t)) (\nabla_{h_t} L) \, h_{t-1}^T = <u>, \quad "
        r"\nabla_V L = -2 \sum_t (z_t - y_t) \, h_t^T = <v>",
        "w u v",
    )
    wrong_HI = _gradients(run, 1 - run.h_TH**2)["w"]
    smallest = np.finfo(float).tiny
    board["away"] = np.linalg.norm(wrong_HI - grads["w"]) / max(np.linalg.norm(grads["w"]), smallest)
    yield board.step(
        "The common mistakes: 1 - h^2 is the slope of tanh, not of the logistic sigmoid (it would move the "
        "gradient of W by <away:.1%> of its length here); going back one step uses the transpose of U, not "
        "of W; and the error's derivative is -2 V^T (z - y), with the minus sign and the transpose.",
        value="away",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's own recurrent net under autograd, and finite differences with an imaginary step."""
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
    backward = {"grad_hidden": torch.cat(grads[:-3])}
    backward |= dict(zip(("grad_w", "grad_u", "grad_v"), grads[-3:], strict=True))
    yield agree("states, outputs and loss", "vitruvius.nn.recurrent", answer, forward)
    yield agree("all gradients", "autograd", answer, backward)
    yield agree("all gradients", "finite differences", answer, _finite_differences(run))


def attempt(question: Question, write: Attempt) -> None:
    """States, outputs, loss, the two pieces, and the gradients."""
    run = _forward(question)
    v, z = run.v_OH, run.z_TO
    h = write(
        "hidden",
        run.h_TH,
        "hidden states, a row per time step",
        "What does a state see: only its input, or also the state before?",
        r"h_t = \sigma(W x_t + U h_{t-1})",
        forgetful=("the state before is left out", _forward(question, 0 * run.u_HH).h_TH),
        turned=("U is transposed", _forward(question, run.u_HH.T).h_TH),
    )
    y = write(
        "outputs",
        h @ v.T,
        "outputs, a row per time step",
        "Which matrix maps a state to an output, and is there a sigmoid behind it?",
        r"y_t = V h_t",
        squashed=("a sigmoid is applied to the outputs", 1 / (1 + np.exp(-(h @ v.T)))),
    )
    squares = (z - y) ** 2
    write(
        "loss",
        float(squares.sum()),
        "the loss",
        "Are the squared errors added up, averaged or halved?",
        r"L = \sum_t \lVert z_t - y_t \rVert^2",
        mean=("the squared errors are averaged instead of added", float(squares.mean())),
        half=("the loss is halved", float(squares.sum() / 2)),
    )
    slope = write(
        "slope",
        h * (1 - h),
        "slope of the sigmoid at each state",
        "What is the derivative of the logistic sigmoid, written with its own value?",
        r"\sigma' = h \odot (1 - h)",
        tanh=("the slope of tanh, 1 - h^2, is taken for that of the sigmoid", 1 - h**2),
    )
    local = write(
        "local",
        -2 * (z - y) @ v,
        "gradient of each state through its own output alone",
        "What is the derivative of one squared error by the state, with its sign?",
        r"\nabla_{h_t} L_t = -2 V^T (z_t - y_t)",
        sign=("the minus sign is lost", 2 * (z - y) @ v),
        factor=("the factor 2 is lost", -(z - y) @ v),
    )
    _attempt_gradients(run._replace(h_TH=h, y_TO=y), local, slope, write)


def _attempt_gradients(run: ForwardPass, local_TH: Array, slope_TH: Array, write: Attempt) -> None:
    def total(back_HH: Array) -> Array:
        return _back(local_TH, slope_TH, back_HH)

    square = run.w_HI.shape == run.u_HH.shape
    grad = write(
        "grad_hidden",
        total(run.u_HH.T),
        "gradient of the loss by each state",
        "By which two ways does a state reach the loss?",
        r"\nabla_{h_t} L = \nabla_{h_t} L_t + U^T \mathrm{diag}(\sigma'_{t+1}) \nabla_{h_{t+1}} L",
        last=("the way through the next state is left out", local_TH),
        untransposed=("U is used on the way back, not its transpose", total(run.u_HH)),
        through_w=("W^T is used on the way back, not U^T", total(run.w_HI.T) if square else None),
    )
    inner, before = slope_TH * grad, np.vstack([run.start_H, run.h_TH[:-1]])
    write(
        "grad_w",
        inner.T @ run.x_TI,
        "gradient of W",
        "What did W multiply at each time step?",
        r"\nabla_W L = \sum_t \mathrm{diag}(\sigma'_t) (\nabla_{h_t} L) x_t^T",
        no_slope=("the slope of the sigmoid is left out", grad.T @ run.x_TI),
    )
    write(
        "grad_u",
        inner.T @ before,
        "gradient of U",
        "What did U multiply: the state of the same time step, or the one before?",
        r"\nabla_U L = \sum_t \mathrm{diag}(\sigma'_t) (\nabla_{h_t} L) h_{t-1}^T",
        same_step=("h_t is taken instead of h_(t-1)", inner.T @ run.h_TH),
    )
    error = -2 * (run.z_TO - run.y_TO).T
    write(
        "grad_v",
        error @ run.h_TH,
        "gradient of V",
        "Which errors does V see, and what did it multiply?",
        r"\nabla_V L = -2 \sum_t (z_t - y_t) h_t^T",
        sign_v=("the minus sign is lost", -error @ run.h_TH),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two hidden units, two inputs, one output, three time steps."""
    given = {name: whole(random, -2, 2, 2, 2) for name in "wu"} | {"v": whole(random, -2, 2, 1, 2)}
    return given | {"inputs": whole(random, 0, 2, 3, 2), "targets": whole(random, 0, 2, 3, 1)}


def _forward(question: Question, other_HH: Array | None = None) -> ForwardPass:
    """The forward pass, perhaps with another matrix in the place of U."""
    w, u, v, x_TI, z_TO = arrays(question.w, question.u, question.v, question.inputs, question.targets)
    u = u if other_HH is None else other_HH
    start = np.array(question.start or (0,) * len(w), float)
    state, states = start, []
    for x_I in x_TI:
        with np.errstate(over="ignore"):  # exp overflows to infinity, whose sigmoid is 0 as it should be
            state = 1 / (1 + np.exp(-(w @ x_I + u @ state)))
        states.append(state)
    return ForwardPass(w, u, v, x_TI, z_TO, start, np.array(states), np.array(states) @ v.T)


def _back(local_TH: Array, slope_TH: Array, back_HH: Array) -> Array:
    """The gradient of each state: through its own output, and from the next state through a matrix."""
    total_TH = local_TH.copy()
    for t in range(len(total_TH) - 2, -1, -1):
        total_TH[t] += back_HH @ (slope_TH[t + 1] * total_TH[t + 1])
    return total_TH


def _gradients(run: ForwardPass, slope_TH: Array) -> dict[str, Array]:
    error_TO = -2 * (run.z_TO - run.y_TO)
    total_TH = _back(error_TO @ run.v_OH, slope_TH, run.u_HH.T)
    inner_TH = slope_TH * total_TH
    before_TH = np.vstack([run.start_H, run.h_TH[:-1]])
    return {
        "hidden": total_TH,
        "w": inner_TH.T @ run.x_TI,
        "u": inner_TH.T @ before_TH,
        "v": error_TO.T @ run.h_TH,
    }


def _finite_differences(run: ForwardPass) -> dict[str, Array]:
    """Each entry moved by i 1e-30: the imaginary part of the loss is the derivative, without cancellation."""
    tiny = 1e-30

    def loss(w: Array, u: Array, v: Array, nudge_TH: Array) -> complex:
        state, total = run.start_H.astype(complex), 0j
        for x, z, nudge in zip(run.x_TI, run.z_TO, nudge_TH, strict=True):
            state = (1 + np.tanh((w @ x + u @ state) / 2)) / 2 + nudge
            total += ((z - v @ state) ** 2).sum()
        return total

    point = {
        "grad_w": run.w_HI,
        "grad_u": run.u_HH,
        "grad_v": run.v_OH,
        "grad_hidden": np.zeros_like(run.h_TH),
    }
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
    places = [(0.0, 1.0), *((float(t), float(height)) for t in range(1, steps + 1) for height in range(3))]
    edges, labels = [], []
    for t in range(steps):
        below, state, above = 1 + 3 * t, 2 + 3 * t, 3 + 3 * t
        edges += [(max(0, state - 3), state), (below, state), (state, above)]
        labels += ["U", "W", "V"]
    title, nodes = f"The net unrolled over {steps} time steps", ("h_0", *columns)
    return Graph(title=title, nodes=nodes, places=tuple(places), edges=tuple(edges), labels=tuple(labels))
