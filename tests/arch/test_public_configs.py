"""Configs of transformers and timm are read back as written; what they cannot express is refused by name."""

from pathlib import Path
from typing import Any

import pytest

from vitruvius.arch import public_configs, tables
from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.errors import UserError

ARCH = Arch(image=8, channels=3, patch=4, width=24, depth=2, heads=3, mlp=50, classes=2, qkv_bias=True)
MEAN, STD = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
SAID = set(Arch.model_fields) - {"init", "head_dim"}
"""Fields that both configs say; initial weights are overwritten, head_dim is width / heads."""


def written(folder: Path, library: str, arch: Arch) -> Path:
    if library == "timm":
        files.write_json(
            folder / "config.json", public_configs.timm_config(arch, ("a", "b"), MEAN, STD, "crop")
        )
        return folder
    config = public_configs.transformers_config(arch, ("a", "b"), "float32")
    files.write_json(folder / "config.json", config)
    processor = public_configs.transformers_preprocessor(arch, MEAN, STD, True, "crop")
    files.write_json(folder / "preprocessor_config.json", processor)
    return folder


@pytest.mark.parametrize(
    ("library", "changes"),
    [
        ("transformers", {}),
        ("transformers", {"activation": "gelu_tanh", "norm_eps": 1e-12, "dropout": 0.1, "qkv_bias": False}),
        ("timm", {"activation": "silu", "dropout": 0.1}),
        ("timm", {"pooling": "mean"}),
        ("timm", {"layer_scale": 1e-05}),
        ("timm", {"pooling": "mean", "final_norm": "pooled", "class_token": False}),
        ("timm", {"positions": "none", "mlp": 7}),
    ],
)
def test_a_written_network_is_read_back(tmp_path: Path, library: str, changes: dict[str, Any]) -> None:
    arch = ARCH.with_fields(**changes)
    folder = written(tmp_path, library, arch)
    found = public_configs.read(folder)
    assert (found.library, found.mean, found.std) == (library, MEAN, STD)
    back = Arch(**found.fields)
    assert {name: getattr(back, name) for name in SAID} == {name: getattr(arch, name) for name in SAID}
    chosen = tables.arch(str(folder), ("depth=1",), image=12, channels=1, classes=5)
    assert (chosen.image, chosen.channels, chosen.classes, chosen.depth, chosen.mlp) == (
        12,
        1,
        5,
        1,
        arch.mlp,
    )


@pytest.mark.parametrize(
    ("library", "changes", "reason"),
    [
        ("transformers", {"kernel": "linear"}, "the kernel linear"),
        ("transformers", {"head_dim": 4}, "heads x head_dim 12 other than width 24"),
        ("transformers", {"heads": (1, 3)}, "heads that differ from layer to layer"),
        ("transformers", {"mlp": (8, 9)}, "mlp that differ from layer to layer"),
        ("transformers", {"positions": "sinusoidal"}, "positions sinusoidal"),
        ("transformers", {"positions": "none"}, "positions none"),
        ("transformers", {"pooling": "mean"}, "pooling mean"),
        ("transformers", {"pooling": "mean", "class_token": False}, "pooling mean, class_token false"),
        ("transformers", {"out_bias": False}, "out_bias false"),
        ("timm", {"kernel": "hardmax"}, "the kernel hardmax"),
        ("timm", {"head_dim": 4}, "heads x head_dim 12 other than width 24"),
        ("timm", {"positions": "sinusoidal"}, "positions sinusoidal"),
        ("timm", {"out_bias": False}, "out_bias false"),
        ("timm", {"norm_eps": 1e-5}, "norm_eps 1e-05 other than 1e-06"),
    ],
)
def test_what_a_library_cannot_express_is_refused_by_name(
    tmp_path: Path, library: str, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UserError, match=f"--format {library} cannot express {reason}; choose"):
        written(tmp_path, library, ARCH.with_fields(**changes))


def test_published_configs_leave_defaults_out(tmp_path: Path) -> None:
    files.write_json(tmp_path / "config.json", {"model_type": "vit"})
    base = Arch(**public_configs.read(tmp_path).fields)
    assert (base.width, base.depth, base.heads, base.mlp, base.norm_eps) == (768, 12, 12, 3072, 1e-12)
    config = {"architecture": "vit_small_patch32_224", "num_classes": 21843, "global_pool": "avg"}
    files.write_json(tmp_path / "config.json", config)
    small = Arch(**public_configs.read(tmp_path).fields)
    assert (small.width, small.heads, small.mlp, small.patch, small.image) == (384, 6, 1536, 32, 224)
    assert (small.pooling, small.final_norm, small.classes) == ("mean", "pooled", 21843)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "bert"}, "a network of type 'bert'; only 'vit' is read"),
        ({"model_type": "vit", "hidden_act": "quick_gelu"}, "hidden_act 'quick_gelu' is not one of"),
        ({"model_type": "vit", "image_size": [8, 16]}, r"sides \[8, 16\] are not those of a square"),
        ({"architecture": "resnet50"}, "resnet50 is not a plain ViT"),
        ({"architecture": "vit_tiny_patch16_224", "model_args": {"reg_tokens": 4}}, "model_args reg_tokens"),
        (
            {"architecture": "vit_tiny_patch16_224", "pretrained_cfg": {"mean": [0.5], "std": [0.0]}},
            "is not above 0",
        ),
    ],
)
def test_other_networks_are_refused(tmp_path: Path, config: dict[str, Any], message: str) -> None:
    files.write_json(tmp_path / "config.json", config)
    with pytest.raises(UserError, match=message):
        public_configs.read(tmp_path)


def test_a_run_is_no_folder_of_another_library(tmp_path: Path) -> None:
    assert public_configs.find(str(tmp_path)) is None
    files.write_json(tmp_path / "config.json", {"data": "mnist", "arch": "mnist"})
    assert public_configs.find(str(tmp_path)) is None
    files.write_json(tmp_path / "config.json", {"model_type": "vit"})
    assert public_configs.find(str(tmp_path / "model.safetensors")) == tmp_path
