"""What an autograd graph says before the backward pass uses it up: leaves reached, operations, activations."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

LARGEST = 20_000  # nodes; a longer graph is read that far
FLAT = ("Round", "Sign", "Floor", "Ceil", "Trunc", "Heaviside")
"""Operations whose derivative is zero wherever it exists."""
WEIGHING = ("Addmm", "Mm", "Bmm", "Convolution", "UnsafeView", "Linear")
"""Operations with weights: an activation before one is hidden, after the last it is the output."""
BOUNDED = {"TanhBackward0": (-1.0, 1.0), "SigmoidBackward0": (0.0, 1.0)}


@dataclass(slots=True)
class Graph:
    """A summary of one graph."""

    leaves: set[int] = field(default_factory=set)
    dead: list[tuple[float, int]] = field(default_factory=list)
    """For each ReLU: share of units that are zero on the whole batch, and their number."""
    saturated: list[tuple[float, int]] = field(default_factory=list)
    """For each hidden tanh or sigmoid: share of values within 1 % of a bound, and their number."""
    flat: str = ""
    """The first operation with derivative zero."""
    sigmoid_twice: bool = False
    summed_rows: int = 0
    """Rows that the last operation adds up; 0 if it is no sum."""
    spread: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """A difference to a constant that is larger than what it was taken of: shape before, shape after."""


def read(root: Tensor) -> tuple[Graph, list[Tensor]]:
    """The summary of the graph below a loss, and the leaves themselves."""
    graph, leaves = Graph(), []
    seen: set[Any] = set()
    queue: deque[tuple[Any, bool]] = deque([(root.grad_fn, False)])
    while queue and len(seen) < LARGEST:
        node, hidden = queue.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = node.name()
        if name.endswith("AccumulateGrad"):
            leaves.append(node.variable)
            continue
        _look(graph, node, name, hidden)
        hidden = hidden or name.startswith(WEIGHING)
        queue.extend((following, hidden) for following, _ in node.next_functions)
    graph.leaves = {id(leaf) for leaf in leaves}
    _sum(graph, root)
    return graph, leaves


def _look(graph: Graph, node: Any, name: str, hidden: bool) -> None:
    if name == "ReluBackward0":
        result = node._saved_result
        if result.dim() >= 2 and len(result) > 1:
            quiet = (result.flatten(2).amax(2) if result.dim() > 2 else result).amax(0) <= 0
            graph.dead.append((float(quiet.float().mean()), quiet.numel()))
    elif name in BOUNDED and hidden:
        low, high = BOUNDED[name]
        result = node._saved_result
        edge = 0.01 * (high - low) / 2
        graph.saturated.append(
            (float(((result < low + edge) | (result > high - edge)).float().mean()), result.numel())
        )
    elif name.removesuffix("Backward0") in FLAT and not graph.flat:
        graph.flat = name.removesuffix("Backward0").lower()
    elif name.startswith("BinaryCrossEntropyWithLogits"):
        graph.sigmoid_twice = any(
            following is not None and following.name() == "SigmoidBackward0"
            for following in _through_views(node.next_functions[0][0])
        )
    elif name in ("SubBackward0", "RsubBackward0") and graph.spread is None:
        graph.spread = _spread(node)


def _through_views(node: Any) -> list[Any]:
    """The node behind reshapes."""
    while node is not None and node.name() in ("SqueezeBackward0", "SqueezeBackward1", "ViewBackward0"):
        node = node.next_functions[0][0]
    return [node]


def _spread(node: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(N, 1) minus a constant (N,) is (N, N): every prediction is compared with every target."""
    known = [following for following, _ in node.next_functions if following is not None]
    if len(known) != 1 or known[0].name().endswith("AccumulateGrad"):
        return None
    before, after = _shape(known[0]), _shape(node)
    grown = len(after) == 2 and after[0] == after[1] and after[0] > 1
    return (before, after) if grown and before in ((after[0], 1), (after[0],)) else None


def _shape(node: Any) -> tuple[int, ...]:
    described = getattr(node, "_input_metadata", None)
    return tuple(described[0].shape) if described else ()


def _sum(graph: Graph, root: Tensor) -> None:
    node: Any = root.grad_fn
    if (
        node is not None and node.name() == "NegBackward0"
    ):  # what is summed may be negative, as a likelihood is
        node = node.next_functions[0][0]
    if node is None or node.name() != "SumBackward0":
        return
    before = node.next_functions[0][0]
    shape = _shape(before) if before is not None else ()
    graph.summed_rows = shape[0] if shape else 0


def root_name(root: Tensor) -> str:
    """The operation that made a loss: MeanBackward0, DivBackward0, ...; of a sum of terms, that of the first."""
    node: Any = root.grad_fn
    while node is not None and node.name() == "AddBackward0" and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    return node.name() if node is not None else ""


def rms(gradients: list[Tensor]) -> list[float]:
    """Root mean square of each."""
    return [float(gradient.norm()) / gradient.numel() ** 0.5 for gradient in gradients] if gradients else []


def non_finite(tensor: Tensor | None) -> bool:
    """Whether a tensor of floats holds a NaN or an infinity."""
    return tensor is not None and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all())
