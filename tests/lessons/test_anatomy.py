"""Networks part by part, against published sizes and sums by hand."""

from typing import Any

import pytest

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.anatomy import Question

answer = answer_of("anatomy")


def test_the_base_model_has_its_published_size() -> None:
    # 86,567,656 is the published count of ViT-B/16 with 1000 classes.
    found = answer()
    assert found["parameters"] == 86_567_656
    assert len(found["layers"]) == 3 + 2 * 12 + 2
    assert found["macs"] == sum(layer["macs"] for layer in found["layers"])


def test_a_tiny_network_by_hand() -> None:
    # 4 x 4 pixels in 4 patches of 4, width 6, one layer of 2 heads of 3, 5 hidden units, 3 classes.
    arch = {"image": 4, "patch": 2, "width": 6, "depth": 1, "heads": 2, "mlp": 5, "classes": 3}
    found = answer(arch={**arch, "class_token": False, "pooling": "mean"})
    assert found["layers"] == [
        {"name": "patches", "shape": [4, 6], "parameters": 4 * 6 + 6, "macs": 4 * 4 * 6},
        {"name": "positions", "shape": [4, 6], "parameters": 24, "macs": 0},
        {
            "name": "layer 0 attention",
            "shape": [4, 6],
            "parameters": 12 + 3 * 36 + 36 + 6,  # norm, q k v without bias, output map with one
            "macs": 4 * 4 * 36 + 2 * 4 * 4 * 6,  # four maps of 4 tokens, then 16 pairs twice
        },
        {"name": "layer 0 mlp", "shape": [4, 6], "parameters": 12 + 30 + 5 + 30 + 6, "macs": 4 * 60},
        {"name": "norm", "shape": [4, 6], "parameters": 12, "macs": 0},
        {"name": "head", "shape": [3], "parameters": 21, "macs": 18},
    ]


def test_presets_go_by_name() -> None:
    assert answer(arch="mnist")["parameters"] == 892_938


def test_fixed_positions_have_no_parameters_and_are_told_apart_from_learned_ones() -> None:
    steps, found = work("anatomy", arch={"positions": "sinusoidal", "depth": 1})
    assert next(layer for layer in found["layers"] if layer["name"] == "positions")["parameters"] == 0
    assert "sines and cosines" in str(steps[1])


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        ("mnits", "no preset 'mnits': did you mean 'mnist'?"),
        ({"patch": 5}, "patch 5 does not divide image 28"),
        ({"widht": 5}, "did you mean 'width'?"),
        ({"depth": 65}, "arch has depth 65: it needs at most 64"),
        ({"width": 2**17, "heads": 1, "mlp": 2**20}, "does not fit"),
        (3, "arch must be a valid dictionary"),
    ],
)
def test_a_bad_network_is_refused(arch: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(arch=arch)
    assert message in str(caught.value)
