"""A network as data: what is possible, and that equal networks are equal."""

import pytest

from vitruvius.arch.arch import Arch, Layer
from vitruvius.core.errors import UserError


def test_equal_networks_compare_and_hash_equal() -> None:
    assert Arch(heads=(8,) * 6) == Arch(heads=8)
    assert hash(Arch(heads=(8,) * 6)) == hash(Arch(heads=8))


def test_layers_may_differ() -> None:
    arch = Arch(depth=2, heads=(2, 4), mlp=(32, 64))
    assert arch.layers == (Layer(2, 32, 32), Layer(4, 16, 64))


def test_tokens_count_patches_and_the_class_token() -> None:
    assert (Arch().patches, Arch().tokens) == (16, 17)
    assert Arch(class_token=False, pooling="mean").tokens == 16


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"patch": 5}, "patch 5 does not divide image 28"),
        ({"heads": 7}, "heads 7 does not divide width 64"),
        ({"heads": (1, 2)}, "heads has 2 entries for depth 6"),
        ({"heads": (4, 4)}, "heads has 2 entries for depth 6"),
        ({"mlp": []}, "mlp has 0 entries for depth 6"),
        ({"class_token": False}, "pooling 'cls' needs class_token"),
        ({"kernel": "sofmax"}, "did you mean 'softmax'"),
        ({"patch": 7, "stem": (8, 8)}, "patch 7 behind a stem, which halves the image: it must be even"),
        ({"widht": 3}, "did you mean 'width'"),
        ({"width": 0}, "width must be greater than or equal to 1"),
        ({"dropout": float("nan")}, "dropout"),
        ({"width": 10**9}, "width must be less than"),
    ],
)
def test_an_impossible_network_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Arch(**fields)
    assert message in str(caught.value)


def test_heads_need_not_divide_the_width_when_head_dim_is_given() -> None:
    assert Arch(heads=7, head_dim=16).layers[0] == Layer(7, 16, 128)


def test_a_network_without_layer_scale_is_written_as_before_there_was_one() -> None:
    assert "layer_scale" not in Arch().model_dump(mode="json")
    scaled = Arch(layer_scale=1e-4)
    assert Arch(**scaled.model_dump(mode="json")) == scaled != Arch()


def test_a_stem_changes_what_the_patch_map_reads_and_nothing_else_in_the_grid() -> None:
    arch = Arch(image=32, channels=3, patch=8, stem=(16, 24))
    assert (arch.patches, arch.patch_dim, arch.mapped_patch, arch.mapped_dim) == (16, 192, 2, 96)
    assert Arch(patch=4, stem=8).stem == (8,)
    assert "stem" not in Arch().model_dump(mode="json")
    assert Arch(**arch.model_dump(mode="json")) == arch
