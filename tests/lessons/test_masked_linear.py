"""The masked autoencoder against expectations over masks written out."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.masked_linear import Question

answer = answer_of("masked_linear")


def expected_error(linear: Any, data: Any, hidden: Fraction) -> Fraction:
    """By the definition: the mean over samples and masks of |x - W (b x)|^2."""
    total = Fraction(0)
    for sample in zip(*data, strict=True):
        for mask in product((0, 1), repeat=len(data)):
            chance = (1 - hidden) ** sum(mask) * hidden ** (len(mask) - sum(mask))
            seen = [b * x for b, x in zip(mask, sample, strict=True)]
            guess = [sum(w * s for w, s in zip(row, seen, strict=True)) for row in linear]
            total += chance * sum((x - g) ** 2 for x, g in zip(sample, guess, strict=True))
    return total / len(data[0])


def test_the_default_map_is_the_best_of_all_maps() -> None:
    found, data, hidden = answer(), Question().data, Fraction(1, 4)
    assert expected_error(found["map"], data, hidden) == found["minimum"]
    # the expected error is a parabola in every entry: at its minimum both sides cost the same, and more
    for i, j in product(range(3), repeat=2):
        sides = []
        for step in (Fraction(1, 100), Fraction(-1, 100)):
            changed = [list(row) for row in found["map"]]
            changed[i][j] += step
            sides.append(expected_error(changed, data, hidden))
        assert sides[0] == sides[1] > found["minimum"]


def test_two_equal_features_repair_each_other() -> None:
    # W is 2/3 everywhere: one feature seen rebuilds 2/3 of both, two seen overshoot by 1/3, none leaves 2
    found = answer(data=[[1, -1], [1, -1]], mask="1/2")
    assert found["map"] == [[Fraction(2, 3)] * 2] * 2
    assert found["minimum"] == Fraction(3, 4) * Fraction(2, 9) + Fraction(1, 4) * 2


def test_uncorrelated_features_cannot() -> None:
    found = answer(data=[[2, -2, 0, 0], [0, 0, 1, -1]])
    assert found["map"] == [[1, 0], [0, 1]]
    assert found["minimum"] == Fraction(1, 4) * (2 + Fraction(1, 2))


def test_a_bottleneck_costs_more() -> None:
    minima = [float(answer(latent=k)["minimum"]) for k in (1, 2, 3)]
    assert minima == sorted(minima, reverse=True)
    assert minima[1] == pytest.approx(
        float(expected_error(answer(latent=2)["map"], Question().data, Fraction(1, 4)))
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mask": 1}, "mask is 1, it must be a probability from 1/1000 to 999/1000"),
        ({"mask": 0}, "mask is 0"),
        ({"latent": 4}, "latent is 4, it must be at most the 3 features of data"),
        ({"data": [[1, 2], [0, 0]]}, "data has a row of zeros"),
        ({"data": [[1], [2, 3]]}, "data has rows of 1 or 2 entries"),
        ({"data": [[1, -1, 0, 0], [0, 0, 1, -1]], "latent": 1}, "axes 1 and 2 gain the same"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
