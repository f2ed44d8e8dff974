"""Experiments on a copy of a network in eval mode: change the input, see what moves in the output."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from vitruvius.checks import Example, first_tensor

MOVED = 1e-4  # relative change of an output that counts as a change


class Specimen:
    """A copy of a trained network in eval mode, with the first tensor of its example batch."""

    def __init__(self, example: Example) -> None:
        self.example = example
        model: Any = example.model
        if type(model).__name__ == "DistributedDataParallel":  # its process group may be gone
            model = model.module
        self.model: nn.Module = copy.deepcopy(model).eval()
        assert example.x is not None
        self.x = example.x

    def output(self, x: Tensor) -> Tensor:
        """What the network returns for an input (the first tensor of several), with a fixed random seed."""
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            value = self.example.called(self.model, x)
        found = main_output(value)
        if found is None:
            raise TypeError(f"the network returns {type(value).__name__}, no tensor")
        return found.detach()

    def is_steady(self) -> bool:
        """Whether the same input gives the same finite output twice."""
        first = self.output(self.x)
        return bool(torch.isfinite(first).all()) and not moved(first, self.output(self.x))


def main_output(value: Any) -> Tensor | None:
    """The first tensor that a network returns that is no single number, as a loss inside it is."""
    if isinstance(value, dict | list | tuple):
        parts = [main_output(part) for part in (value.values() if isinstance(value, dict) else value)]
        found = [part for part in parts if part is not None]
        return next((part for part in found if part.dim()), next(iter(found), None))
    return first_tensor(value)


def specimens(examples: list[Example], fits: Callable[[Example], bool]) -> list[Specimen]:
    """Copies of the networks with a batch of several rows that fit."""
    plain = [example for example in examples if example.rows > 1]
    return [Specimen(example) for example in plain if fits(example)]


def moved(a: Tensor, b: Tensor) -> bool:
    """Whether two outputs differ by more than rounding."""
    return float((a.float() - b.float()).abs().max()) > MOVED * (float(a.float().abs().max()) + 1e-6)


def first_module(specimen: Specimen, changed: Tensor, part: Callable[[Tensor], Tensor | None]) -> str:
    """The first module whose output moves in a part that must stay, when the input is changed.

    If what that module is given has moved already, an operation between modules does it: then the module
    around it is named, and nothing if that is the network itself.
    """

    def moves(one: Tensor | None, two: Tensor | None) -> bool:
        kept, now = (None if tensor is None else part(tensor) for tensor in (one, two))
        return kept is not None and now is not None and kept.shape == now.shape and moved(kept, now)

    before, after = _calls(specimen, specimen.x), _calls(specimen, changed)
    for one, two in zip(before, after, strict=False):
        if moves(one.output, two.output):
            return one.name.rpartition(".")[0] if moves(one.given, two.given) else one.name
    return ""


class _Call(NamedTuple):
    name: str
    given: Tensor | None
    output: Tensor


def _calls(specimen: Specimen, x: Tensor) -> list[_Call]:
    """What the modules inside are given and return, in the order in which they end."""
    found: list[_Call] = []

    def note(name: str, module: nn.Module, args: Any, output: Any) -> None:
        given, tensor = first_tensor(args), first_tensor(output)
        if tensor is not None and tensor.dim():
            kept = None if given is None or not given.dim() else given.detach().clone()
            found.append(_Call(name, kept, tensor.detach().clone()))

    inner = [(name, module) for name, module in specimen.model.named_modules() if name]
    handles = [module.register_forward_hook(partial(note, name)) for name, module in inner]
    try:
        specimen.output(x)
    finally:
        for handle in handles:
            handle.remove()
    return found
