"""Patches by hand."""

from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.patches import Question

answer = answer_of("patches")


def test_a_digit_of_28_by_28_pixels_in_patches_of_7() -> None:
    found = answer()
    assert found["tokens"] == 16
    assert [len(patch) for patch in found["patches"]] == [49] * 16
    # Pixels are numbered in reading order: patch 6 (row 1, column 1) starts at row 7, column 7.
    assert found["patches"][5][:8] == [203, 204, 205, 206, 207, 208, 209, 231]
    assert sorted(pixel for patch in found["patches"] for pixel in patch) == list(range(784))


def test_a_matrix_that_is_not_square() -> None:
    found = answer(image=[[1, 2, 3, 4], [5, 6, 7, "1/2"]], patch=2)
    assert found["patches"] == [[1, 2, 5, 6], [3, 4, 7, Fraction(1, 2)]]
    assert found["tokens"] == 2


def test_channels_come_one_after_the_other_and_the_class_token_counts() -> None:
    found = answer(image=[[[1, 2], [3, 4]], [[5, 6], [7, 8]]], patch=1, class_token=True)
    assert found["patches"] == [[1, 5], [2, 6], [3, 7], [4, 8]]
    assert found["tokens"] == 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"patch": 5}, "patch 5 does not divide the 28 rows of the image"),
        ({"image": [[1, 2, 3]], "patch": 1, "class_token": 3}, "class_token needs true or false"),
        ({"image": [[1, 2], [3]], "patch": 1}, "image has rows of 1 or 2 entries: it needs C x H x W"),
        ({"image": [[[1]], [[1, 2]]], "patch": 1}, "image has rows of 1 or 2 entries: it needs C x H x W"),
        ({"image": []}, "image is 1 x 0 x 0: it needs C x H x W with H from 1 to 64"),
        ({"image": 1000}, "image must be less than or equal to 64"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
