"""Costs in closed form against built models, torch's own flop counter and the bytes autograd keeps."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.kernels import softmax
from vitruvius.nn.attention import in_full
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
    "folded, biased": Arch(
        qkv_bias=True, out_bias=False, heads=(1, 2, 4, 8, 3, 3), head_dim=(80, 64, 48, 8, 40, 36), patch=14
    ),
    "folded, mean": Arch(
        class_token=False, pooling="mean", patch=4, head_dim=50, width=48, heads=2, dropout=0.1
    ),
    "layer scale": Arch(layer_scale=0.1, depth=2, mlp=32, dropout=0.1),
    "stem": Arch(stem=(8, 16), patch=4, depth=2, mlp=32),
    "stem that begins at full size": Arch(stem=(4, 8, 16), patch=4, depth=2, mlp=32),
    "stem, larger patches": Arch(image=32, channels=3, stem=(8,), patch=8, depth=1, activation="silu"),
    "biased": Arch(qkv_bias=True, out_bias=False, heads=3, head_dim=20, activation="relu", dropout=0.2),
}


@pytest.mark.parametrize("arch", ARCHS.values(), ids=list(ARCHS))
def test_parameters_and_multiply_adds_are_those_of_the_built_model(arch: Arch) -> None:
    model = ViT(arch).eval()
    assert cost.cost(arch).params == sum(parameter.numel() for parameter in model.parameters())
    found = cost.cost(arch)
    # torch does not count the product of a matrix and a single vector.
    vector = {torch.ops.aten.mv: lambda a, b, **_: 2 * a[0] * a[1]}
    for batch in (1, 3):
        image = torch.zeros(batch, arch.channels, arch.image, arch.image)
        counting = FlopCounterMode(display=False, custom_mapping=vector)
        with (
            torch.no_grad(),
            in_full(model, may_fold=True),
            sdpa_kernel(SDPBackend.MATH),
            counting as counter,
        ):
            model(image)
        assert 2 * (batch * found.macs + found.pass_macs) == counter.get_total_flops()


def test_the_networks_that_fold_are_priced_as_folded() -> None:
    folding = {name for name, arch in ARCHS.items() if cost.cost(arch).pass_macs}
    assert folding == {"mnist", "no dropout", "uneven", "folded, biased", "folded, mean"}
    attention = next(part for part in cost.parts(ARCHS["mnist"]) if part.name == "layer 0 attention")
    assert attention.macs == 2 * 17 * 8 * 64**2 + 2 * 17**2 * 8 * 64
    assert cost.cost(ARCHS["mnist"]).pass_macs == 6 * 2 * 8 * 64**3
    mixed = ARCHS["folded, biased"]
    assert [cost.folds("softmax", 5, 64, layer.head_dim) for layer in mixed.layers].count(True) == 3


@given(st.integers(1, 64), st.integers(1, 512), st.integers(1, 512))
def test_folding_is_chosen_where_it_multiplies_less(tokens: int, width: int, head_dim: int) -> None:
    plain = 4 * tokens * width * head_dim + 2 * tokens**2 * head_dim
    folded = 2 * tokens * width**2 + 2 * tokens**2 * width
    forming = 2 * width**2 * head_dim
    assert cost.folds("softmax", tokens, width, head_dim) == (32 * folded + forming < 32 * plain)


def test_what_stores_no_weights_does_not_fold() -> None:
    assert cost.PAIRWISE_TOKENS == softmax.EXPLICIT_KEYS
    assert cost.folds("softmax", 64, 64, 64)
    assert not cost.folds("softmax", 65, 64, 64)
    assert not any(cost.folds(name, 17, 64, 64) for name in plugins.members("kernels") if name != "softmax")


def test_memory_of_a_training_step_counts_the_products_of_weights_once() -> None:
    found = cost.cost(ARCHS["mnist"])
    growth = found.training_bytes(33) - found.training_bytes(32)
    assert growth == found.activation_bytes
    assert found.training_bytes(0) == 16 * found.params + found.pass_bytes


@pytest.mark.parametrize("arch", ARCHS.values(), ids=list(ARCHS))
def test_activation_memory_is_what_autograd_keeps_within_20_percent(arch: Arch) -> None:
    found = cost.cost(arch)
    few, many = (kept_bytes(arch, batch) * batch for batch in (2, 6))
    per_image = (many - few) / 4
    assert found.activation_bytes == pytest.approx(per_image, rel=0.2)
    assert found.pass_bytes == pytest.approx(few - 2 * per_image, rel=0.01, abs=256)


@pytest.mark.parametrize("kernel", plugins.members("kernels"))
@pytest.mark.parametrize("patch", [7, 2])
def test_multiply_adds_hold_for_every_kernel_and_length(kernel: str, patch: int) -> None:
    arch = Arch(kernel=kernel, depth=2, patch=patch)
    # torch counts only the form of a batched product that returns a new tensor.
    in_place = {torch.ops.aten.baddbmm_: lambda total, a, b, **_: 2 * a.numel() * b[2]}
    counting = FlopCounterMode(display=False, custom_mapping=in_place)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counting as counter:
        model = ViT(arch).eval()
        with in_full(model):
            model(torch.zeros(1, 1, 28, 28))
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
