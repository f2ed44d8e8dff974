"""The size of a convolution, counted by hand."""

from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.blocks import Heatmap
from vitruvius.core.errors import UserError
from vitruvius.lessons import Step
from vitruvius.lessons.convolution import Question, solve

answer = answer_of("convolution")


def test_an_image_by_hand() -> None:
    # 8 filters of 4 x 4 x 3 and a bias each; windows start at 0, 2, ..., 24: 13 of them.
    assert answer().fields == {"weights": 384, "biases": 8, "parameters": 392, "output": [13, 13, 8]}


def test_a_signal_by_hand() -> None:
    # 8 filters of 4 x 1; windows start at 0, 2, ..., 196: 99 of them.
    assert answer(shape=[200, 1]).fields == {"weights": 32, "biases": 8, "parameters": 40, "output": [99, 8]}


def test_padding_dilation_and_a_stride_that_does_not_come_out_even() -> None:
    # Rows: 20 + 2 places, a span of 5, starts 0, 3, ..., 15 (6 of them, 2 places unread).
    # Columns: 30 + 4 places, a span of 9, starts 0, 3, ..., 24 (9 of them).
    found = answer(
        shape=[20, 30, 2], kernel=[3, 5], stride=3, padding=[1, 2], dilation=2, filters=7, bias=False
    )
    assert found.fields == {"weights": 210, "biases": 0, "parameters": 210, "output": [6, 9, 7]}


def test_the_channels_of_a_filter_may_be_written() -> None:
    assert answer(kernel=[4, 4, 3]) == answer()
    assert answer(shape=[200, 1], kernel=[4, 1]) == answer(shape=[200, 1])


def test_the_figure_counts_how_often_a_place_is_read() -> None:
    steps = [step for step in solve(Question(shape=[5, 1], kernel=3, stride=2)) if isinstance(step, Step)]
    figure = next(step.figure for step in steps if step.figure)
    assert isinstance(figure, Heatmap)
    assert figure.values == ((1.0, 1.0, 2.0, 1.0, 1.0),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shape": [28]}, "shape has 1 entry: it needs [length, channels] or [height, width, channels]"),
        ({"shape": [3, 3, 1]}, "kernel spans 4 places, axis 0 of shape has 3 and 0 of padding"),
        ({"kernel": [4, 4, 2]}, "kernel has [4, 4, 2]: it needs one number or 2"),
        ({"stride": [1, 1, 1]}, "stride has [1, 1, 1]: it needs one number or 2"),
        ({"filters": 0}, "filters must be greater than or equal to 1"),
    ],
)
def test_an_impossible_layer_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_the_right_answer_is_not_called_a_mistake() -> None:
    said = " ".join(step.says for step in solve(Question(shape=(200, 1))) if isinstance(step, Step))
    assert "would give 40" not in said
    assert "The input has one channel" in said
