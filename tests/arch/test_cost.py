"""Costs in closed form against built models, torch's own flop counter and the bytes autograd keeps."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import ViT

ARCHS = {
    "mnist": tables.arch("mnist"),
    "mnist-slim": tables.arch("mnist-slim"),
    "cifar": tables.arch("cifar"),
    "no dropout": tables.arch("mnist", ("dropout=0",)),
    "long": Arch(image=224, channels=3, patch=16, width=96, depth=2, heads=3, mlp=384),
    "mean": Arch(class_token=False, pooling="mean", positions="none", patch=4),
    "uneven": Arch(positions="sinusoidal", heads=(1, 2, 4, 8, 8, 8), mlp=(16, 32, 64, 64, 64, 64)),
    "norm after pooling": Arch(pooling="mean", final_norm="pooled", depth=1, mlp=16, width=256),
    "many classes": Arch(depth=1, classes=100_000),
    "biased": Arch(qkv_bias=True, out_bias=False, heads=3, head_dim=20, activation="relu", dropout=0.2),
}


@pytest.mark.parametrize("arch", ARCHS.values(), ids=list(ARCHS))
def test_parameters_and_multiply_adds_are_those_of_the_built_model(arch: Arch) -> None:
    model = ViT(arch).eval()
    assert cost.cost(arch).params == sum(parameter.numel() for parameter in model.parameters())
    image = torch.zeros(1, arch.channels, arch.image, arch.image)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(image)
    assert 2 * cost.cost(arch).macs == counter.get_total_flops()


@pytest.mark.parametrize("arch", ARCHS.values(), ids=list(ARCHS))
def test_activation_memory_is_what_autograd_keeps_within_20_percent(arch: Arch) -> None:
    assert cost.cost(arch).activation_bytes == pytest.approx(kept_bytes(arch), rel=0.2)


@pytest.mark.parametrize("kernel", plugins.members("kernels"))
@pytest.mark.parametrize("patch", [7, 2])
def test_multiply_adds_hold_for_every_kernel_and_length(kernel: str, patch: int) -> None:
    arch = Arch(kernel=kernel, depth=2, patch=patch)
    # torch counts only the form of a batched product that returns a new tensor.
    in_place = {torch.ops.aten.baddbmm_: lambda total, a, b, **_: 2 * a.numel() * b[2]}
    counting = FlopCounterMode(display=False, custom_mapping=in_place)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counting as counter:
        ViT(arch).eval()(torch.zeros(1, 1, 28, 28))
    assert 2 * cost.cost(arch).macs == counter.get_total_flops()


@pytest.mark.parametrize("kernel", plugins.members("kernels"))
@pytest.mark.parametrize("patch", [7, 2])
def test_activation_memory_holds_for_every_kernel(kernel: str, patch: int) -> None:
    arch = Arch(kernel=kernel, patch=patch, depth=2)
    assert cost.cost(arch).activation_bytes == pytest.approx(kept_bytes(arch), rel=0.2)


def kept_bytes(arch: Arch, batch: int = 4) -> float:
    """Bytes per image that one training step keeps for backward; each storage counts once, weights do not."""
    model = ViT(arch).train()
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}
    alive = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)  # keeps an address from being used twice
        return tensor

    x = torch.randn(batch, arch.channels, arch.image, arch.image)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        cross_entropy(model(x), torch.zeros(batch, dtype=torch.long))
    return sum(kept.values()) / batch


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("mnist", 892_938),
        ("mnist-slim", 204_810),
        ("vit_base_patch16_224", 86_567_656),
        ("vit_huge_patch14_224", 632_045_800),
    ],
)
def test_presets_have_their_published_sizes(name: str, params: int) -> None:
    assert cost.cost(tables.arch(name)).params == params


def test_the_assignments_formula_is_the_attention_part_of_the_cost() -> None:
    arch = Arch(depth=1)
    attention = next(part for part in cost.parts(arch) if part.name == "layer 0 attention")
    assert attention.macs == 4 * 17 * 64**2 + 2 * 17**2 * 64


def test_a_training_that_does_not_fit_is_refused_with_its_size() -> None:
    with pytest.raises(UserError, match=r"training it with batch 1000000 needs about [\d,.]+ GiB"):
        cost.refuse_if_too_big(tables.arch("cifar"), batch=1_000_000)
    cost.refuse_if_too_big(tables.arch("cifar"), batch=8)
