"""The networks that ran: module paths, first values of parameters, and one example batch each.

Networks are named by keys. While they are small all are held until the end, for experiments on copies; of
large ones that follow one another only the first and the newest are, so that watching needs no more memory.
"""

import itertools
import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from vitruvius.checks import Example, Parameter
from vitruvius.doctor import user_code
from vitruvius.doctor.tensor_facts import spread_values, type_name

MOST_ADDRESSES = 10_000
ROUNDING = 1e-4  # of the way that weights went: sums in another order differ by less
HELD_BYTES = 32_000_000  # weights that are held beside the largest network


class Keys:
    """A number for every module and tensor; unlike `id`, it is never given twice."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._numbers = itertools.count(1)

    def of(self, thing: Any) -> int:
        """The key of a thing."""
        address = id(thing)
        known = self._known.get(address)
        if known is None or known[0]() is not thing:
            known = self._known[address] = (weakref.ref(thing), next(self._numbers))
        return known[1]


class Networks:
    """The networks that ran, by key, with what is known about their parameters."""

    def __init__(self) -> None:
        self.keys = Keys()
        self.models: dict[int, weakref.ref[nn.Module]] = {}
        self.held: dict[int, tuple[nn.Module, int]] = {}  # the networks that are held, and their bytes
        self.examples: dict[int, Example] = {}
        self.tensors: dict[int, weakref.ref[Tensor]] = {}
        self.tensors_held: dict[int, Tensor] = {}  # of no network, but used more than once
        self.parameters: dict[int, Parameter] = {}
        self.first_values: dict[int, list[float]] = {}
        self.owners: dict[int, int] = {}  # the network that held a parameter when it ran for the first time
        self.called: set[int] = set()  # keys of the modules that were called
        self.paths: dict[int, str] = {}
        self.dtypes: dict[int, str] = {}
        self.initialised: dict[int, str] = {}  # lines that set the values at an address, before any step
        self.unreadable: Exception | None = None  # why the values of some parameter are unknown

    def add(self, model: nn.Module) -> int:
        """The key of a network; it is added when it runs for the first time."""
        network = self.keys.of(model)
        if network in self.models:
            return network
        self.models[network] = weakref.ref(model)
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                known, key = self.add_parameter(parameter), self.keys.of(parameter)
                self.owners[key] = network
                known.name, known.layer = f"{path}.{name}" if path else name, type(module).__name__
                self._read_values(key, known, parameter)
                self.tensors_held.pop(key, None)
        self._hold(network, model)
        return network

    def dtype(self, network: int, model: nn.Module, again: bool) -> str:
        """The type of the first parameter, as it is or as it was when it was looked at last."""
        if again or network not in self.dtypes:
            self.dtypes[network] = type_name(next(model.parameters(), None))
        return self.dtypes[network]

    def _hold(self, network: int, model: nn.Module) -> None:
        """Hold a network, and let go of those between the first and this one while they are too large."""
        sizes = [p.numel() * p.element_size() for p in model.parameters() if _is_made(p)]
        self.held[network] = (model, sum(sizes))
        while len(self.held) > 2 and self._bytes() > HELD_BYTES:
            self._release(list(self.held)[1])

    def _bytes(self) -> int:
        sizes = [size for _, size in self.held.values()]
        return sum(sizes) - max(sizes)

    def _release(self, network: int) -> None:
        model, _ = self.held.pop(network)
        for parameter in model.parameters():
            self._settle(self.keys.of(parameter), parameter)
        if network in self.examples:
            self.examples[network].model = None  # type: ignore[assignment]  # until `finish`
        weakref.finalize(model, self.examples.pop, network, None).atexit = False

    def add_parameter(self, tensor: Tensor) -> Parameter:
        """Add a tensor that can learn, or find it."""
        key = self.keys.of(tensor)
        if key not in self.parameters:
            self.tensors[key] = weakref.ref(tensor)
            known = Parameter(shape=tuple(tensor.shape), trainable=tensor.requires_grad)
            self.parameters[key] = known
            known.initialised = self.initialised.get(_address(tensor), "")
            self._read_values(key, known, tensor)
        elif not self.parameters[key].layer:
            self.tensors_held[key] = tensor
        return self.parameters[key]

    def note_values(self, tensor: Tensor, where: str) -> None:
        """The values of a tensor were set in a line; an empty line: by torch's own layers."""
        address = _address(tensor)
        if address in self.initialised or len(self.initialised) < MOST_ADDRESSES:
            self.initialised[address] = where

    def _read_values(self, key: int, known: Parameter, tensor: Tensor) -> None:
        """Keep the first values of a tensor, to see later whether it has changed."""
        try:
            known.alike, self.first_values[key] = _units_alike(tensor), _sample(tensor)
        except Exception as error:  # meta and fake tensors have no values
            self.unreadable = self.unreadable or error

    def add_example(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep a copy of what a network was given."""

        def copied(value: Any) -> Any:
            return value.detach().clone() if isinstance(value, Tensor) else value

        kept, network = {name: copied(value) for name, value in kwargs.items()}, self.keys.of(model)
        if network in self.held:
            copies = tuple(map(copied, args))
            self.examples[network] = Example(model, copies, kept, user_code.where(), network)

    def path(self, module: nn.Module | None) -> str:
        """The path of a module in its network, its class if it is the network itself, empty for None."""
        if module is None:
            return ""
        key = self.keys.of(module)
        if key not in self.paths:
            named = (pair for _, model in self.alive() for pair in model.named_modules())
            path = next((name for name, inner in named if inner is module), "")
            self.paths[key] = path or type(module).__name__
        return self.paths[key]

    def alive(self) -> list[tuple[int, nn.Module]]:
        """The networks that exist still."""
        return [(key, model) for key, held in self.models.items() if (model := held()) is not None]

    def gradients(self) -> dict[int, Tensor]:
        """The gradients of the weight matrices that belong to a network."""
        named = {key: self.tensors[key]() for key, known in self.parameters.items() if known.name}
        found = {key: p.grad for key, p in named.items() if p is not None and p.dim() >= 2}
        return {key: gradient for key, gradient in found.items() if gradient is not None}

    def finish(self) -> None:
        """Compare parameters with their first values, and name them as the networks hold them at the end."""
        alive, key_of = self.alive(), self.keys.of
        called = [m for _, model in alive for m in model.modules() if key_of(m) in self.called]
        # MultiheadAttention reads the weights of its output projection without calling it.
        own = [module.parameters(isinstance(module, nn.MultiheadAttention)) for module in called]
        ran = {key_of(parameter) for parameters in own for parameter in parameters}
        current = {key_of(parameter) for _, model in alive for parameter in model.parameters()}
        networks = {network for network, _ in alive}
        for key, known in self.parameters.items():
            tensor = self.tensors[key]()
            if tensor is None:  # nobody can say any more that it stayed as it was
                known.changed, known.alike = True, False
                if self.owners.get(key) in networks:  # its network goes on without it
                    known.name = ""
                continue
            self._settle(key, tensor)
            known.ran = key in ran
            known.trainable = tensor.requires_grad
            known.declared = isinstance(tensor, nn.Parameter)
            if key not in current:
                known.name = ""
        for network, model in reversed(alive):  # the first that ran names what several hold
            if network in self.examples:
                self.examples[network].model = model
            for path, module in model.named_modules():
                for name, parameter in module.named_parameters(path, recurse=False):
                    if key_of(parameter) in self.parameters:
                        known = self.parameters[key_of(parameter)]
                        known.name, known.layer, known.network = name, type(module).__name__, network
        self._find_hidden(alive)
        self.examples = {key: example for key, example in self.examples.items() if example.model is not None}

    def _find_hidden(self, alive: list[tuple[int, nn.Module]]) -> None:
        """Name the attributes that hold parameters in plain lists, tuples and dictionaries."""
        for _, model in alive:
            for path, module in model.named_modules():
                for attribute, value in vars(module).items():
                    plain = isinstance(value, list | tuple | dict) and not attribute.startswith("_")
                    for tensor in _parameters(value) if plain else ():
                        known = self.parameters.get(self.keys.of(tensor))
                        if known is not None and not known.name:
                            known.attribute = f"{path}.{attribute}" if path else attribute

    def _settle(self, key: int, tensor: Tensor) -> None:
        """Note whether a parameter has changed and whether its units are still equal."""
        known = self.parameters.get(key)
        if known is not None and key in self.first_values:
            known.changed = _sample(tensor) != self.first_values[key]
            known.alike = known.alike and _stayed_alike(tensor, self.first_values[key])


def _address(tensor: Tensor) -> int:
    """Where the numbers of a tensor lie; 0 if it has none of its own."""
    plain = tensor.layout is torch.strided and type(tensor) in (Tensor, nn.Parameter)
    return tensor.data_ptr() if plain and not tensor.is_meta else 0


def _parameters(value: Any) -> list[Tensor]:
    """The parameters in nested lists, tuples and dictionaries of modules and tensors."""
    if isinstance(value, nn.Module):
        return list(value.parameters())
    if isinstance(value, Tensor):
        return [value] if value.requires_grad else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [tensor for part in parts for tensor in _parameters(part)]


def _is_made(tensor: Tensor) -> bool:
    """Whether a parameter has a size: one of a lazy layer has none before its first pass."""
    return not is_lazy(tensor)


def _sample(tensor: Tensor) -> list[float]:
    return spread_values(tensor, 16)


def _stayed_alike(tensor: Tensor, first: list[float]) -> bool:
    """Whether units that began equal are equal still, up to the rounding of the way they went."""
    if _units_alike(tensor):
        return True
    with torch.no_grad():
        way = max(abs(now - then) for now, then in zip(_sample(tensor), first, strict=True))
        spread = float((tensor - tensor[:1]).abs().max())
        if min(tensor.shape) > 1 and tensor.dim() == 2:  # units are columns where x @ weight is computed
            spread = min(spread, float((tensor - tensor[:, :1]).abs().max()))
        return spread < ROUNDING * way


def _units_alike(tensor: Tensor) -> bool:
    """Whether all rows are equal, or, for the gates of a recurrent cell, no more than four differ."""
    with torch.no_grad():
        if tensor.dim() < 2 or len(tensor) < 2 or not torch.equal(tensor[0], tensor[1]):
            return False
        return len(torch.unique(tensor, dim=0)) <= (4 if len(tensor) >= 8 else 1)
