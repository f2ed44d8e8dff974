"""The networks that ran: module paths, first values of parameters, and one example batch each."""

from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.checks import Example, Parameter
from vitruvius.doctor import user_code


class Networks:
    """The networks that ran, by key, with what is known about their parameters."""

    def __init__(self) -> None:
        self.models: dict[int, nn.Module] = {}
        self.examples: dict[int, Example] = {}
        self.tensors: dict[int, Tensor] = {}
        self.parameters: dict[int, Parameter] = {}
        self.first_values: dict[int, list[float]] = {}
        self.called: set[int] = set()  # keys of the modules that were called
        self.paths: dict[int, str] = {}

    def add(self, model: nn.Module) -> None:
        """Add a network when it runs for the first time."""
        self.models[id(model)] = model
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                known = self.add_parameter(parameter)
                known.name, known.layer = f"{path}.{name}" if path else name, type(module).__name__
                known.alike, self.first_values[id(parameter)] = _units_alike(parameter), _sample(parameter)

    def add_parameter(self, tensor: Tensor) -> Parameter:
        """Add a tensor that can learn, or find it."""
        key = id(tensor)
        if key not in self.parameters:
            self.tensors[key] = tensor
            self.first_values[key] = _sample(tensor)
            shape, learns = tuple(tensor.shape), tensor.requires_grad
            self.parameters[key] = Parameter(shape=shape, trainable=learns, alike=_units_alike(tensor))
        return self.parameters[key]

    def add_example(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep a copy of what a network was given."""

        def copied(value: Any) -> Any:
            return value.detach().clone() if isinstance(value, Tensor) else value

        kept = {name: copied(value) for name, value in kwargs.items()}
        self.examples[id(model)] = Example(model, tuple(map(copied, args)), kept, user_code.where())

    def path(self, module: nn.Module | None) -> str:
        """The path of a module in its network, its class if it is the network itself, empty for None."""
        if module is None:
            return ""
        if id(module) not in self.paths:
            named = (pair for model in self.models.values() for pair in model.named_modules())
            path = next((name for name, inner in named if inner is module), "")
            self.paths[id(module)] = path or type(module).__name__
        return self.paths[id(module)]

    def gradients(self) -> dict[int, Tensor]:
        """The gradients of the weight matrices that belong to a network."""
        tensors = {key: self.tensors[key] for key, known in self.parameters.items() if known.name}
        return {key: p.grad for key, p in tensors.items() if p.dim() >= 2 and p.grad is not None}

    def finish(self) -> None:
        """Compare parameters with their first values, and name them as the networks hold them at the end."""
        called = [m for model in self.models.values() for m in model.modules() if id(m) in self.called]
        # MultiheadAttention reads the weights of its output projection without calling it.
        own = [module.parameters(isinstance(module, nn.MultiheadAttention)) for module in called]
        ran = {id(parameter) for parameters in own for parameter in parameters}
        current = {id(parameter) for model in self.models.values() for parameter in model.parameters()}
        for key, known in self.parameters.items():
            tensor = self.tensors[key]
            known.changed = _sample(tensor) != self.first_values[key]
            known.alike = known.alike and _units_alike(tensor)
            known.ran = key in ran
            known.trainable = tensor.requires_grad
            known.declared = isinstance(tensor, nn.Parameter)
            if key not in current:
                known.name = ""
        for model in reversed(self.models.values()):  # the first that ran names what several hold
            for path, module in model.named_modules():
                for name, parameter in module.named_parameters(path, recurse=False):
                    if id(parameter) in self.parameters:
                        known = self.parameters[id(parameter)]
                        known.name, known.layer, known.network = name, type(module).__name__, id(model)


def _sample(tensor: Tensor) -> list[float]:
    flat = tensor.detach().flatten()
    return flat[:: max(1, flat.numel() // 16)].tolist()


def _units_alike(tensor: Tensor) -> bool:
    """Whether all rows are equal, or, for the gates of a recurrent cell, no more than four differ."""
    with torch.no_grad():
        if tensor.dim() < 2 or len(tensor) < 2 or not torch.equal(tensor[0], tensor[1]):
            return False
        return len(torch.unique(tensor, dim=0)) <= (4 if len(tensor) >= 8 else 1)
