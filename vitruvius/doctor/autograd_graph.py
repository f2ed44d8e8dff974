"""Facts of an autograd graph, read before the backward pass frees it, and where non-finite numbers begin."""

import copy
from collections import deque
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.checks import GraphFacts, Units, first_tensor
from vitruvius.doctor import origins

LARGEST = 20_000  # nodes; a larger graph is read that far
ZERO_DERIVATIVE = ("Round", "Sign", "Floor", "Ceil", "Trunc", "Heaviside")
"""Operations whose derivative is zero wherever it exists."""
WEIGHTED = ("Addmm", "Mm", "Bmm", "Convolution", "UnsafeView", "Linear")
"""Operations with weights: an activation before one is hidden, after the last it is the output."""
FREED, SPOILT = "backward through the graph a second time", "modified by an inplace operation"
BOUNDS = {"TanhBackward0": (-1.0, 1.0), "SigmoidBackward0": (0.0, 1.0)}


def read(loss: Tensor, key_of: Callable[[Tensor], int]) -> tuple[GraphFacts, list[Tensor]]:
    """The facts of the graph below a loss, and its leaves."""
    facts, leaves = GraphFacts(), []
    seen: set[Any] = set()
    queue: deque[tuple[Any, bool]] = deque([(loss.grad_fn, False)])
    while queue and len(seen) < LARGEST:
        node, hidden = queue.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = node.name()
        if name.endswith("AccumulateGrad"):
            leaves.append(node.variable)
            continue
        try:
            _read_node(facts, node, name, hidden, key_of)
        except RuntimeError as error:
            # An earlier backward pass has freed what it saved, or a change in place has spoilt it.
            if FREED not in str(error) and SPOILT not in str(error):
                raise
        hidden = hidden or name.startswith(WEIGHTED)
        queue.extend((following, hidden) for following, _ in node.next_functions)
    facts.leaves = {key_of(leaf) for leaf in leaves}
    facts.summed_rows = _summed_rows(loss)
    _read_terms(facts, loss.grad_fn, key_of)
    return facts, leaves


LINEAR = ("AddBackward0", "SubBackward0", "RsubBackward1", "MulBackward0", "DivBackward0", "NegBackward0")
TOTALS = ("SumBackward0", "MeanBackward0", "StackBackward0", "UnsqueezeBackward0", "AliasBackward0")


def _read_terms(facts: GraphFacts, root: Any, key_of: Callable[[Tensor], int]) -> None:
    """Find the terms of a loss that have no gradient: single numbers that are added to it."""
    seen: set[Any] = set()
    queue = deque([(root, True)])
    while queue and len(seen) < 200:
        node, summed = queue.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = node.name()
        if name.endswith("AccumulateGrad") and summed and not node.variable.dim():
            facts.scalar_leaves.append(key_of(node.variable))
        # A factor is no term: below a product only a path with one branch is followed.
        if name not in LINEAR + TOTALS or _shape(node) not in ((), (1,)) and name != "StackBackward0":
            continue
        origin = origins.of(node)
        if origin is not None and origin.constant is not None and summed:
            facts.constants.append((origin.where, origin.constant))
            facts.cut = facts.cut or ((origin.cut, origin.where, origin.constant) if origin.cut else None)
        branches = [following for following, _ in node.next_functions if following is not None]
        product = name in ("MulBackward0", "DivBackward0") and len(branches) > 1
        queue.extend((following, summed and not product) for following in branches)


def _read_attention(facts: GraphFacts, node: Any) -> None:
    """Find a product with a factor that is the softmax of a product, and the axis that it is summed over."""
    for operand, axis in ((0, -1), (1, -2)):
        found = _softmax_behind(node, operand, axis)
        if found is not None:
            _judge_attention(facts, node, *found)
            return


def _judge_attention(facts: GraphFacts, node: Any, made: Any, summed: int) -> None:
    """Compare the axis of a softmax with the one that the product behind it sums over: the keys."""
    shape, axis = tuple(made._saved_result.shape), _signed(made._saved_dim) % made._saved_result.dim()
    if len(shape) < 2 or shape[summed] < 2 or not _is_product(made.next_functions[0][0]):
        return
    origin = origins.of(made)
    module = origin.module() if origin and origin.module else None
    where, name = origin.where if origin else "", type(module).__name__ if module else ""
    if axis == summed:
        if origin is None or not origin.is_users:  # how a library computes attention is its own choice
            return
        width = node._saved_mat2.shape[-1] if getattr(node, "_saved_mat2", None) is not None else shape[-1]
        facts.by_hand = facts.by_hand or (where, name, (*shape, width))
    elif shape.count(shape[summed]) > 1:  # of tokens to themselves: as many queries as keys
        over_queries = shape[axis] == shape[summed]
        facts.query_softmax = facts.query_softmax or (where, name, len(shape) - 1 - axis, over_queries)


def _softmax_behind(product: Any, operand: int, axis: int) -> tuple[Any, int] | None:
    """The softmax that made an operand of a product, and which of its axes an axis of the operand is."""
    node = product.next_functions[operand][0] if len(product.next_functions) > operand else None
    if node is None:
        return None
    place = axis + len(_shape(node))
    for _ in range(12):
        if node is None or node.name() == "SoftmaxBackward0":
            return None if node is None else (node, place)
        before = _shape(node.next_functions[0][0]) if node.next_functions else ()
        found = _axis_before(node, place, before)
        if found is None:
            return None
        node, place = node.next_functions[0][0], found
    return None


SAME = ("ExpandBackward0", "CloneBackward0", "ToCopyBackward0", "AliasBackward0")
VIEWS = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0")


def _axis_before(node: Any, place: int, before: tuple[int, ...]) -> int | None:
    """Which axis of what a change of layout was given has become one of its result; None if none has."""
    name, after = node.name(), _shape(node)
    if name in SAME or _is_dropout(node):
        return place if len(before) == len(after) else None
    if name == "PermuteBackward0":
        return int(_signed(node._saved_dims[place]) % len(before))
    if name == "TransposeBackward0":
        one, two = (_signed(dim) % len(after) for dim in (node._saved_dim0, node._saved_dim1))
        return {one: two, two: one}.get(place, place)
    if name == "UnsqueezeBackward0":
        new = _signed(node._saved_dim) % len(after)
        return None if place == new else place - (place > new)
    if name in VIEWS or name.startswith("Squeeze"):
        behind = prod(after[place + 1 :])
        fits = [
            at for at, size in enumerate(before) if size == after[place] and prod(before[at + 1 :]) == behind
        ]
        return fits[0] if fits else None
    return None


def _signed(number: int) -> int:
    """Torch saves negative axes as unsigned numbers."""
    return number - 2**64 if number >= 2**63 else number


def _is_dropout(node: Any) -> bool:
    origin = origins.of(node)
    return origin is not None and origin.operation == "dropout"


def _is_product(node: Any) -> bool:
    """Whether scores are products of queries and keys, perhaps scaled and masked."""
    scaled = ("DivBackward0", "MulBackward0", "MaskedFillBackward0", "AddBackward0", "WhereBackward0")
    layout = (*VIEWS, "PermuteBackward0", "TransposeBackward0", "UnsqueezeBackward0", "CloneBackward0")
    for _ in range(12):
        if node is None or node.name() in ("BmmBackward0", "MmBackward0", "BaddbmmBackward0"):
            return node is not None
        if node.name() not in scaled + layout and not node.name().startswith("Squeeze"):
            return False
        node = next((following for following, _ in node.next_functions if following is not None), None)
    return False


def _units(bad: Tensor, node: Any, key_of: Callable[[Tensor], int]) -> Units:
    """The units of an activation, with the nearest weights before it."""
    origin = origins.of(node)
    where = origin.where if origin is not None and origin.is_users else ""
    return Units(float(bad.float().mean()), bad.numel(), weights_before(node, key_of), where)


def weights_before(node: Any, key_of: Callable[[Tensor], int]) -> int:
    """The key of the nearest matrix of weights that the input of an operation was computed from."""
    queue = deque([(node, 0)])
    while queue:
        found, depth = queue.popleft()
        if found.name().endswith("AccumulateGrad"):
            if found.variable.dim() > 1:
                return key_of(found.variable)
        elif depth < 8:
            queue.extend((following, depth + 1) for following, _ in found.next_functions if following)
    return 0


def _read_node(
    facts: GraphFacts, node: Any, name: str, hidden: bool, key_of: Callable[[Tensor], int]
) -> None:
    operation = name.removesuffix("Backward0")
    if name == "ReluBackward0":
        result = node._saved_result
        if result.dim() >= 2 and len(result) > 1:
            dead = (result.flatten(2).amax(2) if result.dim() > 2 else result).amax(0) <= 0
            facts.dead.append(_units(dead, node, key_of))
    elif name in BOUNDS and hidden:
        low, high = BOUNDS[name]
        result, margin = node._saved_result, 0.01 * (high - low) / 2
        at_bound = (result < low + margin) | (result > high - margin)
        facts.saturated.append(_units(at_bound, node, key_of))
    elif operation in ZERO_DERIVATIVE and not facts.zero_derivative:
        origin = origins.of(node)
        facts.zero_derivative, facts.zero_at = operation.lower(), origin.where if origin else ""
    elif name == "LogSoftmaxBackward0":
        scores = _behind_reshapes(node.next_functions[0][0])
        facts.softmax_twice |= scores is not None and scores.name() == "SoftmaxBackward0"
    elif name.startswith("BinaryCrossEntropyWithLogits"):
        scores = _behind_reshapes(node.next_functions[0][0])
        facts.sigmoid_twice = scores is not None and scores.name() == "SigmoidBackward0"
    elif name in ("BmmBackward0", "MmBackward0"):
        _read_attention(facts, node)
    elif name in ("SubBackward0", "RsubBackward0") and facts.broadcast is None:
        facts.broadcast = _broadcast(node)


def _behind_reshapes(node: Any) -> Any:
    while node is not None and node.name() in ("SqueezeBackward0", "SqueezeBackward1", "ViewBackward0"):
        node = node.next_functions[0][0]
    return node


def _broadcast(node: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(N, 1) minus a constant (N,) is (N, N): every prediction is compared with every target."""
    known = [following for following, _ in node.next_functions if following is not None]
    if len(known) != 1 or known[0].name().endswith("AccumulateGrad"):
        return None
    before, after = _shape(known[0]), _shape(node)
    is_square = len(after) == 2 and after[0] == after[1] and after[0] > 1
    return (before, after) if is_square and before in ((after[0], 1), (after[0],)) else None


def _shape(node: Any) -> tuple[int, ...]:
    metadata = getattr(node, "_input_metadata", None)
    return tuple(metadata[0].shape) if metadata else ()


def _summed_rows(loss: Tensor) -> int:
    node: Any = loss.grad_fn
    if node is not None and node.name() == "NegBackward0":  # a negative log-likelihood
        node = node.next_functions[0][0]
    if node is None or node.name() != "SumBackward0":
        return 0
    return next(iter(_shape(node.next_functions[0][0])), 0)


def operation_of(loss: Tensor) -> str:
    """The operation that made a loss: MeanBackward0, ...; for a sum of terms, that of the first term."""
    node: Any = loss.grad_fn
    while node is not None and node.name() == "AddBackward0" and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    return node.name() if node is not None else ""


def first_non_finite(model: nn.Module | None, args: tuple[Any, ...]) -> str:
    """Where NaN or infinity begins: weights, input, a module or the loss, found by running a copy."""
    if model is None:
        return "the loss"
    if any(_is_non_finite(parameter) for parameter in model.parameters()):
        return "the weights"
    if _is_non_finite(first_tensor(args)):
        return "the input"
    found: list[str] = []

    def look(name: str, module: nn.Module, args: Any, output: Any) -> None:
        if not found and _is_non_finite(first_tensor(output)):
            found.append(f"module {name or type(module).__name__}")

    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            twin = copy.deepcopy(model)
            for name, module in twin.named_modules():
                module.register_forward_hook(partial(look, name))
            twin(*args)
    except Exception:  # a network that cannot be copied or run again is not examined further
        return "the network"
    return found[0] if found else "the loss"


def _is_non_finite(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all())
