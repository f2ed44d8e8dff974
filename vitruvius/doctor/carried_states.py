"""States that a recurrent network returns and is given again with the next batch, cut off their graphs."""

import weakref
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from vitruvius.checks import first_tensor
from vitruvius.doctor.tensor_facts import first_values

FEWEST = 3  # batches in a row
RECURRENT = (nn.RNNBase, nn.RNNCellBase)


class CarriedStates:
    """What recurrent networks returned last, and how often that was given to them again."""

    def __init__(self) -> None:
        self.returned: weakref.WeakKeyDictionary[nn.Module, tuple[int, list[list[float]]]] = (
            weakref.WeakKeyDictionary()
        )
        self.times = 0

    def network_ran(self, model: nn.Module, given: Any, output: Any, batch: int) -> dict[str, Any] | None:
        """The facts, once a state was carried on several times to another batch of a loader that shuffles."""
        x = first_tensor(given)
        rows = len(x) if x is not None and x.dim() else 0
        if not batch or not rows or self.times >= FEWEST:
            return None
        if not any(isinstance(module, RECURRENT) for module in model.modules()):
            return None
        earlier, known = self.returned.get(model, (batch, []))
        states = [state for state in _tensors(given) if state is not x and rows in state.shape[:2]]
        if earlier != batch and any(first_values(state) in known for state in states):
            self.times += 1
        kept = [values for state in _tensors(output) if len(set(values := first_values(state))) > 1]
        self.returned[model] = (batch, kept)
        return {"holder": "", "detached": True} if self.times == FEWEST else None


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries that hold fractions along several axes."""
    if isinstance(value, Tensor):
        if value.is_floating_point() and value.dim() > 1:
            yield value
    elif isinstance(value, tuple | list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)
