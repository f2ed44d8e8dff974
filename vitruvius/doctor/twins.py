"""Copies of a network that follow it: target networks, teachers and moving averages of weights.

They are found among the user's variables: equal shapes, and the values that the trained network had. Between
two steps of the optimiser, its weights a stand still; a copy b that becomes b + t (a - b) follows with the
fraction t (1 - decay of a moving average; 1 for a plain copy).
"""

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from vitruvius.checks import Twin
from vitruvius.doctor import user_code
from vitruvius.doctor.source_lines import line_that_keeps, line_that_updates
from vitruvius.doctor.tensor_facts import spread_values

SEARCHED = (0, 1, 20)  # steps before which copies are looked for
OFTEN = 24  # steps that are all observed; later ones are sampled
MOST = 8  # values that are compared


@dataclass(slots=True)
class Pair:
    """A trained network and a copy of it, by one parameter."""

    name: str  # the variable or attribute that holds the copy
    file: str  # the source file in which it was found
    optimiser: int
    trained: "weakref.ref[Tensor]"
    find: Callable[[], Tensor | None]  # the same parameter of the copy, now
    module: "weakref.ref[nn.Module] | None"  # the copy, if it is a module
    values: list[float]  # of the copy, when it was found
    before: tuple[list[float], list[float]] | None = None  # of both, after the optimiser's last step
    fractions: list[float] = field(default_factory=list)
    moved: int = 0  # how often the copy changed between steps
    outer: "weakref.ref[nn.Module] | None" = None  # torch's AveragedModel around the copy
    loads: int = 0  # how often load_state_dict has made it equal to the trained network
    observed: int = 0

    def observe(self) -> tuple[list[float], list[float]] | None:
        """The values of both now; None if one is gone."""
        trained, copy = self.trained(), self.find()
        return None if trained is None or copy is None else (_values(trained), _values(copy))

    def compare(self) -> None:
        """Before a step: how the copy has moved since the last one."""
        now, before, self.before = self.observe(), self.before, None
        if now is None or before is None or now[0] != before[0]:
            return
        self.observed += 1
        way = [a - b for a, b in zip(now[0], before[1], strict=True)]
        done = [new - old for new, old in zip(now[1], before[1], strict=True)]
        if any(done):
            self.moved += 1
            square = sum(value * value for value in way)
            fraction = sum(d * w for d, w in zip(done, way, strict=True)) / square if square else 0.0
            slack = 1e-2 * abs(fraction) * max(map(abs, way)) + 3e-7 * max(map(abs, now[1]))
            if all(abs(d - fraction * w) <= slack for d, w in zip(done, way, strict=True)) and fraction > 0:
                self.fractions.append(fraction)


class Twins:
    """The copies that were found."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []

    def before_step(self, optimiser: int, parameters: list[Tensor], step: int) -> None:
        """Look for copies, and see how those that are known have moved."""
        for pair in self.pairs:
            if pair.optimiser == optimiser and pair.before is not None:
                pair.compare()
        if step in SEARCHED:
            self._search(optimiser, parameters)

    def after_step(self, optimiser: int, step: int, sampling: bool) -> None:
        """Keep the values of both, to see how the copy moves until the next step."""
        if step < OFTEN or sampling:
            for pair in self.pairs:
                if pair.optimiser == optimiser:
                    pair.before = pair.observe()

    def loaded(self, module: nn.Module, optimisers: list[tuple[int, list[Tensor]]]) -> None:
        """Weights were loaded into a module, perhaps those of the network that is trained."""
        if not any(_is_copy(pair, module) for pair in self.pairs):
            for optimiser, parameters in optimisers:
                self._search(optimiser, parameters)
        for pair in self.pairs:
            now = pair.observe() if _is_copy(pair, module) else None
            pair.loads += now is not None and now[0] == now[1]

    def _search(self, optimiser: int, parameters: list[Tensor]) -> None:
        found = list(_candidates())
        trained = set(map(id, parameters))
        online = [
            module for _, _, module in found if isinstance(module, nn.Module) and _holds(module, trained)
        ]
        averages = [module for _, _, module in found if isinstance(module, AveragedModel)]
        around: dict[int, weakref.ref[nn.Module]] = {id(one.module): weakref.ref(one) for one in averages}
        known = {(pair.name, pair.optimiser) for pair in self.pairs}
        inside: set[int] = set()  # modules of a copy that is known
        for name, file, copy in found:
            for module in online:
                pair = _pair(name, file, copy, module, optimiser)
                if pair is not None and (name, optimiser) not in known and id(copy) not in inside:
                    inside.update(map(id, copy.modules() if isinstance(copy, nn.Module) else ()))
                    known.add((name, optimiser))
                    pair.outer = around.get(id(copy))
                    self.pairs.append(pair)

    def at_the_end(
        self, step: int, key_of: Callable[[Any], int], parameters: Mapping[int, Any]
    ) -> Iterator[Twin]:
        """What is known about each copy."""
        for pair in self.pairs:
            module = pair.module() if pair.module is not None else None
            keys = tuple(map(key_of, module.parameters())) if module is not None else ()
            now, outer = pair.observe(), pair.outer() if pair.outer is not None else None
            yield Twin(
                step=step,
                where=line_that_updates(pair.file, pair.name) or line_that_keeps(pair.file, pair.name, 1),
                name=pair.name,
                optimiser=pair.optimiser,
                network=key_of(outer or module) if module is not None else 0,
                trained=key_of(pair.trained()) if pair.trained() is not None else 0,
                parameters=keys,
                reached=sum(key in parameters and parameters[key].reached for key in keys),
                fraction=median(pair.fractions) if pair.fractions else None,
                follows=len(pair.fractions),
                loads=pair.loads,
                observed=pair.observed,
                stands=not pair.moved
                and not pair.loads
                and now is not None
                and now[1] == pair.values
                and now[0] != now[1],
            )


def _is_copy(pair: Pair, module: nn.Module) -> bool:
    return pair.module is not None and pair.module() is module


def _holds(module: nn.Module, trained: set[int]) -> bool:
    own = [id(parameter) for parameter in module.parameters()]
    return bool(own) and all(key in trained for key in own)


def _pair(name: str, file: str, copy: Any, online: nn.Module, optimiser: int) -> Pair | None:
    """A pair, if a module or a dictionary of tensors has the shapes and the values of a network."""
    named = {key: p for key, p in online.named_parameters() if p.dim() >= 2 and p.numel() >= MOST}
    if copy is online or not named:
        return None
    path, trained = next(iter(named.items()))
    module = None
    if isinstance(copy, nn.Module):
        module = weakref.ref(copy)
        theirs: Mapping[str, Any] = dict(copy.named_parameters())
        if type(copy) is not type(online) or list(theirs) != [key for key, _ in online.named_parameters()]:
            return None
        if any(theirs[key] is p for key, p in online.named_parameters()):
            return None
        find = _in_module(module, path)
    else:
        theirs, find = copy, _in_dictionary(copy, path)
    twin = theirs.get(path)
    if not isinstance(twin, Tensor) or twin is trained or twin.shape != trained.shape:
        return None
    values = _values(twin)
    if twin.data_ptr() == trained.data_ptr() or values != _values(trained) or len(set(values)) < 2:
        return None
    return Pair(name, file, optimiser, weakref.ref(trained), find, module, values)


def _in_module(module: "weakref.ref[nn.Module]", path: str) -> Callable[[], Tensor | None]:
    def find() -> Tensor | None:
        found = module()
        return None if found is None else found.get_parameter(path)

    return find


def _in_dictionary(copies: Mapping[str, Any], path: str) -> Callable[[], Tensor | None]:
    def find() -> Tensor | None:
        found = copies.get(path)
        return found if isinstance(found, Tensor) else None

    return find


def _values(tensor: Tensor) -> list[float]:
    return spread_values(tensor, MOST)


def _candidates() -> Iterator[tuple[str, str, Any]]:
    """Name, file and value of modules and of dictionaries of tensors that the user's variables hold."""
    frame = user_code.user_frame()
    seen: set[int] = set()
    while frame is not None:
        file = frame.f_code.co_filename
        if user_code.is_users(file):
            for name, value in list(frame.f_locals.items()):
                for found, inner in _inside(name, value, 2):
                    if id(inner) not in seen:
                        seen.add(id(inner))
                        yield found, file, inner
        frame = frame.f_back


def _inside(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, nn.Module):
        yield name, value
        if depth:
            for child_name, child in value.named_children():
                inner = name if isinstance(value, AveragedModel) else child_name
                yield from _inside(inner, child, depth - 1)
    elif isinstance(value, dict) and value and all(isinstance(part, Tensor) for part in value.values()):
        yield name, value
    has_fields = hasattr(value, "__dict__") and not isinstance(value, type) and not name.startswith("__")
    is_own = type(value).__module__.partition(".")[0] not in ("torch", "builtins", "numpy")
    for attribute, inner in list(vars(value).items()) if depth and has_fields and is_own else ():
        if not attribute.startswith("_"):
            yield from _inside(attribute, inner, depth - 1)
