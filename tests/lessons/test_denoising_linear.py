"""The denoising autoencoder against data whose axes are known."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.denoising_linear import Question

answer = answer_of("denoising_linear")


def test_the_default_question() -> None:
    # variances 81, 36, 9 along the columns of axes / 3, noise variance 9: shares 9/10, 4/5, 1/2
    axes = [[2, -1, 2], [2, 2, -1], [-1, 2, 2]]
    shares = [Fraction(9, 10), Fraction(4, 5), Fraction(1, 2)]
    expected = [
        [
            sum(share * Fraction(axes[i][a] * axes[j][a], 9) for a, share in enumerate(shares))
            for j in range(3)
        ]
        for i in range(3)
    ]
    found = answer()
    assert found["map"] == expected
    assert found["minimum"] == Fraction(81, 10) + Fraction(36, 5) + Fraction(9, 2)


def test_a_bottleneck_drops_the_weakest_direction() -> None:
    found = answer(latent=2)
    assert found["minimum"] == pytest.approx(8.1 + 7.2 + 9, rel=1e-12)
    assert np.linalg.matrix_rank(np.array(found["map"])) == 2


def test_uncorrelated_features_shrink_one_by_one() -> None:
    # variances 2 and 1/2, noise variance 1: shares 2/3 and 1/3, errors 2/3 and 1/3
    found = answer(data=[[2, -2, 0, 0], [0, 0, 1, -1]], noise=1)
    assert found["map"] == [[Fraction(2, 3), 0], [0, Fraction(1, 3)]]
    assert found["minimum"] == 1


def test_the_assignments_population() -> None:
    # 20 directions of variance 10 and 80 of variance 1, noise 1/2, latent 20
    value = work("denoising_linear")[0][-1].value
    assert value["noisy"] == 80 + 20 * Fraction(10, 41)
    assert float(value["clean"]) == pytest.approx(80 + 200 * (0.25 / 10.25) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"noise": 0}, "noise is 0, it must be a positive standard deviation"),
        ({"latent": 4}, "latent is 4, it must be at most the 3 features of data"),
        ({"data": [[1], [2, 3]]}, "data has rows of 1 or 2 entries"),
        ({"data": [[1, -1, 0, 0], [0, 0, 1, -1]], "latent": 1}, "directions 1 and 2 both have variance 0.5"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
