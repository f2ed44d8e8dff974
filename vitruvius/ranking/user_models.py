"""People's own networks: `./mine.py:models`, a function that yields (name, nn.Module) pairs."""

import random
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from vitruvius.core import files, plugins
from vitruvius.core.errors import UserError

State = tuple[Any, Any, torch.Tensor]
"""Of the global generators of Python, numpy and torch."""


class Own(NamedTuple):
    """One of the networks that a user's function yields."""

    source: str  # /path/mine.py:models
    sha256: str  # of the file
    place: int  # counted from 0


def networks(source: str) -> dict[str, Own]:
    """The networks of a user's file by name; each is built once and let go."""
    plugins.function("models", source)
    file, _, function = source.rpartition(":")
    source, sha256 = f"{Path(file).resolve()}:{function}", files.sha256(Path(file))
    found: dict[str, Own] = {}
    for place, (name, _) in enumerate(Sweep(source, seed=0)):
        if name in found:
            raise UserError(f"{source}: yields two networks named '{name}'")
        found[name] = Own(source, sha256, place)
    if not found:
        raise UserError(f"{source}: yields no network")
    return found


def build(own: Own, seed: int) -> nn.Module:
    """The network with weights drawn from a seed: a function of the two, whatever was built before."""
    sweep = _sweep(own.source, own.sha256, seed)
    if sweep.passed > own.place:
        _sweep.cache_clear()
        sweep = _sweep(own.source, own.sha256, seed)
    return next(model for _, model in sweep if sweep.passed > own.place)


class Sweep:
    """One walk through what a user's function yields, with a random stream of its own."""

    def __init__(self, source: str, seed: int) -> None:
        self.source = source
        self.passed = 0
        self.state = _first_state(seed)
        function = plugins.function("models", source)
        self.made = self._in_stream(lambda: iter(function()))

    def __iter__(self) -> Iterator[tuple[str, nn.Module]]:
        while (item := self._in_stream(lambda: next(self.made, None))) is not None:
            self.passed += 1
            if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], nn.Module):
                raise UserError(
                    f"{self.source}: item {self.passed} is no pair of a name and a module: {item!r:.60}"
                )
            yield str(item[0]), item[1]

    def _in_stream(self, step: Any) -> Any:
        """Take one step of the user's code; its draws are this walk's, the global stream is left as it was."""
        before = _state()
        _go_on_from(self.state)
        try:
            return step()
        except Exception as error:
            raise UserError(f"{self.source}: {type(error).__name__}: {error}") from error
        finally:
            self.state = _state()
            _go_on_from(before)


def _first_state(seed: int) -> State:
    torch_ = torch.Generator().manual_seed(seed)
    return random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state(), torch_.get_state()


def _state() -> State:
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def _go_on_from(state: State) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])


@lru_cache(maxsize=1)
def _sweep(source: str, sha256: str, seed: int) -> Sweep:
    return Sweep(source, seed)
