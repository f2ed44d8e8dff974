"""The linear autoencoder against data built from known axes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.linear_autoencoder import Question

answer = answer_of("linear_autoencoder")


def test_the_default_data_have_the_eigenvalues_they_were_built_with() -> None:
    # X = U diag(9, 6, 3) H: U = axes / 3 is orthogonal, H the rows of a Hadamard matrix that sum to 0.
    axes = np.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]])
    signs = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
    assert (axes @ np.diag([9, 6, 3]) @ signs // 3).tolist() == [
        [int(x) for x in row] for row in Question().data
    ]
    found = answer()
    assert found["eigenvalues"] == [81, 36, 9]
    assert found["minimum"] == 9
    # the projector leaves out the third axis (2, -1, 2) / 3
    left_out = [2, -1, 2]
    expected = [[(i == j) - Fraction(left_out[i] * left_out[j], 9) for j in range(3)] for i in range(3)]
    assert found["projector"] == expected
    assert found["pca_gap"] == 0


def test_the_gradients_carry_the_factor_two_over_n() -> None:
    # at W1 = (I 0)/2, W2 = W1': E = X - W2 W1 X is 3/4 of the first two rows of X and all of the third
    x = np.array([[6, 6, -10, -2], [9, 3, -1, -11], [3, -9, 5, 1]])
    w1 = np.array([[0.5, 0, 0], [0, 0.5, 0]])
    error = x - w1.T @ w1 @ x
    found = answer()
    assert found["gradients"]["start"]["w2"] == (-2 / 4 * error @ x.T @ w1.T).tolist()
    assert found["gradients"]["start"]["w1"] == (-2 / 4 * w1 @ error @ x.T).tolist()
    assert np.abs(found["gradients"]["principal"]["w1"]).max() == 0


def test_every_set_of_eigenvectors_is_stationary_and_all_but_one_are_saddles() -> None:
    steps, _ = work("linear_autoencoder")
    figure = steps[-1].figure
    assert figure is not None
    assert figure.model_dump()["values"] == (9, 36, 81)  # u1 u2, u1 u3, u2 u3: what is left out
    assert steps[-1].value == -2 * (36 - 9)


def test_irrational_eigenvalues_are_floats() -> None:
    # S = [[14, 4], [4, 5]] / 3 has the eigenvalues (19 +- sqrt(145)) / 6
    found = answer(data=[[1, 2, 3], [2, 1, 0]], latent=1)
    assert found["eigenvalues"] == pytest.approx(
        [(19 + math.sqrt(145)) / 6, (19 - math.sqrt(145)) / 6], rel=1e-12
    )
    assert found["minimum"] == pytest.approx((19 - math.sqrt(145)) / 6, rel=1e-12)


def test_fewer_samples_than_features() -> None:
    found = answer(data=[[1, 2], [3, 4], [5, 7]], latent=2)
    assert found["minimum"] == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": [[1, 2], [3]]}, "data has rows of 1 or 2 entries: it needs m x n, rows of one length"),
        ({"data": [[1, 2]]}, "data is 1 x 2: it needs m x n with m from 2 to 16"),
        ({"latent": 3}, "latent is 3, it must be smaller than the 3 features of data"),
        ({"latent": 0}, "latent must be greater than or equal to 1"),
        (
            {"data": [[1, -1, 0, 0], [0, 0, 1, -1]], "latent": 1},
            "data has the eigenvalue 0.5 at places 1 and 2",
        ),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_own_starting_matrices() -> None:
    # S = diag(4, 1), W1 = (1 0), W2 = (0 1)': W2 W1 S = [[0, 0], [4, 0]]
    start = {"start_w1": [[1, 0]], "start_w2": [[0], [1]]}
    found = answer(data=[[2, -2], [1, 1]], latent=1, **start)["gradients"]["start"]
    assert found == {"w1": [[8, -2]], "w2": [[-8], [8]]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start_w1": [[1, 0, 0]]}, "start_w1 has latent size 1: it needs 2, as latent says"),
        ({"start_w2": [[1], [0], [0]]}, "start_w2 has latent size 1: it needs 2, as latent says"),
        ({"start_w1": [[1, 0], [0, 1]]}, "it needs k x m with m = 3 as in data"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
