"""What the watcher keeps of networks and their data: paths, first values, example batches, rows and labels."""

from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.checks import Example, Parameter
from vitruvius.doctor import user_code as tracing

GATHERED, WIDEST = 1500, 64
"""Rows kept for the comparison of neighbours, and numbers kept of each."""
MOST_ROWS = 200_000


class Networks:
    """The networks that ran, with the first values of what they can learn."""

    def __init__(self) -> None:
        self.roots: dict[int, nn.Module] = {}
        self.examples: dict[int, Example] = {}
        self.tensors: dict[int, Tensor] = {}
        self.parameters: dict[int, Parameter] = {}
        self.first: dict[int, list[float]] = {}
        self.called: set[int] = set()
        self.paths: dict[int, str] = {}

    def meet(self, root: nn.Module) -> None:
        """Take note of a network when it runs for the first time."""
        self.roots[id(root)] = root
        for path, module in root.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                known = self.keep(parameter)
                known.name, known.layer = f"{path}.{name}" if path else name, type(module).__name__
                known.alike, self.first[id(parameter)] = _units_alike(parameter), _sample(parameter)

    def keep(self, tensor: Tensor) -> Parameter:
        """Take note of a tensor that can learn."""
        key = id(tensor)
        if key not in self.parameters:
            self.tensors[key] = tensor
            self.first[key] = _sample(tensor)
            shape, learns = tuple(tensor.shape), tensor.requires_grad
            self.parameters[key] = Parameter(shape=shape, trainable=learns, alike=_units_alike(tensor))
        return self.parameters[key]

    def path(self, module: nn.Module) -> str:
        """Where a module stands in the network that holds it."""
        if id(module) not in self.paths:
            named = (pair for root in self.roots.values() for pair in root.named_modules())
            path = next((name for name, inner in named if inner is module), "")
            self.paths[id(module)] = path or type(module).__name__
        return self.paths[id(module)]

    def finish(self) -> None:
        """Compare with the first values."""
        ran = {
            id(p)
            for root in self.roots.values()
            for m in root.modules()
            if id(m) in self.called
            for p in _own(m)
        }
        for key, parameter in self.parameters.items():
            tensor = self.tensors[key]
            parameter.changed = _sample(tensor) != self.first[key]
            parameter.alike = parameter.alike and _units_alike(tensor)
            parameter.ran = key in ran
            parameter.trainable = tensor.requires_grad
        current = {id(p) for root in self.roots.values() for p in root.parameters()}
        for key, parameter in self.parameters.items():
            if key not in current:
                parameter.name = ""


def _own(module: nn.Module) -> list[nn.Parameter]:
    # MultiheadAttention reads the weights of its output projection without calling it.
    return list(module.parameters(recurse=isinstance(module, nn.MultiheadAttention)))


def _sample(tensor: Tensor) -> list[float]:
    flat = tensor.detach().flatten()
    return flat[:: max(1, flat.numel() // 16)].tolist()


def _units_alike(tensor: Tensor) -> bool:
    """Whether all rows are equal, or, for the gates of a recurrent cell, no more than four differ."""
    with torch.no_grad():
        if tensor.dim() < 2 or len(tensor) < 2 or not torch.equal(tensor[0], tensor[1]):
            return False
        return len(torch.unique(tensor, dim=0)) <= (4 if len(tensor) >= 8 else 1)


class Rows:
    """Rows of training batches with their labels."""

    def __init__(self) -> None:
        self.trained: set[int] = set()
        self.labels: dict[int, int] = {}
        self.again = 0
        self.otherwise = 0
        self.features: list[Tensor] = []
        self.classes: list[int] = []

    def train(self, rows: list[int]) -> None:
        """Rows that a gradient was taken of."""
        if len(self.trained) < MOST_ROWS:
            self.trained.update(rows)

    def label(self, rows: list[int], x: Tensor, y: Tensor) -> None:
        """Rows with the classes they are trained towards."""
        classes = y.detach()[: len(rows)].tolist()
        if len(set(rows)) < len(rows):
            return
        for row, label in zip(rows, classes, strict=True):
            self.again += row in self.labels
            self.otherwise += self.labels.get(row, label) != label
            self.labels[row] = label
        if len(self.classes) < GATHERED:
            flat = x.detach()[: len(rows)].reshape(len(rows), -1)
            self.features.append(flat[:, :: max(1, flat.shape[1] // WIDEST)][:, :WIDEST].float().clone())
            self.classes += classes

    def neighbours(self) -> tuple[float, float, int] | None:
        """Leave-one-out nearest neighbour: agreement of labels, what chance gives, number of rows."""
        if len({len(block[0]) for block in self.features}) != 1:
            return None
        x = torch.cat(self.features)
        y = torch.tensor(self.classes)
        x, kept = torch.unique(x, dim=0, return_inverse=True)
        labels = torch.zeros(len(x), dtype=y.dtype)
        labels[kept] = y
        x = (x - x.mean(0)) / (x.std(0) + 1e-6)
        distance = torch.cdist(x, x)
        distance.fill_diagonal_(torch.inf)
        agreement = float((labels[distance.argmin(1)] == labels).float().mean())
        shares = torch.bincount(labels - labels.min()) / len(labels)
        return agreement, float((shares**2).sum()), len(labels)


def is_shifted(x: Tensor, y: Tensor) -> bool:
    """Whether the targets are the inputs one step later, along the second axis."""
    if x.dim() < 2 or x.shape[1] < 3 or x.dtype != y.dtype:
        return False
    for length in (x.shape[1], x.shape[1] - 1):
        try:
            aligned = y.reshape(x.shape[0], length, *x.shape[2:])
        except RuntimeError:
            continue
        kept = x.shape[1] - 1
        return bool((aligned[:, :kept] == x[:, 1:]).all())
    return False


def example_of(root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Example:
    """A network with a copy of what it was given."""

    def copied(value: Any) -> Any:
        return value.detach().clone() if isinstance(value, Tensor) else value

    kept = {name: copied(value) for name, value in kwargs.items()}
    return Example(root, tuple(map(copied, args)), kept, tracing.where())
