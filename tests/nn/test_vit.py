"""The Vision Transformer against torch's own modules."""

import copy

import pytest
import torch
from torch import nn

from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import EncoderLayer, ViT, build, patches, sinusoidal, unpatch

SMALL = Arch(image=8, patch=4, width=8, depth=2, heads=2, mlp=12, classes=3)


def images(arch: Arch, batch: int = 2) -> torch.Tensor:
    return torch.randn(
        batch, arch.channels, arch.image, arch.image, generator=torch.Generator().manual_seed(0)
    )


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_an_encoder_layer_equals_torchs_with_copied_weights(activation: str) -> None:
    arch = Arch(width=16, heads=4, mlp=24, activation=activation, norm_eps=1e-5, dropout=0.3)
    torch.manual_seed(0)
    ours = EncoderLayer(arch, arch.layers[0]).double().eval()
    theirs = (
        nn.TransformerEncoderLayer(16, 4, 24, 0.3, activation, batch_first=True, norm_first=True)
        .double()
        .eval()
    )
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_()
        theirs.self_attn.in_proj_weight.copy_(ours.attention.qkv.weight)
        theirs.self_attn.in_proj_bias.zero_()
        for mine, other in [
            (ours.attention.out, theirs.self_attn.out_proj),
            (ours.norm1, theirs.norm1),
            (ours.norm2, theirs.norm2),
            (ours.mlp[0], theirs.linear1),
            (ours.mlp[3], theirs.linear2),
        ]:
            other.load_state_dict(mine.state_dict())
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("patch", "steps"), [(8, (2, 2)), (2, (1, 2))])
def test_a_stem_convolves_and_halves_the_image_before_its_patches_are_cut(
    patch: int, steps: tuple[int, int]
) -> None:
    """Against sums over the nine pixels under the kernel, written out."""
    arch = SMALL.with_fields(image=16, patch=patch, stem=(3, 5), activation="relu")
    net, x = build(arch, seed=0).double().eval(), images(arch).double()
    assert net.stem is not None
    expected = x
    for convolution, step in zip((net.stem[0], net.stem[2]), steps, strict=True):
        assert isinstance(convolution, nn.Conv2d)
        padded, side = nn.functional.pad(expected, (1, 1, 1, 1)), expected.shape[2] // step
        total = torch.zeros(len(x), len(convolution.weight), side, side, dtype=torch.float64)
        for row in range(3):
            for column in range(3):
                seen = padded[:, :, row : row + step * side : step, column : column + step * side : step]
                total += torch.einsum("bchw,dc->bdhw", seen, convolution.weight[:, :, row, column])
        assert convolution.bias is not None
        expected = (total + convolution.bias[:, None, None]).clamp(min=0)
    torch.testing.assert_close(net.cut(x), patches(expected, arch.mapped_patch), rtol=1e-12, atol=1e-12)
    assert net(x).shape == (2, 3)
    net.freeze(1)
    assert not any(parameter.requires_grad for parameter in net.stem.parameters())


def test_a_stem_keeps_the_size_of_what_it_reads() -> None:
    arch = Arch(image=32, channels=3, patch=4, stem=(32, 64))
    cut = build(arch, seed=0).cut(images(arch, 16)).detach()
    assert 0.5 < float(cut.square().mean().sqrt()) < 2


def test_the_patch_map_equals_a_strided_convolution() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    linear = nn.Linear(3 * 4 * 4, 5).double()
    convolution = nn.Conv2d(3, 5, kernel_size=4, stride=4).double()
    with torch.no_grad():
        convolution.weight.copy_(linear.weight.view(5, 3, 4, 4))
        convolution.bias.copy_(linear.bias)  # type: ignore[union-attr]
    expected = convolution(x).flatten(2).transpose(1, 2)
    torch.testing.assert_close(linear(patches(x, 4)), expected, rtol=1e-12, atol=1e-12)


def test_patches_can_be_put_together_again() -> None:
    x = torch.randn(2, 3, 8, 8)
    assert torch.equal(unpatch(patches(x, 2), 2, 3), x)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pooling": "mean"},
        {"pooling": "mean", "class_token": False},
        {"positions": "sinusoidal"},
        {"positions": "none"},
        {"heads": (1, 4), "mlp": (4, 20)},
        {"heads": 3, "head_dim": 5},
        {"kernel": "linear"},
        {"qkv_bias": True, "out_bias": False},
    ],
    ids=str,
)
def test_every_kind_of_network_gives_one_score_per_class(changes: dict[str, object]) -> None:
    model = build(SMALL.with_fields(**changes), seed=0)
    assert model(images(SMALL)).shape == (2, 3)


def test_the_forward_pass_is_the_composition_of_its_parts() -> None:
    model = build(SMALL.with_fields(pooling="mean"), seed=0)
    x = model.patch_map(patches(images(SMALL), 4))
    x = torch.cat([model.class_token.expand(2, 1, 8), x], 1) + model.positions  # type: ignore[union-attr,operator]
    for layer in model.layers:
        x = layer(x)
    expected = model.head(model.norm(x)[:, 1:].mean(1))
    torch.testing.assert_close(model(images(SMALL)), expected)


def test_without_positions_the_order_of_patches_does_not_matter() -> None:
    x = images(SMALL)
    shuffled = unpatch(patches(x, 4)[:, [2, 0, 3, 1]], 4, 1)
    blind = build(SMALL.with_fields(positions="none"), seed=0)
    torch.testing.assert_close(blind(x), blind(shuffled))
    seeing = build(SMALL, seed=0)
    assert not torch.allclose(seeing(x), seeing(shuffled), atol=1e-6)


def test_a_network_can_be_copied() -> None:
    model = build(SMALL, seed=0)
    assert torch.equal(copy.deepcopy(model)(images(SMALL)), model(images(SMALL)))


def test_weights_depend_on_the_seed_alone_and_leave_the_global_rng_alone() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first, again, other = build(SMALL, 1), build(SMALL, 1), build(SMALL, 2)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_a_network_beyond_the_memory_is_refused_before_anything_is_allocated() -> None:
    huge = Arch(width=2**16, heads=1, depth=1000, mlp=2**18)
    with pytest.raises(UserError, match=r"does not fit: its weights needs about [\d,.]+ GiB"):
        ViT(huge)


def test_the_sinusoidal_table_is_the_published_formula() -> None:
    table = sinusoidal(10, 6).double()
    for place in range(10):
        for pair in range(3):
            angle = torch.tensor(place / 10_000 ** (2 * pair / 6), dtype=torch.float64)
            torch.testing.assert_close(table[place, 2 * pair], angle.sin(), atol=1e-6, rtol=0)
            torch.testing.assert_close(table[place, 2 * pair + 1], angle.cos(), atol=1e-6, rtol=0)


def test_an_odd_width_has_positions_too() -> None:
    assert sinusoidal(4, 5).shape == (4, 5)
