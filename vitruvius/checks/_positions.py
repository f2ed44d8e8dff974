"""Experiments with the order of tokens: does a network know it, and which tables does it look into?"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vitruvius.checks import Example
from vitruvius.checks._experiment import Specimen, moved, user_line


@dataclass(frozen=True, slots=True)
class Lookup:
    """A part of a table that a network has taken: of a parameter, of a buffer or by an embedding."""

    path: str
    where: str
    rows: int  # of the table
    index: Any  # a tensor of an embedding, or what stands in the brackets


def attends(example: Example) -> bool:
    """Whether a network has self-attention inside."""
    return any(is_attention(path, module) for path, module in example.model.named_modules())


def is_attention(path: str, module: nn.Module) -> bool:
    """Whether a module is called after attention, by its class or in its network."""
    name, attribute = type(module).__name__.lower(), path.rpartition(".")[2]
    by_class = "attention" in name or "attn" in name or "transformer" in name
    return by_class or "attn" in attribute or attribute == "att"


def order_kept(specimen: Specimen) -> str:
    """What can be shuffled in the input (tokens, patches) while the output stays; empty if nothing can."""
    before = specimen.output(specimen.x)
    if not moved(before, specimen.output(specimen.x.flip(0))):  # it says the same about every input
        return ""
    for example, what in _shuffled(specimen.example):
        other = copy.copy(specimen)
        other.example, other.x = example, first_input(example)
        if not moved(before, other.output(other.x)):
            return what
    return ""


def first_input(example: Example) -> Tensor:
    """The first input of an example that has one."""
    assert example.x is not None
    return example.x


def _shuffled(example: Example) -> Iterator[tuple[Example, str]]:
    """The input with its tokens, or with its square patches of any size, in another order."""
    x = example.x
    if x is None:
        return
    if x.dim() < 4:
        args = tuple(_flipped(value, x) for value in example.args)
        words = {name: _flipped(value, x) for name, value in example.kwargs.items()}
        yield replace(example, args=args, kwargs=words), "tokens"
        return
    height, width = x.shape[-2:]
    for side in range(2, min(height, width) // 2 + 1):
        if height % side == 0 and width % side == 0:
            turned = _patches_flipped(x, side)
            args = tuple(turned if value is x else value for value in example.args)
            words = {k: turned if value is x else value for k, value in example.kwargs.items()}
            yield replace(example, args=args, kwargs=words), f"{side} x {side} patches"


def _flipped(value: Any, x: Tensor) -> Any:
    """What has the rows and tokens of the input, as itself and its mask have, with the last token first."""
    like = isinstance(value, Tensor) and value.dim() > 1 and value.shape[:2] == x.shape[:2]
    return value.flip(1) if like else value


def _patches_flipped(x: Tensor, side: int) -> Tensor:
    """The same patches, last one first."""
    rows, columns = x.shape[-2] // side, x.shape[-1] // side
    cut = x.reshape(*x.shape[:-2], rows, side, columns, side).transpose(-3, -2)
    flat = cut.reshape(*x.shape[:-2], rows * columns, side, side)
    turned = torch.flip(flat, (-3,)).reshape(*x.shape[:-2], rows, columns, side, side)
    return turned.transpose(-3, -2).reshape(x.shape)


def lookups(specimen: Specimen) -> list[Lookup]:
    """What a network takes from its tables in one pass."""
    tables = {id(table): path for path, table in _tables(specimen.model)}
    found: list[Lookup] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(func, "__name__", "") in ("embedding", "__getitem__"):
                # F.embedding(index, table), torch.embedding(table, index), table[index]
                for table, index in (args[:2], args[1::-1]):
                    if id(table) in tables:
                        found.append(Lookup(tables[id(table)], user_line(), _rows(table), index))
            return func(*args, **(kwargs or {}))

    with Watch():
        specimen.output(specimen.x)
    return found


def _rows(table: Tensor) -> int:
    return max(table.shape[:-1], default=0)


def _tables(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for path, module in model.named_modules():
        own = {**vars(module), **module._parameters, **module._buffers}
        for name, value in own.items():
            if isinstance(value, Tensor) and value.dim() >= 2 and value.is_floating_point():
                yield path or name, value
