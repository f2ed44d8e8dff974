"""Memory of a training: the device, the checkpoint's copy and the best weights count."""

import pytest
import torch

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.training import memory

SMALL = Arch(image=8, patch=4, width=8, depth=2, heads=2, mlp=8, classes=2)
CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


def test_a_large_network_with_small_batches_is_bound_by_the_writing_of_its_checkpoint() -> None:
    """Weights, moments and best weights, their bytes by name, and the file: three times four copies."""
    arch = tables.arch("vit_base_patch16_224")
    found = cost.cost(arch)
    assert memory.need(arch, 1, "cpu") == (0, 12 * found.weight_bytes)
    assert memory.need(arch, 1, "cpu", "float64") == (0, 24 * found.weight_bytes)
    assert memory.need(arch, 1, "cuda").device == found.training_bytes(1)
    assert memory.need(arch, 1, "cuda").machine == 9 * found.weight_bytes


def test_with_large_batches_the_activations_count_beside_the_best_weights() -> None:
    found = cost.cost(SMALL)
    assert memory.need(SMALL, 1000, "cpu").machine == found.training_bytes(1000) + found.weight_bytes


def test_the_guard_asks_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "total_bytes", lambda where: 2**20)
    options = {"precision": "float32", "save_memory": False, "processes": 1}
    memory.refuse_if_too_big(SMALL, 8, GPU, **options)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"batch 4096 needs about .* cuda:0 has 0\.0 GiB; .*--save-memory"):
        memory.refuse_if_too_big(SMALL, 4096, GPU, **options)  # type: ignore[arg-type]
    memory.refuse_if_too_big(SMALL, 4096, CPU, **options)  # type: ignore[arg-type]


def test_every_process_needs_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    need = memory.need(SMALL, 8, "cpu").machine
    monkeypatch.setattr(cost, "memory_bytes", lambda: 3 * need)
    memory.refuse_if_too_big(SMALL, 8, CPU, "float32", False, 2)
    with pytest.raises(UserError, match="does not fit"):
        memory.refuse_if_too_big(SMALL, 8, CPU, "float32", False, 3)


def test_the_evaluation_batch_is_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.evaluation_batch(SMALL, CPU, 500) == 500
    monkeypatch.setattr(memory, "free_bytes", lambda where: 80 * memory.layer_bytes(SMALL))
    assert memory.evaluation_batch(SMALL, GPU, 500) == 10
    monkeypatch.setattr(memory, "free_bytes", lambda where: 1)
    assert memory.evaluation_batch(SMALL, GPU, 500) == 1


def test_recomputing_keeps_the_inputs_of_the_layers_and_one_layer() -> None:
    deep = tables.arch("mnist", ("depth=12",))
    assert memory.recomputed_bytes(deep) < cost.activation_bytes(deep) / 5


def test_images_stay_on_a_device_that_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda where: 1000)
    assert memory.fits_data(250, GPU)
    assert not memory.fits_data(251, GPU)
    assert memory.fits_data(10**15, CPU)
