"""Back-propagation through time against numbers found another way."""

import math
from typing import Any

import pytest
import torch

from tests.lessons.solving import answer_of
from vitruvius.core.blocks import Graph
from vitruvius.core.errors import UserError
from vitruvius.lessons import Step
from vitruvius.lessons.bptt import Question, solve

answer = answer_of("bptt")


def loss(w: torch.Tensor, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The default question, written out for three steps."""
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    h1 = torch.sigmoid(w @ x[0])
    h2 = torch.sigmoid(w @ x[1] + u @ h1)
    h3 = torch.sigmoid(w @ x[2] + u @ h2)
    return ((1 - v @ h1) ** 2 + (0 - v @ h2) ** 2 + (1 - v @ h3) ** 2).sum()


def test_the_gradients_are_those_of_the_loss_written_out() -> None:
    weights = ([[1, -1], [0.5, 2]], [[1, 2], [-1, 0.5]], [[2, -1]])
    tensors = [torch.tensor(weight, dtype=torch.float64, requires_grad=True) for weight in weights]
    found, total = answer(), loss(*tensors)
    expected = torch.autograd.grad(total, tensors)
    for name, gradient in zip(("grad_w", "grad_u", "grad_v"), expected, strict=True):
        assert torch.tensor(found[name], dtype=torch.float64).sub(gradient).abs().max() < 1e-12
    assert found["loss"] == pytest.approx(total.item(), rel=1e-12)


def test_one_unit_by_hand() -> None:
    # h1 = s(1), h2 = s(1 + 2 h1), y = 3h, z = 0: L = 9 h1^2 + 9 h2^2, so dL/dh2 = 18 h2 and
    # dL/dh1 = 18 h1 + 2 h2 (1 - h2) 18 h2; U only multiplies h1.
    found = answer(w=[[1]], u=[[2]], v=[[3]], inputs=[[1], [1]], targets=[[0], [0]])
    h1 = 1 / (1 + math.exp(-1))
    h2 = 1 / (1 + math.exp(-1 - 2 * h1))
    to_h2 = 18 * h2
    to_h1 = 18 * h1 + 2 * h2 * (1 - h2) * to_h2
    assert found["grad_hidden"] == [pytest.approx([to_h1]), pytest.approx([to_h2])]
    assert found["grad_u"] == [pytest.approx([to_h2 * h2 * (1 - h2) * h1])]
    assert found["grad_w"] == [pytest.approx([to_h1 * h1 * (1 - h1) + to_h2 * h2 * (1 - h2)])]
    assert found["grad_v"] == [pytest.approx([6 * (h1**2 + h2**2)])]


def test_a_start_other_than_zero_reaches_u() -> None:
    # One step, h = s(u start) with u = 1, start = 2, y = h, z = 0: dL/du = 2 h h (1 - h) start.
    found = answer(w=[[0]], u=[[1]], v=[[1]], inputs=[[1]], targets=[[0]], start=[2])
    h = 1 / (1 + math.exp(-2))
    assert found["grad_u"] == [pytest.approx([2 * h * h * (1 - h) * 2])]


def test_saturated_units_do_not_overflow() -> None:
    found = answer(w=[[1000], [-1000]], u=[[1, 0], [0, 1]], v=[[1, 1]], inputs=[[1]], targets=[[1]])
    assert found["hidden"] == [[1.0, 0.0]]


def test_the_unrolled_graph_has_a_label_on_every_edge() -> None:
    step = next(solve(Question()))
    assert isinstance(step, Step)
    figure = step.figure
    assert isinstance(figure, Graph)
    edges = {(figure.nodes[start], figure.nodes[end]) for start, end in figure.edges}
    labels = dict(
        zip([(figure.nodes[a], figure.nodes[b]) for a, b in figure.edges], figure.labels, strict=True)
    )
    assert edges == {(f"h_{t - 1}", f"h_{t}") for t in (1, 2, 3)} | {
        (a, b) for t in (1, 2, 3) for a, b in ((f"x_{t}", f"h_{t}"), (f"h_{t}", f"y_{t}"))
    }
    assert [labels[edge] for edge in (("h_1", "h_2"), ("x_2", "h_2"), ("h_3", "y_3"))] == ["U", "W", "V"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"u": [[1, 2]]}, "u is 1 x 2: it needs H x H with H = 2 as in w"),
        ({"v": [[1, 2, 3]]}, "v is 1 x 3: it needs O x H with H = 2 as in w"),
        ({"inputs": [[1, 2], [1]]}, "inputs has rows of 1 or 2 entries: it needs T x I, rows of one length"),
        ({"targets": [[1]]}, "targets is 1 x 1: it needs T x O with T = 3 as in inputs"),
        ({"start": [1]}, "start has 1 entry: it needs H = 2 as in w"),
        (
            {"inputs": [[1, 0]] * 33, "targets": [[0]] * 33},
            "inputs is 33 x 2: it needs T x I with T from 1 to 32",
        ),
        ({"w": []}, "w is 0 x 0: it needs H x I with H from 1 to 16"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


@pytest.mark.parametrize("u", [[[1, 2], [-1, "1/2"]], [[9, 0], [3, -8]]])
def test_the_influence_of_the_first_state_stays_below_the_bound(u: Any) -> None:
    step = next(s for s in solve(Question(u=u)) if isinstance(s, Step) and "How far" in s.says)
    w, u_HH = (torch.tensor([[float(x) for x in row] for row in m]) for m in (Question().w, Question(u=u).u))

    def last(first: torch.Tensor) -> torch.Tensor:
        state = first
        for x in ([0.0, 1.0], [1.0, 1.0]):
            state = torch.sigmoid(w @ torch.tensor(x) + u_HH @ state)
        return state

    first = torch.sigmoid(w @ torch.tensor([1.0, 0.0]))
    jacobian = torch.autograd.functional.jacobian(last, first)
    assert step.value["way"] == pytest.approx(float(torch.linalg.matrix_norm(jacobian, 2)), rel=1e-4)
    assert step.value["bound"] == pytest.approx(float(torch.linalg.matrix_norm(u_HH, 2) / 4) ** 2, rel=1e-5)
    assert step.value["way"] < step.value["bound"]
