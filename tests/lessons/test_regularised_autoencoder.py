"""Weight decay on a linear autoencoder against minima found direction by direction."""

import math
from fractions import Fraction
from typing import Any

import pytest
from scipy.optimize import minimize

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.regularised_autoencoder import Question

answer = answer_of("regularised_autoencoder")


def test_the_default_question() -> None:
    # sigma^2 = 9, 4 and lambda = 1/4: p = 35/36 and 15/16; 2 (2 lambda) - lambda^2 (1/9 + 1/4) + 1
    found = answer()
    assert found["singular_values"] == pytest.approx([math.sqrt(35) / 6, math.sqrt(15) / 4], rel=1e-14)
    assert (
        found["minimum"] == 1 - Fraction(1, 16) * (Fraction(1, 9) + Fraction(1, 4)) + 1 == Fraction(1139, 576)
    )
    assert found["orthonormality"] == Fraction(1, 16)


def test_a_direction_below_lambda_is_given_up() -> None:
    # 16 keeps 1 - 4/16 = 3/4 and costs 8 - 1; 1 is below 4 and costs itself
    found = answer(eigenvalues=[1, 16], latent=2, weight=4)
    assert found["singular_values"] == pytest.approx([math.sqrt(3) / 2, 0])
    assert found["minimum"] == 8
    assert found["orthonormality"] == 1


def test_a_rational_root_stays_a_fraction() -> None:
    assert answer(eigenvalues=[4, 1], latent=1, weight=3)["singular_values"] == [Fraction(1, 2)]


@pytest.mark.parametrize("weight", [0.3, 0.01])
def test_one_direction_by_numerical_minimisation(weight: float) -> None:
    def cost(de: Any) -> float:
        return 2 * (1 - de[0] * de[1]) ** 2 + weight * (de[0] ** 2 + de[1] ** 2)

    best = minimize(cost, [0.7, 1.4], tol=1e-14)
    found = answer(eigenvalues=[2], latent=1, weight=weight)
    assert float(found["minimum"]) == pytest.approx(best.fun, rel=1e-9)
    assert found["singular_values"][0] == pytest.approx(best.x[0], abs=1e-5)


def test_orthonormal_columns_are_a_limit() -> None:
    gaps = [answer(weight=f"1/{n}")["orthonormality"] for n in (10, 100_000)]
    assert gaps == [Fraction(1, 40), Fraction(1, 400_000)]


def test_the_recipe_and_what_it_reaches() -> None:
    steps, found = work("regularised_autoencoder")
    recipe, reached = steps[-2].value, steps[-1].value
    assert recipe["weight_decay"] == Fraction(1, 2)  # twice lambda
    assert "bias=False" in recipe["layers"]
    assert "sum" in recipe["loss"]
    assert reached["objective"] == pytest.approx(float(found["minimum"]), rel=1e-3)
    assert reached["singular_values"] == pytest.approx(found["singular_values"], abs=0.02)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"eigenvalues": [10**9, 1]},
            "eigenvalues and weight reach from 1/4 to 1000000000: at most a million times",
        ),
        ({"weight": 0}, "weight is 0, it must be positive"),
        ({"latent": 4}, "eigenvalues has 3 entries, it needs 4 (latent) to 16"),
        ({"eigenvalues": [1, -2, 3]}, "eigenvalues has -2: variances are not negative"),
        ({"eigenvalues": [0, 0]}, "not all 0"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
