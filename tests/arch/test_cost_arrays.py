"""Prices of many networks at once are those of `cost.cost`, to the unit."""

import numpy as np
import pytest

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.arch.cost_arrays import Networks, costs

LIKES = [
    {},
    {"qkv_bias": True, "pooling": "mean", "dropout": 0.1},
    {"layer_scale": 1e-4, "qkv_bias": True},
    {"stem": (6,)},
    {"stem": (4, 6, 8)},
    {"class_token": False, "pooling": "mean", "positions": "none", "out_bias": False, "final_norm": "pooled"},
]


def drawn(fixed: dict[str, object], n: int = 60, deepest: int = 5) -> tuple[Networks, list[Arch]]:
    """Random networks as arrays and one by one; about half of them have layers that fold."""
    random = np.random.default_rng(0)
    like = Arch(image=32, channels=3, classes=7, patch=4, **fixed)
    draw = lambda *values: random.choice(values, (n, deepest))  # noqa: E731
    networks = Networks(
        like,
        random.choice([2, 4, 8, 16], n),
        random.choice([8, 24, 64], n),
        random.integers(1, deepest + 1, n),
        draw(1, 2, 3, 8),
        draw(4, 16, 64),
        draw(5, 64),
    )
    return networks, [Arch(**{**like.model_dump(), **networks.fields(index)}) for index in range(n)]


@pytest.mark.parametrize("fixed", LIKES)
def test_arrays_equal_the_closed_form_of_each_network(fixed: dict[str, object]) -> None:
    networks, archs = drawn(fixed)
    found = costs(networks)
    folded = 0
    for index, arch in enumerate(archs):
        one = cost.cost(arch)
        assert one.params == found.params_n[index]
        assert one.macs == found.macs_n[index]
        assert one.activation_bytes == found.activation_bytes_n[index]
        assert one.pass_macs == found.pass_macs_n[index]
        assert one.training_bytes(16) == found.training_bytes_n(16)[index]
        folded += one.pass_bytes > 0
    assert 0 < folded < len(archs)
