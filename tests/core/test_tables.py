"""Networks from presets and files, in both dialects; faults are named with their position."""

import json
from pathlib import Path
from typing import Any

import pytest

from vitruvius.core import cost, tables
from vitruvius.core.errors import UserError

PUBLIC = {"hidden_dim": 216, "depth": 13, "num_heads": [3] * 13, "mlp_ratio": [3.5] * 13}


def write(folder: Path, rows: Any) -> Path:
    path = folder / "nets.json"
    path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize(("image", "params", "macs"), [(224, 6_937_912, 1_564_833_168), (32, 6_896_440, 34_184_592)])
def test_the_public_dialect_is_the_network_its_makers_built(tmp_path: Path, image: int, params: int, macs: int) -> None:
    path = write(tmp_path, [{"arch": PUBLIC, "c100_base_acc": 67.84, "flower_kd_acc": None}])
    (entry,) = tables.table(path, image=image, channels=3, classes=100)
    assert cost.cost(entry.arch)[:2] == (params, macs)
    assert entry.columns == {"c100_base_acc": pytest.approx(0.6784), "flower_kd_acc": None}


def test_our_own_dialect_names_its_networks(tmp_path: Path) -> None:
    rows = [{"name": "a", "arch": {"depth": 2}, "accuracy": 0.9}, {"name": "b", "arch": {"depth": 3}}]
    first, second = tables.table(write(tmp_path, rows))
    assert (first.name, first.arch.depth, first.columns) == ("a", 2, {"accuracy": 0.9})
    assert (second.name, second.columns) == ("b", {})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"arch": {"depth": 2}}, {"arch": {"depht": 2}}], "entry 2: no field in Arch 'depht': did you mean 'depth'"),
        ([{"arch": {"heads": 7}}], "entry 1: heads 7 does not divide width 64"),
        ([{"arch": {"width": 10**9}}], "entry 1: width must be"),
        ([{"arch": {"depth": 2}}, {"arch": {"depth": 2}}], "entries 1 and 2 have the same network"),
        ([{"name": "a", "arch": {}}, {"name": "a", "arch": {"depth": 1}}], "entries 1 and 2 have the name 'a'"),
        ([{"arch": {"base_dim": 16, "depth": [1, 2, 3]}}], "entry 1: a three-stage network"),
        ([{"arch": {**PUBLIC, "qkv": 1}}], "qkv is not known"),
        ([{"arch": {"hidden_dim": 8, "depth": 1, "num_heads": [2]}}], "mlp_ratio is missing"),
        ([{"arch": {**PUBLIC, "num_heads": [0] * 13}}], "entry 1: num_heads must hold positive"),
        ([{"arch": {**PUBLIC, "mlp_ratio": [1e9] * 13}}], "entry 1: mlp_ratio must hold numbers"),
        ([{"arch": PUBLIC, "c100_acc": 670}], "c100_acc: 670 is not an accuracy"),
        ([3], "entry 1: not a network but int"),
        ([], "holds no list of networks"),
    ],
)
def test_a_bad_file_is_named_with_its_position(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        tables.table(write(tmp_path, rows), image=224 if "hidden_dim" in str(rows) else 28)
    assert message in str(caught.value)


def test_set_wins_over_data_and_data_over_a_preset() -> None:
    arch = tables.arch("mnist", ("classes=5", "patch=8"), image=32, channels=3, classes=100)
    assert (arch.image, arch.channels, arch.classes, arch.patch) == (32, 3, 5, 8)


def test_a_preset_that_does_not_exist_is_named() -> None:
    with pytest.raises(UserError, match="no preset 'mnits': did you mean 'mnist'"):
        tables.arch("mnits")
