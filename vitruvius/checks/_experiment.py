"""Experiments on a copy of a network in eval mode: change the input, see what moves in the output."""

import copy
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from vitruvius.checks import Example, first_tensor
from vitruvius.nn.seeding import torch_seeded

OWN = str(Path(__file__).parent)
LIBRARIES = (
    str(Path(torch.__file__).parent),
    sysconfig.get_path("stdlib"),
    "site-packages",
    "dist-packages",
    "<frozen",
)
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
        with torch.no_grad(), torch_seeded(0):
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


class Moving(NamedTuple):
    """Where a part of a network that must stay begins to move."""

    module: str  # the module whose output moves; empty if it is the network itself
    where: str  # the line that calls the first module whose output moves
    between: bool  # what that module is given moves already: an operation before it is to blame


def first_moving(
    specimen: Specimen, changed: Tensor, part: Callable[[Tensor], Tensor | None]
) -> Moving | None:
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
            between = moves(one.given, two.given)
            return Moving(
                one.name.rpartition(".")[0] if between else one.name, next(iter(one.lines), ""), between
            )
    return None


def user_line() -> str:
    """`file:line` of the user's code that runs inside an experiment, the innermost; empty if none does."""
    return next(iter(_user_lines()), "")


def _user_lines() -> list[str]:
    """The lines of the user's code that run inside an experiment, the innermost first."""
    found: list[str] = []
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    while frame is not None and not frame.f_code.co_filename.startswith(OWN):  # up to the experiment itself
        if not any(part in frame.f_code.co_filename for part in LIBRARIES):
            found.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        frame = frame.f_back
    return found if frame is not None else []


def call_line(specimen: Specimen, wanted: Callable[[str, nn.Module], bool]) -> str:
    """The line of the network's own forward that leads to the first module of a kind; empty if none does."""
    modules = dict(specimen.model.named_modules())
    made = [call for call in _calls(specimen, specimen.x) if wanted(call.name, modules[call.name])]
    return next((call.lines[-1] for call in made if call.lines), "")


class _Call(NamedTuple):
    name: str
    given: Tensor | None
    output: Tensor
    lines: list[str]  # of the user's code that called it, the innermost first


def _calls(specimen: Specimen, x: Tensor) -> list[_Call]:
    """What the modules inside are given and return, in the order in which they end."""
    found: list[_Call] = []

    def note(name: str, module: nn.Module, args: Any, output: Any) -> None:
        given, tensor = first_tensor(args), first_tensor(output)
        if tensor is not None and tensor.dim():
            kept = None if given is None or not given.dim() else given.detach().clone()
            found.append(_Call(name, kept, tensor.detach().clone(), _user_lines()))

    inner = [(name, module) for name, module in specimen.model.named_modules() if name]
    handles = [module.register_forward_hook(partial(note, name)) for name, module in inner]
    try:
        specimen.output(x)
    finally:
        for handle in handles:
            handle.remove()
    return found
