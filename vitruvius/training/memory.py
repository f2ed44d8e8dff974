"""The memory of a training: what it needs on its device and in the machine, and what is there.

While a step is computed, the device holds weights, gradients, two moments of AdamW and the activations of the
micro-batch. While a checkpoint is written, the machine holds a copy of weights, moments and best weights, and
the same once more as the bytes of a file. On a CPU both are the same memory, at different times.
"""

from typing import NamedTuple

import torch

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError

USABLE = 0.9
"""Share of a memory that a training may fill; the rest is the system's and the library's."""
KEPT_COPIES = 4
"""Weights, two moments, best weights: what a checkpoint holds."""
DATA_SHARE = 0.25
"""Share of a GPU's free memory that the images may take; else they stay in the machine."""
EVALUATION_SHARE = 0.25
"""Share of the free memory that the activations of an evaluation may take."""


class Need(NamedTuple):
    """Bytes that one process needs on its device and in the machine; on a CPU, all in the machine."""

    device: int
    machine: int


def need(arch: Arch, batch: int, device: str, precision: str = "float32", save_memory: bool = False) -> Need:
    """Return what training a network needs, with so many images in a micro-batch."""
    found = cost.cost(arch)
    wide = 2 if precision == "float64" else 1
    weights = wide * found.weight_bytes
    # Half of the activations of 16-bit training, norms and softmax, stay 32 bits wide.
    narrow = 0.75 if precision in ("bfloat16", "float16") else 1.0
    per_image = recomputed_bytes(arch) if save_memory else found.activation_bytes
    step = cost.TRAINING_COPIES * weights + int(wide * narrow * (batch * per_image + found.pass_bytes))
    writing = 2 * KEPT_COPIES * weights
    if device == "cpu":
        # The moments, the weights and the best weights stay while a file is written or a step computed.
        return Need(0, max(step + weights, KEPT_COPIES * weights + writing))
    return Need(step, weights + writing)


def recomputed_bytes(arch: Arch) -> int:
    """Return the bytes kept of one image if every layer keeps its input only and is computed again.

    One layer at a time has all its activations.
    """
    return cost.FLOAT * arch.depth * arch.tokens * arch.width + layer_bytes(arch)


def refuse_if_too_big(
    arch: Arch, batch: int, where: torch.device, precision: str, save_memory: bool, processes: int
) -> None:
    """Refuse a training that does not fit into its device or its machine, with what would help."""
    needed = need(arch, batch, where.type, precision, save_memory)
    stores = [("this machine has", processes * needed.machine, cost.memory_bytes())]
    if where.type != "cpu":
        stores.append((f"{where} has", needed.device, total_bytes(where)))
    for store, bytes_needed, have in stores:
        if bytes_needed > USABLE * have:
            cure = "" if save_memory else "; --save-memory computes activations twice and keeps few of them"
            raise UserError(
                f"a network of {cost.cost(arch).params:,} parameters does not fit: training it with batch "
                f"{batch} needs about {bytes_needed / 2**30:,.1f} GiB, {store} {have / 2**30:,.1f} GiB; "
                f"a smaller --batch or a larger --accumulate needs less{cure}"
            )


def evaluation_batch(arch: Arch, where: torch.device, largest: int) -> int:
    """Return how many images to evaluate at once: `largest`, or what a quarter of the free memory holds."""
    per_image = 2 * layer_bytes(arch)  # its input is still there
    return max(1, min(largest, int(EVALUATION_SHARE * free_bytes(where)) // per_image))


def layer_bytes(arch: Arch) -> int:
    """Return the bytes of the activations of one image in a layer, on average over the layers."""
    return -(-cost.activation_bytes(arch) // arch.depth)


def fits_data(bytes_needed: int, where: torch.device) -> bool:
    """Whether images of this size may stay on the device."""
    return where.type == "cpu" or bytes_needed <= DATA_SHARE * free_bytes(where)


def free_bytes(where: torch.device) -> int:
    """Return the memory of a device that is free; of a CPU, what this process may use at all."""
    if where.type == "cuda":
        return int(torch.cuda.mem_get_info(where)[0])
    if where.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return cost.memory_bytes()


def total_bytes(where: torch.device) -> int:
    """Return the memory of a device."""
    if where.type == "cuda":
        return int(torch.cuda.get_device_properties(where).total_memory)
    return int(torch.mps.recommended_max_memory()) if where.type == "mps" else cost.memory_bytes()
