"""Truncated gradients against numbers found another way."""

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch

from tests.lessons.solving import work
from vitruvius.core.errors import UserError
from vitruvius.lessons.truncated_bptt import Question

worked = partial(work, "truncated_bptt")


def gradient(signs: tuple[int, ...], u: Fraction, k: int) -> Fraction:
    """d/du (x_1 - h_T)^2 for one sequence, the last k uses of u counted, by the definition."""
    states = [Fraction(0)]
    for sign in signs:
        states.append(u * states[-1] + sign)
    last = len(signs)
    derivative = sum((u**j * states[last - 1 - j] for j in range(min(k, last))), Fraction(0))
    return -2 * (signs[0] - states[-1]) * derivative


@pytest.mark.parametrize(("u", "length", "k"), [("1/2", 6, 2), ("-1/3", 4, 1), ("3/2", 5, 3), ("1", 3, 9)])
def test_the_bias_is_exact(u: str, length: int, k: int) -> None:
    sequences = list(itertools.product((-1, 1), repeat=length))
    full = sum((gradient(s, Fraction(u), length) for s in sequences), Fraction(0)) / len(sequences)
    cut = sum((gradient(s, Fraction(u), k) for s in sequences), Fraction(0)) / len(sequences)
    _, found = worked(memory=u, length=length, steps=k)
    assert found["scalar"] == {"full": full, "truncated": cut, "bias": cut - full}


def test_the_default_bias() -> None:
    # T = 6, u = 1/2: 2 (1/2 + 2/8 + 3/32 + 4/128 + 5/512) - 2 * 5/16 = 293/256; cut after 2:
    # 2 (1/2 + 2/8 + 2/32 + 2/128 + 2/512) - 2 * 2/16 = 181/128.
    _, found = worked()
    assert found["scalar"] == {
        "full": Fraction(293, 256),
        "truncated": Fraction(181, 128),
        "bias": Fraction(69, 256),
    }


def test_one_step_takes_the_state_before_as_a_constant() -> None:
    fields: dict[str, Any] = {"w": [[1, 2], [0, 1]], "u": [[1, -1], [2, 1]], "v": [[1, 1]], "steps": 1}
    inputs, targets = [[1, 0], [1, 1], [0, 1]], [[1], [0], [1]]
    _, found = worked(**fields, inputs=inputs, targets=targets)
    w, u, v = (torch.tensor(fields[name], dtype=torch.float64, requires_grad=True) for name in "wuv")
    state, loss = torch.zeros(2, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    for x, z in zip(torch.tensor(inputs, dtype=torch.float64), torch.tensor(targets), strict=True):
        state = torch.sigmoid(w @ x + u @ state.detach())
        loss = loss + (z - v @ state).square().sum()
    for name, expected in zip("wuv", torch.autograd.grad(loss, (w, u, v)), strict=True):
        assert torch.tensor(found["gradients"][name], dtype=torch.float64).sub(expected).abs().max() < 1e-12


def test_a_window_over_the_whole_sequence_has_no_error() -> None:
    _, found = worked(steps=6)
    assert found["relative_error"] == 0


def test_the_relative_error_is_that_of_the_whole_gradient() -> None:
    def vector(steps: int) -> torch.Tensor:
        gradients = worked(steps=steps)[1]["gradients"]
        return torch.cat([torch.tensor(gradients[name], dtype=torch.float64).flatten() for name in "wuv"])

    error = (vector(2) - vector(6)).norm() / vector(6).norm()
    assert worked()[1]["relative_error"] == pytest.approx(float(error), rel=1e-12)
    assert 0.4 < error < 0.5


def test_the_copy_task_is_learnt_with_the_whole_gradient_only() -> None:
    steps, _ = worked()
    assert steps[-1].value["full"] < 0.05
    assert steps[-1].value["truncated"] > 0.2  # always answering 1/2 costs 0.25


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": 0}, "steps must be greater than or equal to 1"),
        ({"u": [[1]]}, "u is 1 x 1: it needs H x H with H = 2 as in w"),
        ({"inputs": [[1, 0]]}, "targets is 6 x 1: it needs T x O with T = 1 as in inputs"),
        ({"memory": 3}, "memory is 3: needs a number from -2 to 2"),
        ({"length": 40}, "length must be less than or equal to 12"),
        ({"inputs": [], "targets": []}, "inputs is 0 x 0: it needs T x I with T from 1 to 32"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
