"""Experiments on a copy of a network in eval mode: change the input, see what moves in the output."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from vitruvius.checks import Example

MOVED = 1e-4
"""Relative change of an output that counts as a change."""


class Specimen:
    """A copy of a trained network in eval mode, with the first tensor of its example batch."""

    def __init__(self, example: Example) -> None:
        self.example = example
        self.model = copy.deepcopy(example.model).eval()
        self.x: Tensor = example.args[0]

    def output(self, x: Tensor) -> Tensor:
        """What the network makes of an input; the first tensor if it gives several, always from the same chance."""
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            value = self.model(x, *self.example.args[1:], **self.example.kwargs)
        return first_tensor(value).detach()

    def is_steady(self) -> bool:
        """Whether the same input gives the same finite output twice."""
        first = self.output(self.x)
        return bool(torch.isfinite(first).all()) and not moved(first, self.output(self.x))


def specimens(examples: list[Example], fits: Callable[[Example], bool]) -> list[Specimen]:
    """Copies of the networks whose first input is a tensor with rows, and that fit."""
    plain = [
        found
        for found in examples
        if found.args and isinstance(found.args[0], Tensor) and found.args[0].dim()
    ]
    return [Specimen(found) for found in plain if len(found.args[0]) > 1 and fits(found)]


def first_tensor(value: Any) -> Tensor:
    """What a network gives back, or the first tensor in it."""
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    if not isinstance(value, Tensor):
        raise TypeError(f"the network returns {type(value).__name__}, no tensor")
    return value


def moved(a: Tensor, b: Tensor) -> bool:
    """Whether two outputs differ by more than rounding."""
    return float((a.float() - b.float()).abs().max()) > MOVED * (float(a.float().abs().max()) + 1e-6)
