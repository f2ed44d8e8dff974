"""Functions that are watched wherever they are held: their code is exchanged, not the name that finds them.

A loss function in a dictionary, a default argument or a partial was taken before the watching began: another
function under its name would not be called there.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from torch.compiler import is_compiling
from torch.overrides import has_torch_function

from vitruvius.doctor.watcher import Watcher

_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Rewired:
    """A function, its own code, and the code that calls what replaces it."""

    function: FunctionType
    own: CodeType
    new: CodeType

    def put(self) -> None:
        """Exchange its code, unless another watcher has."""
        if self.function.__code__ is self.own:
            self.function.__code__ = self.new

    def take(self) -> None:
        """Give back its own code, unless another watcher has exchanged it since."""
        if self.function.__code__ is self.new:
            self.function.__code__ = self.own


_REWIRED: list[Rewired] = []


@contextmanager
def rewired(function: FunctionType, replacement: Callable[..., Any], watcher: Watcher) -> Iterator[Rewired]:
    """Inside the block every call goes to the replacement, with the watcher, the original and the arguments.

    >>> with rewired(inspect.unwrap, lambda watcher, own, *args: "seen", Watcher()):
    ...     inspect.unwrap(len)
    'seen'
    """
    parts = (function.__code__, function.__globals__, function.__name__, function.__defaults__)
    own = FunctionType(*parts, function.__closure__)
    own.__kwdefaults__ = function.__kwdefaults__
    inside: list[bool] = []  # a subclass of Tensor is handed torch's own function and calls it

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling() or not watcher.seeing or watcher.busy or watcher.quiet or inside:
            return own(*args, **kwargs)
        if not has_torch_function((*args, *kwargs.values())):
            return replacement(watcher, own, *args, **kwargs)
        inside.append(True)
        try:
            return replacement(watcher, own, *args, **kwargs)
        finally:
            inside.pop()

    name = f"_watched_{next(_NUMBERS)}"
    change = Rewired(function, function.__code__, _calling(name))
    had_signature = function.__dict__.get("__signature__")
    signature = inspect.signature(function)
    function.__globals__[name] = call
    change.put()
    function.__signature__ = signature  # type: ignore[attr-defined]
    _REWIRED.append(change)
    try:
        yield change
    finally:
        _REWIRED.remove(change)
        function.__code__ = change.own
        del function.__globals__[name], function.__signature__  # type: ignore[attr-defined]
        if had_signature is not None:
            function.__signature__ = had_signature  # type: ignore[attr-defined]


@contextmanager
def as_torchs_own() -> Iterator[None]:
    """Inside the block all functions have their own code again, as a compiler reads it."""
    codes = {change.function: change.function.__code__ for change in _REWIRED}
    for change in reversed(_REWIRED):
        change.function.__code__ = change.own
    try:
        yield
    finally:
        for function, code in codes.items():
            function.__code__ = code


def _calling(name: str) -> CodeType:
    """The code of a function that hands all its arguments to the global variable of that name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _called(*args, **kwargs)  # type: ignore[name-defined] # noqa: F821 # renamed below

    names = call.__code__.co_names
    return call.__code__.replace(co_names=tuple(name if other == "_called" else other for other in names))
