"""How much memory the minibatches of a ranking take, and a training step of any network.

The latter by what autograd keeps for the backward pass.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from vitruvius.arch import cost
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.proxies import OnePass

SHARE = 0.5
"""Share of the machine's memory that the minibatches of all seeds may take; the rest is for the networks."""


def refuse_batches(shape: Sequence[int], batch: int, seeds: int, processes: int) -> None:
    """Refuse minibatches, one for each seed and all of them in each process, before they are drawn."""
    need, have = cost.FLOAT * math.prod(shape) * batch * seeds * processes, cost.memory_bytes()
    if need > SHARE * have:
        copies = f" in each of {processes} processes" if processes > 1 else ""
        asked = f"{counted(seeds, 'seed')} with minibatches of {counted(batch, 'image')}{copies}"
        raise UserError(
            f"{asked} would take {need / 2**30:,.1f} GiB, "
            f"more than half of this machine's {have / 2**30:,.1f} GiB: choose fewer --seeds or a smaller "
            "--batch"
        )


def training_bytes(once: OnePass) -> int | None:
    """Return the bytes of weights, gradients, AdamW's state and stored activations; None if it cannot run.

    The same quantity as `Cost.training_bytes`, which knows it of an Arch in closed form.
    """
    parameters = {_storage(value): value.untyped_storage().nbytes() for value in once.model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        # What is kept stays in memory until the pass is over, so that no address is used twice.
        kept[_storage(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    try:
        with once.preserved(), saved_tensors_hooks(note, lambda tensor: tensor):
            scores = once.class_scores(once.x)
            loss = torch.nn.functional.cross_entropy(scores, once.y)
    except (UserError, RuntimeError, ValueError, TypeError, IndexError):  # the scores say why
        return None
    activations = sum(size for address, size in kept.items() if address not in parameters)
    del loss
    return cost.TRAINING_COPIES * sum(parameters.values()) + activations


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
