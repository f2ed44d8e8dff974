"""Users' own networks: `./mine.py:models`, which yields pairs (name, nn.Module) or returns a dict."""

import random
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from vitruvius.core import files, plugins
from vitruvius.core.errors import UserError

RandomState = tuple[Any, Any, torch.Tensor]  # the states of the global generators of Python, numpy and torch


class UserModel(NamedTuple):
    """One of the networks that a user's function yields, by its position."""

    source: str  # /path/mine.py:models
    sha256: str  # of the file
    position: int  # counted from 0


def networks(source: str) -> dict[str, UserModel]:
    """Return the networks of a user's file by name; each is built once and discarded."""
    plugins.function("models", source)
    file, _, function = source.rpartition(":")
    source, sha256 = f"{Path(file).resolve()}:{function}", files.sha256(Path(file))
    found: dict[str, UserModel] = {}
    for position, (name, _) in enumerate(ModelStream(source, seed=0)):
        if name in found:
            raise UserError(f"{source}: yields two networks named '{name}'")
        found[name] = UserModel(source, sha256, position)
    if not found:
        raise UserError(f"{source}: yields no network")
    return found


def build(user_model: UserModel, seed: int) -> nn.Module:
    """Build a network with weights drawn from a seed: a function of these two, whatever was built before."""
    stream = _stream(user_model.source, user_model.sha256, seed)
    if stream.yielded > user_model.position:
        _stream.cache_clear()
        stream = _stream(user_model.source, user_model.sha256, seed)
    return next(model for _, model in stream if stream.yielded > user_model.position)


class ModelStream:
    """One iteration over the networks of a user's function, with random generators of its own."""

    def __init__(self, source: str, seed: int) -> None:
        torch_state = torch.Generator().manual_seed(seed).get_state()
        numpy_state = np.random.RandomState(seed % 2**32).get_state()
        self.state: RandomState = (random.Random(seed).getstate(), numpy_state, torch_state)
        self.source, self.yielded = source, 0
        function = plugins.function("models", source)
        self.made = self._isolated(lambda: _pairs(function()))

    def __iter__(self) -> Iterator[tuple[str, nn.Module]]:
        while (item := self._isolated(lambda: next(self.made, None))) is not None:
            self.yielded += 1
            if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], nn.Module):
                fault = f"is no pair of a name and a module: {item!r:.60}"
                raise UserError(f"{self.source}: item {self.yielded} {fault}")
            yield str(item[0]), item[1]

    def _isolated(self, step: Any) -> Any:
        """Run a step of the user's code with this iteration's random state; the global state is restored."""
        before = _state()
        _set_state(self.state)
        try:
            return step()
        except Exception as error:
            raise UserError(f"{self.source}: {type(error).__name__}: {error}") from error
        finally:
            self.state = _state()
            _set_state(before)


def _pairs(made: Mapping[Any, Any] | Iterable[Any]) -> Iterator[Any]:
    return iter(made.items()) if isinstance(made, Mapping) else iter(made)


def _state() -> RandomState:
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def _set_state(state: RandomState) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])


@lru_cache(maxsize=1)
def _stream(source: str, sha256: str, seed: int) -> ModelStream:
    return ModelStream(source, seed)
