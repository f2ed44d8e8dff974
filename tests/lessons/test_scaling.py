"""Mean and variance of a dot product against enumeration and hand calculation."""

from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import pytest
from scipy.stats import ncx2

from tests.lessons.solving import answer_of
from vitruvius.core.blocks import Lines
from vitruvius.core.errors import UserError
from vitruvius.lessons import Step
from vitruvius.lessons.scaling import Question, solve

answer = answer_of("scaling")


def moments(mean: Fraction, sigma: Fraction) -> tuple[Fraction, Fraction]:
    """Of the product of two variables that are mean + sigma or mean - sigma: its first two moments are the
    normal's.
    """
    values = [a * b for a, b in product((mean + sigma, mean - sigma), repeat=2)]
    expectation = sum(values, Fraction(0)) / 4
    return expectation, sum(((value - expectation) ** 2 for value in values), Fraction(0)) / 4


def test_standard_normal_entries_need_the_root_of_the_dimension() -> None:
    assert answer().fields == {"expectation": 0, "variance": 64, "scale": 8}
    assert answer(dim=3)["scale"] == pytest.approx(sqrt(3), rel=1e-12)


def test_a_mean_and_a_deviation() -> None:
    # The variance of a product of independent variables depends on their first two moments only.
    expectation, variance = moments(Fraction(1, 2), Fraction(2))
    found = answer(mean="1/2", sigma=2, dim=3)
    assert found["expectation"] == 3 * expectation == Fraction(3, 4)
    assert found["variance"] == 3 * variance == 54
    assert found["scale"] == pytest.approx(sqrt(54), rel=1e-12)


def test_a_vector_of_means_brings_its_own_dimension() -> None:
    parts = [moments(Fraction(mean), Fraction(1)) for mean in (1, 2, -1)]
    found = answer(mean=[1, 2, -1])
    assert found["expectation"] == sum(part[0] for part in parts) == 6
    assert found["variance"] == sum(part[1] for part in parts) == 15


def test_softmax_saturates_without_scaling_and_does_not_with_it() -> None:
    steps = [step for step in solve(Question()) if isinstance(step, Step)]
    curves = {step.figure.y_label: step.value for step in steps if isinstance(step.figure, Lines)}
    assert curves["largest weight"]["without scaling"][-1] > 0.9
    assert max(curves["largest weight"]["with scaling"]) < 0.3
    assert curves["gradient"]["without scaling"][-1] < 0.1 < curves["gradient"]["with scaling"][-1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mean": -2000, "sigma": 1}, "mean has 2000: it needs at most 1000 sigma, 1000"),
        ({"mean": [1, 2], "dim": 3}, "mean has 2 entries: it needs one number or 3"),
        ({"mean": []}, "dim must be greater than or equal to 1"),
        ({"sigma": 0}, "sigma is 0: it needs a number above 0"),
        ({"dim": 10**9}, "dim must be less than or equal to 4096"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_wide_entries_are_proved_as_well() -> None:
    assert answer(sigma=10**9)["scale"] == 8 * 10**18


def test_the_trace_identity_is_written_out() -> None:
    steps = [step for step in solve(Question(mean=[1, 2], sigma=3)) if isinstance(step, Step)]
    assert any(r"E[\mathrm{tr}(k k^T q q^T)] = \mathrm{tr}(E[k k^T]" in step.formula for step in steps)


def test_a_query_that_is_its_own_key_has_twice_the_variance_and_a_mean() -> None:
    steps = [step for step in solve(Question(mean=[1, 2], sigma=3)) if isinstance(step, Step)]
    # |q|^2 / 9 is a noncentral chi-squared variable of 2 degrees of freedom
    mean, variance = ncx2.stats(2, 5 / 9, scale=9)
    assert {"own": mean, "own_variance": variance} in [step.value for step in steps]
