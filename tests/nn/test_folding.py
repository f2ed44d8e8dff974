"""Attention that multiplies its weights first, for the tokens that are read, against the plain order."""

import copy
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.nn import attention_maps
from vitruvius.nn.attention import MultiHeadAttention, in_full
from vitruvius.nn.vit import EncoderLayer, ViT, build

EXACT = 1e-12
ARCHS = {
    "reference": Arch(head_dim=64, depth=2),
    "biases": Arch(head_dim=64, depth=2, qkv_bias=True),
    "no output bias": Arch(head_dim=48, depth=2, qkv_bias=True, out_bias=False),
    "neither bias": Arch(head_dim=40, depth=1, out_bias=False),
    "one head": Arch(heads=1, depth=2, width=20),
    "heads by layer": Arch(depth=4, heads=(1, 2, 8, 3), head_dim=(64, 40, 8, 70)),
    "no class token": Arch(depth=2, class_token=False, pooling="mean", head_dim=64, patch=4),
    "most tokens": Arch(image=32, patch=4, class_token=False, pooling="mean", depth=1, width=24, head_dim=24),
    "narrow heads": Arch(depth=2),
    "narrow heads, biases": Arch(depth=1, qkv_bias=True, layer_scale=0.1, final_norm="pooled"),
    "many tokens": Arch(image=32, patch=2, depth=2, width=16, heads=2, mlp=16),
    "public weights": Arch(depth=2, head_dim=64, init="public", qkv_bias=True, positions="sinusoidal"),
}
Sizes = dict[str, Any]


def gap(found: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest entry."""
    return float((found - expected).detach().abs().max() / expected.detach().abs().max().clamp_min(1e-300))


def results(model: nn.Module, x: Tensor, plain: bool) -> dict[str, Tensor]:
    """The output of a network, and the gradients of a loss for its input and all parameters."""
    x = x.clone().requires_grad_()
    with in_full(model) if plain else nullcontext():
        output = model(x)
    loss = (output * torch.linspace(-1, 2, output.numel(), dtype=output.dtype).view_as(output)).sum()
    leaves = dict(model.named_parameters()) | {"input": x}
    found = torch.autograd.grad(loss, list(leaves.values()))
    return {"output": output, **dict(zip(leaves, found, strict=True))}


def differences(model: nn.Module, x: Tensor) -> dict[str, float]:
    """How far both orders differ, by name."""
    folded, plain = results(model, x, plain=False), results(model, x, plain=True)
    return {name: gap(folded[name], plain[name]) for name in plain}


def with_biases(model: nn.Module) -> nn.Module:
    """The model in float64 with biases that are not zero."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.double().named_parameters():
            if name.endswith("bias"):
                parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


@pytest.mark.parametrize("arch", ARCHS.values(), ids=list(ARCHS))
def test_networks_give_the_same_output_and_gradients_in_both_orders(arch: Arch) -> None:
    assert cost.cost(arch).pass_macs or cost.last_tokens(arch) == 1
    torch.manual_seed(0)
    images = torch.randn(3, arch.channels, arch.image, arch.image, dtype=torch.float64)
    found = differences(with_biases(build(arch, 0)), images)
    assert {name: value for name, value in found.items() if value > EXACT} == {}
    assert any(value > 0 for value in found.values())  # both orders were taken


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(
        {
            "width": st.integers(1, 24),
            "heads": st.integers(1, 4),
            "head_dim": st.integers(1, 24),
            "qkv_bias": st.booleans(),
            "out_bias": st.booleans(),
        }
    ),
    st.integers(1, 64),
)
def test_modules_of_any_size_agree_in_both_orders(sizes: Sizes, tokens: int) -> None:
    assume(cost.folds("softmax", tokens, sizes["width"], sizes["head_dim"]))
    torch.manual_seed(1)
    x = torch.randn(2, tokens, sizes["width"], dtype=torch.float64)
    found = differences(with_biases(MultiHeadAttention(**sizes)), x)
    # The weight of a single token is 1 whatever its score: its gradient is nothing but rounding errors.
    exact = {name for name in found if tokens > 1 or name in ("output", "input", "out.weight", "out.bias")}
    assert {name: found[name] for name in exact if found[name] > EXACT} == {}


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(
        {
            "width": st.integers(1, 24),
            "heads": st.integers(1, 4),
            "head_dim": st.integers(1, 24),
            "qkv_bias": st.booleans(),
            "out_bias": st.booleans(),
        }
    ),
    st.integers(2, 80),
    st.integers(1, 3),
)
def test_the_first_tokens_alone_get_what_they_get_among_all(sizes: Sizes, tokens: int, first: int) -> None:
    torch.manual_seed(1)
    model, x = with_biases(MultiHeadAttention(**sizes)), torch.randn(2, tokens, sizes["width"]).double()

    def gradients(output: Tensor) -> list[Tensor]:
        loss = (output[:, :first] * torch.linspace(-1, 2, sizes["width"], dtype=torch.float64)).sum()
        return [output[:, :first], *torch.autograd.grad(loss, [x, *model.parameters()])]

    x.requires_grad_()
    with in_full(model):
        expected = gradients(model(x))
    found = gradients(model(x, first=first))
    # Where all gradients of a tensor vanish, as those of scores without influence, rounding errors are left.
    largest = max(float(one.detach().abs().max()) for one in expected)
    assert max(
        float((a - b).detach().abs().max()) for a, b in zip(found, expected, strict=True)
    ) < 1e-12 * max(1.0, largest)


def test_the_bias_of_keys_has_no_gradient_at_all() -> None:
    model = with_biases(MultiHeadAttention(8, 2, 8, qkv_bias=True))
    bias = results(model, torch.randn(2, 9, 8, dtype=torch.float64), plain=False)["qkv.bias"]
    _, keys, _ = bias.view(3, 16)
    assert torch.equal(keys, torch.zeros_like(keys))
    assert bias.count_nonzero() == 32


def test_masks_and_long_sequences_take_the_plain_order(monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = MultiHeadAttention(8, 2, 8), []
    project = model.project

    def counted(x_BND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        calls.append(x_BND.shape[1])
        return project(x_BND)

    monkeypatch.setattr(model, "project", counted)
    model(torch.randn(1, 9, 8))
    assert calls == []
    model(torch.randn(1, 9, 8), "causal")
    model(torch.randn(1, 65, 8))
    with in_full(model):
        model(torch.randn(1, 10, 8))
    assert calls == [9, 65, 10]
    model(torch.randn(1, 9, 8))
    assert calls == [9, 65, 10]


def test_unfolded_restores_the_choice_after_an_error() -> None:
    model = build(ARCHS["reference"], 0)
    with pytest.raises(KeyError), in_full(model):
        raise KeyError
    parts = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    assert [(part.may_fold, part.may_skip) for part in parts] == [(True, True)] * 2


def test_of_the_last_layer_only_what_is_read_is_computed_unless_somebody_looks() -> None:
    model, images = build(Arch(depth=2), 0), torch.randn(2, 1, 28, 28)
    before, shapes = model(images), []
    features = model.features(images)
    last = model.layers[-1]
    assert isinstance(last, EncoderLayer)
    for watched in (model.norm, last, last.mlp[0], last.attention.qkv):
        hook = watched.register_forward_hook(lambda part, given, output: shapes.append(output.shape[1]))
        torch.testing.assert_close(model(images), before)
        hook.remove()
    assert shapes == [17] * 4
    assert model.encode(model.embed(images)).shape[1] == 17
    assert model.encode(model.embed(images), 1).shape[1] == 1
    torch.testing.assert_close(model.features(images), features)


def test_a_replaced_projection_is_used_by_the_class_token_too() -> None:
    model, images = build(Arch(depth=1), 0), torch.randn(2, 1, 28, 28)
    last = model.layers[-1]
    assert isinstance(last, EncoderLayer)
    adapted = Adapted(64, 192, bias=False)
    adapted.load_state_dict(last.attention.qkv.state_dict())
    last.attention.qkv = adapted
    found = model(images)
    with in_full(model):
        torch.testing.assert_close(found, model(images))


class Adapted(nn.Linear):
    """A map that adds something of its own, as adapters do."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + 1


def test_hooks_on_a_projection_and_maps_put_in_its_place_are_respected() -> None:
    torch.manual_seed(0)
    model, x = MultiHeadAttention(8, 2, 8), torch.randn(1, 5, 8)
    seen: list[tuple[int, ...]] = []
    hook = model.qkv.register_forward_hook(lambda part, given, output: seen.append(tuple(output.shape)))
    before = model(x)
    assert seen == [(1, 5, 48)]
    hook.remove()
    torch.testing.assert_close(model(x), before)
    assert len(seen) == 1
    adapted = Adapted(16, 8)
    adapted.load_state_dict(model.out.state_dict())
    model.out = adapted
    torch.testing.assert_close(model(x), before + 1)


def test_the_recorded_weights_are_those_of_the_folded_order() -> None:
    arch = ARCHS["biases"]
    model = with_biases(build(arch, 0))
    images = torch.randn(2, 1, 28, 28, dtype=torch.float64)
    used: list[Tensor] = []

    def record(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        x, part = given[0], module
        assert isinstance(part, MultiHeadAttention)
        _, _, v = part.project(x)
        used.append(output - part.out((maps[len(used)] @ v).transpose(1, 2).flatten(2)))

    maps = attention_maps.attention(model, images)
    for layer in model.modules():
        if isinstance(layer, MultiHeadAttention):
            layer.register_forward_hook(record)
    with torch.no_grad():
        model.eval()(images)
    assert len(maps) == len(used) == arch.depth
    assert all(found.shape == (2, 8, 17, 17) for found in maps)
    assert max(float(error.abs().max()) for error in used) < 1e-12


def test_parameters_and_their_names_are_those_of_the_plain_order() -> None:
    arch = Arch(head_dim=64, depth=1)
    model = build(arch, 0)
    shapes = {name: tuple(value.shape) for name, value in model.layers[0].state_dict().items()}
    assert shapes["attention.qkv.weight"] == (3 * 512, 64)
    assert shapes["attention.out.weight"] == (64, 512)
    assert sum(p.numel() for p in model.parameters()) == cost.cost(arch).params
    twin = copy.deepcopy(model)
    images = torch.randn(2, 1, 28, 28)
    assert torch.equal(twin(images), model(images))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_as_close_as_in_the_plain_order(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    exact = MultiHeadAttention(64, 8, 64, qkv_bias=True)
    x = torch.randn(4, 17, 64)
    expected = exact(x)
    half, given = copy.deepcopy(exact).to(dtype), x.to(dtype)
    assert half(given).dtype == dtype
    folded = gap(half(given).float(), expected)
    with in_full(half):
        plain = gap(half(given).float(), expected)
    assert folded < max(2 * plain, 8 * torch.finfo(dtype).eps)


def test_softmax_sees_float32_under_autocast() -> None:
    torch.manual_seed(0)
    model, x = MultiHeadAttention(64, 8, 64), torch.randn(4, 17, 64)
    types: list[torch.dtype] = []

    class Softmax(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(func, "__name__", "") == "softmax":
                types.append(args[0].dtype)
            return func(*args, **(kwargs or {}))

    with torch.autocast("cpu", torch.bfloat16), Softmax():
        output = model(x)
    assert output.dtype == torch.bfloat16
    assert types == [torch.float32]
    assert gap(output.float(), model(x)) < 0.05


def test_second_derivatives_agree() -> None:
    torch.manual_seed(0)
    model, x = MultiHeadAttention(6, 2, 6, qkv_bias=True).double(), torch.randn(1, 4, 6, dtype=torch.float64)

    def products() -> list[Tensor]:
        leaves = list(model.parameters())
        first = torch.autograd.grad(model(x).square().sum(), leaves, create_graph=True)
        return list(torch.autograd.grad(sum(g.square().sum() for g in first), leaves))  # type: ignore[arg-type]

    folded = products()
    with in_full(model):
        plain = products()
    assert max(map(gap, folded, plain)) < 1e-11


@pytest.mark.slow
def test_a_compiled_network_gives_the_same_gradients() -> None:
    model = ViT(Arch(image=8, patch=4, width=8, heads=2, head_dim=8, depth=2, mlp=8)).double()
    assert cost.cost(model.arch).pass_macs
    images, labels = torch.randn(2, 1, 8, 8, dtype=torch.float64), torch.tensor([1, 7])
    compiled: Any = torch.compile(model, fullgraph=True)
    found = []
    for network in (model, compiled):
        cross_entropy(network(images), labels).backward()
        found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        model.zero_grad()
    assert max(map(gap, *found)) < 1e-10


def test_the_law_notices_a_wrong_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = MultiHeadAttention(8, 2, 8).double()
    right = model.attend

    def wrong(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, beta: float | None = None) -> Tensor:
        return right(q, k, v, mask, beta=beta and 8**0.5)  # the folded order alone gives a beta

    monkeypatch.setattr(model, "attend", wrong)
    found = differences(model, torch.randn(2, 9, 8, dtype=torch.float64))
    assert found["output"] > 1e-6
    assert found["qkv.weight"] > 1e-6


def test_every_parameter_takes_part_under_data_parallelism(tmp_path: Path) -> None:
    model = with_biases(build(ARCHS["biases"], 0))
    images, labels = torch.randn(2, 1, 28, 28, dtype=torch.float64), torch.tensor([1, 7])
    cross_entropy(model(images), labels).backward()
    alone = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    meeting = f"file://{tmp_path / 'store'}"
    distributed.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
    try:
        parallel = nn.parallel.DistributedDataParallel(model)  # fails if a parameter has no gradient
        for _ in range(2):
            model.zero_grad()
            cross_entropy(parallel(images), labels).backward()
    finally:
        distributed.destroy_process_group()
    together = [p.grad for p in model.parameters() if p.grad is not None]
    assert len(together) == len(alone) == len(list(model.parameters()))
    assert max(map(gap, together, alone)) < EXACT
