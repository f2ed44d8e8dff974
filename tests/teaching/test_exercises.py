"""Drawn exercises have no weight that leaves nothing to mix, wherever the lesson writes its weights."""

from random import Random

import pytest

from vitruvius.teaching import exercises

ONE_KEY_WINS = {"keys": [[9, 0, 0], [0, 9, 0], [1, 1, 1]]}


@pytest.mark.parametrize("lesson", ["attention", "masking", "transformer"])
def test_the_weights_of_a_lesson_are_found_under_every_name(lesson: str) -> None:
    assert exercises._largest_weights(lesson, {})


def test_a_saturated_softmax_is_drawn_again() -> None:
    assert exercises._largest_weights("masking", ONE_KEY_WINS)["masked_weights"] > exercises.SATURATED
    dice, taken = Random(0), set[str]()
    for _ in range(10):
        fields = exercises.draw("masking", dice, taken)
        assert exercises._largest_weights("masking", fields)["masked_weights"] <= exercises.SATURATED
