"""Dropout: what it drops, what it keeps, and that it is PyTorch's in every other respect."""

import pytest
import torch
from torch import Tensor, nn

from vitruvius.arch.arch import Arch
from vitruvius.nn.dropout import Dropout, drop_path
from vitruvius.nn.vit import EncoderLayer, build


def dropped(p: float, *shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    torch.manual_seed(seed)
    return Dropout(p).train()(torch.ones(shape, dtype=dtype))


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_the_share_of_zeros_is_the_rate_and_the_mean_is_kept(p: float) -> None:
    count = 400_000
    y = dropped(p, count)
    five_errors = 5 * (p * (1 - p) / count) ** 0.5
    assert (y == 0).double().mean().item() == pytest.approx(p, abs=five_errors + 2**-17)
    assert y.double().mean().item() == pytest.approx(1, abs=five_errors / (1 - p))


def test_kept_elements_are_scaled_by_one_number() -> None:
    kept = dropped(0.1, 1000).unique()
    assert kept.tolist() == pytest.approx([0, 1 / 0.9], rel=1e-4)


@pytest.mark.parametrize("lane", range(4))
def test_each_quarter_of_a_draw_drops_alike_and_alone(lane: int) -> None:
    """The four elements that share a 64-bit draw are independent of one another."""
    zeros_N4 = (dropped(0.5, 100_000, 4) == 0).double()
    assert zeros_N4[:, lane].mean().item() == pytest.approx(0.5, abs=0.01)
    together = torch.corrcoef(zeros_N4.T)[lane]
    together[lane] = 0
    assert together.abs().max().item() < 0.02


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (2, 3, 5, 7), (0, 4)])
def test_any_shape_is_kept(shape: tuple[int, ...]) -> None:
    assert dropped(0.3, *shape).shape == shape


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_every_precision_drops_the_same_elements(dtype: torch.dtype) -> None:
    found = dropped(0.2, 999, dtype=dtype)
    assert found.dtype == dtype
    assert torch.equal(found == 0, dropped(0.2, 999) == 0)


def test_the_seed_decides_and_nothing_else() -> None:
    assert torch.equal(dropped(0.3, 100), dropped(0.3, 100))
    assert not torch.equal(dropped(0.3, 100), dropped(0.3, 100, seed=1))


def test_gradients_pass_where_values_do() -> None:
    x = torch.randn(50, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.4).train()(x)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), y.detach())


@pytest.mark.parametrize(("p", "train"), [(0.0, True), (1.0, True), (0.5, False)])
def test_the_limits_are_those_of_pytorch(p: float, train: bool) -> None:
    x = torch.randn(10)
    assert torch.equal(Dropout(p).train(train)(x), nn.Dropout(p).train(train)(x))


def test_a_compiled_mask_is_the_eager_one() -> None:
    x, module = torch.randn(33), Dropout(0.5)
    torch.manual_seed(0)
    eager = module(x)
    torch._dynamo.reset()
    torch.manual_seed(0)
    assert torch.equal(torch.compile(module, backend="aot_eager")(x), eager)


def test_a_path_is_dropped_for_whole_samples_and_the_mean_is_kept() -> None:
    torch.manual_seed(0)
    y = drop_path(torch.ones(20_000, 2, 3, dtype=torch.float64), 0.3, training=True)
    assert torch.equal(y, y[:, :1, :1].expand_as(y))
    assert sorted(set(y[:, 0, 0].tolist())) == pytest.approx([0, 1 / 0.7])
    assert y.mean().item() == pytest.approx(1, abs=5 * (0.3 / 0.7 / 20_000) ** 0.5)
    x = torch.randn(4, 2)
    assert drop_path(x, 0.3, training=False) is x
    assert drop_path(x, 0.0, training=True) is x


def test_paths_are_dropped_more_often_in_deeper_layers_and_never_in_evaluation() -> None:
    arch = Arch(image=8, patch=4, width=8, depth=3, heads=2, mlp=8)
    model, plain = build(arch, seed=0), build(arch, seed=0)
    model.set_drop_path(0.5)
    rates = [layer.drop_path for layer in model.layers if isinstance(layer, EncoderLayer)]
    assert rates == [0.0, 0.25, 0.5]
    x = torch.randn(16, 1, 8, 8)
    assert torch.equal(model.eval()(x), plain.eval()(x))
    torch.manual_seed(0)
    before = torch.get_rng_state()
    plain.train()(x)
    assert torch.equal(torch.get_rng_state(), before)  # without it no number is drawn
    assert not torch.equal(model.train()(x), model(x))
    alone = build(arch.with_fields(depth=1), seed=0)
    alone.set_drop_path(0.5)
    assert [layer.drop_path for layer in alone.layers if isinstance(layer, EncoderLayer)] == [0.5]


def test_layer_scale_multiplies_what_each_half_adds() -> None:
    arch = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8)
    scaled, plain = build(arch.with_fields(layer_scale=0.25), seed=0).double(), build(arch, seed=0).double()
    weights = plain.state_dict()
    assert all(
        torch.equal(value, weights[name]) for name, value in scaled.state_dict().items() if name in weights
    )
    layer, other = scaled.layers[0], plain.layers[0]
    assert isinstance(layer, EncoderLayer)
    assert isinstance(other, EncoderLayer)
    assert layer.scale1 is not None
    assert layer.scale2 is not None
    with torch.no_grad():
        layer.scale1.copy_(torch.arange(8.0))
        layer.scale2.copy_(torch.arange(8.0) + 1)
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    middle = x + torch.arange(8.0) * other.mix(x)
    torch.testing.assert_close(layer(x), middle + (torch.arange(8.0) + 1) * other.transform(middle))
