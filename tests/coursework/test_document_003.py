"""The questions of document 003: each value derived here, independently of the lesson that answers it."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from vitruvius import lessons
from vitruvius.lessons import Answer, Step


def worked(name: str, **fields: Any) -> tuple[list[Step], Answer]:
    lesson = lessons.get(name)
    *steps, answer = lesson.solve(lesson.Question(**fields))
    assert isinstance(answer, Answer)
    return [step for step in steps if isinstance(step, Step)], answer


X = np.array([[6.0, 6, -10, -2], [9, 3, -1, -11], [3, -9, 5, 1]])
W1 = np.array([[0.5, 0, 0], [0, 0.5, 0]])


def loss(w1: Any, w2: Any) -> float:
    return float(((X - w2 @ w1 @ X) ** 2).sum()) / X.shape[1]


def slope(function: Any, at: Any) -> Any:
    """Central differences: exact up to rounding, for the loss is a parabola in each entry."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 0.5
        found[place] = function(at + step) - function(at - step)
    return found


def test_1b_i_the_gradients_with_their_factors() -> None:
    _, found = worked("linear_autoencoder")
    start = found["gradients"]["start"]
    np.testing.assert_allclose(
        np.array(start["w1"], dtype=float), slope(lambda w: loss(w, W1.T), W1), atol=1e-10
    )
    np.testing.assert_allclose(
        np.array(start["w2"], dtype=float), slope(lambda w: loss(W1, w), W1.T), atol=1e-10
    )


def test_1b_ii_principal_components_are_a_minimum_that_is_not_unique() -> None:
    # X was built with variances 81, 36, 9 along (2, 2, -1)/3, (-1, 2, 2)/3, (2, -1, 2)/3
    axes = np.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3
    kept = axes[:, :2]
    _, found = worked("linear_autoencoder")
    assert np.abs(slope(lambda w: loss(w, kept), kept.T)).max() < 1e-10
    assert found["gradients"]["principal"] == {"w1": [[0] * 3] * 2, "w2": [[0] * 2] * 3}
    assert loss(kept.T, kept) == pytest.approx(float(found["minimum"])) == 9
    np.testing.assert_allclose(np.array(found["projector"], dtype=float), kept @ kept.T, atol=1e-15)
    # no signs, but any invertible G
    bend = np.array([[2.0, 1], [0, 2]])
    assert loss(np.linalg.inv(bend) @ kept.T, kept @ bend) == pytest.approx(9)
    # the same conditions hold at the other pairs of axes, with higher losses: saddles
    others = [loss(axes[:, pair].T, axes[:, pair]) for pair in map(list, combinations(range(3), 2))]
    assert others == pytest.approx([9, 36, 81])


def test_2a_the_exact_recipe() -> None:
    # lambda = 1/4 in 3 dimensions: nn.MSELoss is a third of the squared error, weight decay w adds w/2 |W|^2
    recipe = worked("regularised_autoencoder")[0][-2].value
    x, guess = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3)
    assert torch.nn.MSELoss()(guess, x) * 3 == torch.nn.MSELoss(reduction="sum")(guess, x) == 14
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    weight.grad = torch.zeros(1)
    torch.optim.SGD([weight], lr=1.0, weight_decay=0.5).step()
    assert weight.item() == 1 - 2 * 0.25  # the gradient of lambda w^2 at 1
    assert recipe["weight_decay"] == Fraction(1, 2)
    assert recipe["layers"].count("nn.Linear") == recipe["layers"].count("bias=False") == 2
    assert "reduction='sum'" in recipe["loss"]
    assert "SGD" in recipe["optimiser"]


def test_2b_orthonormal_only_in_the_limit() -> None:
    # each direction: 9 (1 - s^2)^2 + 2/4 s^2 is least at s^2 = 1 - 1/36, 4 (1 - s^2)^2 + ... at 1 - 1/16
    _, found = worked("regularised_autoencoder")
    grid = np.linspace(0, 1.2, 1_200_001)
    for variance, size in zip((9, 4), found["singular_values"], strict=True):
        costs = variance * (1 - grid**2) ** 2 + grid**2 / 2
        assert size == pytest.approx(grid[costs.argmin()], abs=1e-6)
    assert found["orthonormality"] == Fraction(1, 16)
    assert worked("regularised_autoencoder", weight="1/800")[1]["orthonormality"] == Fraction(1, 3200)


def test_3_the_variance_is_d_and_the_scale_its_root() -> None:
    # Var of a product of two independent standard normals is 1; d of them add up to d, not d^2
    _, found = worked("scaling", mean=0, sigma=1, dim=64)
    assert (found["expectation"], found["variance"], found["scale"]) == (0, 64, 8)
    # mu = (1, 2), sigma = 3: |mu|^2 = 5, 2 * 9 * 5 + 2 * 81
    _, found = worked("scaling", mean=[1, 2], sigma=3)
    assert (found["expectation"], found["variance"]) == (5, 252)


def test_4a_argmax_attention() -> None:
    _, found = worked("argmax_attention")
    assert found["scores"] == [1 * 1 + 1 * 2, 1 * 3 + 2 * 4, 5, 2]
    assert found["output"] == [1, 4, 3]


def test_4b_only_the_chosen_value_learns() -> None:
    _, found = worked("argmax_attention")
    assert found["gradients"]["query"] == [0] * 3
    assert found["gradients"]["keys"] == [[0] * 3] * 4
    assert found["gradients"]["values"] == [[0] * 3, [1] * 3, [0] * 3, [0] * 3]
    # until key 3 draws level: 6 ahead, the keys (0, 3, 4) and (5, 0, 0) sqrt(50) apart
    assert found["margin"] == pytest.approx(6 / math.sqrt(50), rel=1e-12)


def test_5a_one_sign_is_neither_enough_nor_needed() -> None:
    steps, _ = worked("kernel_attention")
    assert steps[0].value == pytest.approx(
        7 - 5 * math.sqrt(2)
    )  # signs differ, no sum of 1 and -sqrt(2) is ever 0
    # (q.k + 1)^2 >= 0 has one sign, yet q.k = -1 with every key leaves nothing to divide by
    _, found = worked("kernel_attention", q=[[1, 0]], k=[[-1, 2], [-1, 5]], v=[[1], [5]])
    assert found["similarity"] == [[0, 0]]


def test_5b_the_quadratic_kernel_its_features_and_the_output() -> None:
    queries, keys, values = [(1, 0), (0, 1), (1, -1)], [(1, 1), (0, -1), (2, 0)], [(1, 0), (0, 1), (2, 2)]
    _, found = worked("kernel_attention")
    for i, q in enumerate(queries):
        similar = [(q[0] * k[0] + q[1] * k[1] + 1) ** 2 for k in keys]
        assert found["similarity"][i] == similar
        sums = (sum(s * v[e] for s, v in zip(similar, values, strict=True)) for e in (0, 1))
        assert found["output"][i] == [Fraction(total, sum(similar)) for total in sums]
        root = math.sqrt(2)
        phi = [1, root * q[0], root * q[1], q[0] ** 2, q[1] ** 2, root * q[0] * q[1]]
        assert found["features"]["q"][i] == pytest.approx(phi, rel=1e-15)


def test_5c_softmax_costs() -> None:
    # N^2 (D + M) multiply-adds; Q, K, V and the N^2 weights are kept
    _, found = worked("kernel_attention", tokens=1000, dim=64)
    assert found["multiply_adds"]["softmax"] == 1000**2 * (64 + 64)
    assert found["kept"]["softmax"] == 1000**2 + 3 * 1000 * 64


def test_5d_kernel_costs_and_both_crossovers() -> None:
    # C = (D + 1)(D + 2)/2 = 2145 features; U and z by one product of N x C with N x (D + 1), read by another
    _, found = worked("kernel_attention", tokens=1000, dim=64)
    assert found["multiply_adds"]["features"] == 2 * 1000 * 2145 * 65
    # phi(Q) and phi(K) are kept as well: 2 N C, which the count of Q, K, V and U leaves out
    assert found["kept"]["features"] == 2 * 1000 * 2145 + 2 * 1000 * 65 + 2145 * 65
    for field, length in found["crossovers"].items():
        costs = [worked("kernel_attention", tokens=n, dim=64)[1][field] for n in (length - 1, length)]
        assert [cost["features"] < cost["softmax"] for cost in costs] == [False, True]


def test_6a_gradients_by_depth_and_the_remedy() -> None:
    # nn.Linear starts with variance 1/(3 D): a plain relu layer passes on 1/6 of the gradient's square, a
    # skip 7/6
    _, found = worked("depth", gain="1/3", rate=0.001)
    assert found["theory"]["plain"]["56"][0] == pytest.approx(6 ** -(55 / 2), rel=1e-12)
    assert found["theory"]["residual"]["56"][0] == pytest.approx((7 / 6) ** (55 / 2), rel=1e-12)
    assert 0.1 < found["measured"]["plain"]["56"][0] / 6 ** -(55 / 2) < 10
    assert found["loss"]["plain"]["56"] == pytest.approx(math.log(4), abs=1e-6)  # guessing among four classes
    assert found["loss"]["residual"]["56"] < 0.1


def test_6b_batch_norm_does_not_pass_and_layer_norm_does() -> None:
    _, found = worked("accumulation")
    for row in found["table"]:
        passes = row["norm"] == "layer" or row["batch"] == 32
        assert (row["logits"] == 0 and row["gradient"] == 0) == passes
    assert [row["batch"] for row in found["table"][:6]] == [1, 2, 4, 8, 16, 32]
    assert found["guilty"] == {"batch": ["norm1", "norm2"], "layer": []}


def test_6c_the_bug_is_momentum_one_and_the_patch_moves_a_line() -> None:
    _, found = worked("zero_grad")
    weight, velocity, expected = 1.0, 0.0, [1.0]
    for _ in range(8):
        velocity += 500 * weight
        weight -= 0.001 * velocity
        expected.append(weight)
    assert [float(w) for w in found["iterates"]["without"]] == pytest.approx(expected)
    assert [float(w) for w in found["iterates"]["with"]] == [0.5**t for t in range(9)]
    patched = [line[1:] for line in found["patch"].splitlines() if line[0] != "-"]
    assert patched[:3] == [
        "model.train()",
        "for inputs, labels in training_set:",
        "    optimizer.zero_grad()",
    ]
