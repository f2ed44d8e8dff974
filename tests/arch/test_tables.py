"""Networks from presets and files, in both dialects; faults are named with their position."""

import json
from pathlib import Path
from typing import Any

import pytest

from vitruvius.arch import cost, tables
from vitruvius.core import plugins
from vitruvius.core.errors import UserError

PUBLIC = {"hidden_dim": 216, "depth": 13, "num_heads": [3] * 13, "mlp_ratio": [3.5] * 13}


def write(folder: Path, rows: Any) -> Path:
    path = folder / "nets.json"
    path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize(
    ("image", "params", "macs"), [(224, 6_937_912, 1_564_833_168), (32, 6_896_440, 34_184_592)]
)
def test_the_public_dialect_is_the_network_its_makers_built(
    tmp_path: Path, image: int, params: int, macs: int
) -> None:
    path = write(tmp_path, [{"arch": PUBLIC, "c100_base_acc": 67.84, "flower_kd_acc": None}])
    (entry,) = tables.networks(path, image=image, channels=3, classes=100)
    assert cost.cost(entry.arch)[:2] == (params, macs)
    assert tables.columns(path) == ["c100_base_acc", "flower_kd_acc"]
    assert tables.accuracies(path, "c100_base_acc") == [pytest.approx(0.6784)]
    assert tables.accuracies(path, "flower_kd_acc") == [None]


def test_our_own_dialect_names_its_networks(tmp_path: Path) -> None:
    rows = [
        {"name": "a", "arch": {"depth": 2}, "accuracy": 0.9, "params": 7},
        {"name": "b", "depth": 3},
        {"depth": 4},
    ]
    path = write(tmp_path, {"archs": rows, "noise_ceiling": {"archs": 3}})
    assert [(name, arch.depth) for name, arch in tables.networks(path)] == [("a", 2), ("b", 3), ("net3", 4)]
    assert tables.columns(path) == ["accuracy"]
    assert tables.accuracies(path, "accuracy") == [0.9, None, None]
    assert tables.about(path, "noise_ceiling") == {"archs": 3}
    assert tables.about(path, "recipe") is None


def test_a_wanted_column_may_have_any_name_but_must_exist(tmp_path: Path) -> None:
    path = write(tmp_path, [{"arch": {}, "top1": 0.8}])
    assert tables.columns(path) == []
    assert tables.columns(path, "top1") == ["top1"]
    with pytest.raises(UserError, match=r"no accuracy column in .* 'top2': did you mean 'top1'"):
        tables.columns(path, "top2")


class Locked(dict[str, Any]):
    """A row whose accuracies cannot be looked at."""

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("an accuracy was looked at")

    items = values = copy = __or__ = _refuse

    def __getitem__(self, key: str) -> Any:
        return self._refuse() if key.endswith("acc") else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]


def test_networks_are_read_without_a_look_at_their_accuracies(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Locked(name=f"net {depth}", arch={"depth": depth}, test_acc=0.9) for depth in (1, 2)]
    monkeypatch.setattr(tables, "read_json", lambda path: rows)
    assert [arch.depth for _, arch in tables.networks(Path("nets.json"))] == [1, 2]
    assert tables.columns(Path("nets.json")) == ["test_acc"]
    with pytest.raises(AssertionError, match="looked at"):
        tables.accuracies(Path("nets.json"), "test_acc")


def test_a_table_stands_alone() -> None:
    assert tables.file(["fifty"]) == plugins.PACKAGE / "arch" / "fifty.json"
    assert tables.file(["nets.json"]) == Path("nets.json")
    assert tables.file(["mnist", "cifar"]) is None
    with pytest.raises(UserError, match="one table stands alone, here fifty"):
        tables.file(["mnist", "fifty"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"arch": {"depth": 2}}, {"arch": {"depht": 2}}],
            "entry 2: no field in Arch 'depht': did you mean 'depth'",
        ),
        ([{"arch": {"heads": 7}}], "entry 1: heads 7 does not divide width 64"),
        ([{"arch": {"width": 10**9}}], "entry 1: width must be"),
        ([{"arch": {"depth": 2}}, {"arch": {"depth": 2}}], "entries 1 and 2 have the same network"),
        (
            [{"name": "a", "arch": {}}, {"name": "a", "arch": {"depth": 1}}],
            "entries 1 and 2 have the name 'a'",
        ),
        (
            [{"arch": {"base_dim": 16, "depth": [1, 2, 3]}}],
            "entry 1: a network of the PiT space",
        ),
        ([{"arch": {**PUBLIC, "qkv": 1}}], "qkv is not known"),
        ([{"arch": {"hidden_dim": 8, "depth": 1, "num_heads": [2]}}], "mlp_ratio is missing"),
        ([{"arch": {**PUBLIC, "num_heads": [0] * 13}}], "entry 1: num_heads must hold positive"),
        ([{"arch": {**PUBLIC, "num_heads": [True] * 13}}], "entry 1: num_heads must hold positive"),
        (
            [{"arch": PUBLIC}, {"arch": {**PUBLIC, "num_heads": [5] * 13}}],
            "entry 2: num_heads 5 does not divide",
        ),
        ([{"arch": {**PUBLIC, "num_heads": [3] * 12}}], "entry 1: heads has 12 entries for depth 13"),
        ([{"arch": {**PUBLIC, "mlp_ratio": [1e9] * 13}}], "entry 1: mlp_ratio must hold numbers"),
        ([3], "entry 1: not a network but int"),
        ([], "holds no list of networks"),
    ],
)
def test_a_bad_file_is_named_with_its_position(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        tables.networks(write(tmp_path, rows), image=224 if "hidden_dim" in str(rows) else 28)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"arch": PUBLIC, "acc": 670}, "entry 2: acc: 670 is not an accuracy (percent)"),
        ({"arch": {"depth": 2}, "acc": 67.0}, "entry 2: acc: 67.0 is not an accuracy (a fraction)"),
        ({"arch": {"depth": 2}, "acc": "high"}, "entry 2: acc: 'high' is not an accuracy"),
    ],
)
def test_what_is_no_accuracy_is_named_with_its_position(tmp_path: Path, row: Any, message: str) -> None:
    path = write(tmp_path, [{"arch": {"depth": 1}, "acc": 0.5}, row])
    with pytest.raises(UserError) as caught:
        tables.accuracies(path, "acc")
    assert message in str(caught.value)


def test_set_wins_over_data_and_data_over_a_preset() -> None:
    arch = tables.arch("mnist", ("classes=5", "patch=8"), image=32, channels=3, classes=100)
    assert (arch.image, arch.channels, arch.classes, arch.patch) == (32, 3, 5, 8)


def test_a_preset_that_does_not_exist_is_named() -> None:
    with pytest.raises(UserError, match="no preset 'mnits': did you mean 'mnist'"):
        tables.arch("mnits")


@pytest.mark.parametrize("arch", ["1.5", "null", "[]", '"x"'])
def test_a_row_whose_network_is_of_another_type_is_named(tmp_path: Path, arch: str) -> None:
    path = tmp_path / "nets.json"
    path.write_text(f'[{{"name": "a", "arch": {arch}, "acc": 0.5}}]')
    for read in (tables.networks, lambda path: tables.accuracies(path, "acc")):
        with pytest.raises(UserError, match="entry 1: arch: not a network but"):
            read(path)
