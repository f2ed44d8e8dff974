"""The networks that are ranked: tables, presets, users' modules; misfits are refused by name."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from vitruvius import datasets
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.ranking import candidates


@pytest.fixture(scope="module")
def data() -> datasets.Dataset:
    return datasets.get("noise:3x32x32/5")


def table(folder: Path, rows: Any) -> list[str]:
    path = folder / "nets.json"
    path.write_text(json.dumps(rows))
    return [str(path)]


def test_images_and_classes_come_from_the_data_unless_the_file_sets_them(
    tmp_path: Path, data: datasets.Dataset
) -> None:
    rows = [{"name": "a", "arch": {"patch": 8}}, {"name": "b", "arch": {"patch": 8, "classes": 7}}]
    found = candidates.networks(table(tmp_path, rows), data)
    described = [(n.image, n.channels, n.classes) for n in found.values() if isinstance(n, Arch)]
    assert described == [(32, 3, 5), (32, 3, 7)]
    public = {"hidden_dim": 12, "depth": 2, "num_heads": [3, 4], "mlp_ratio": [3.5, 4.0]}
    (net,) = candidates.networks(table(tmp_path, [{"arch": public}]), data).values()
    assert isinstance(net, Arch)
    assert (net.image, net.classes, net.patch, net.pooling) == (32, 5, 16, "mean")


def test_presets_are_ranked_by_name(data: datasets.Dataset) -> None:
    found = candidates.networks(["cifar", "vit_tiny_patch16_224"], data)
    assert [net.image for net in found.values() if isinstance(net, Arch)] == [32, 32]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mnits"], "no preset 'mnits': did you mean 'mnist'"),
        (
            ["mnist"],
            "image 32: 4 and 8 do; noise:3x32x32/5 has images of 3x32x32: choose other --data or --archs",
        ),
        (["./mine.py:models", "mnist"], "networks of your own stand alone"),
        (["missing.json"], "missing.json: no such file"),
    ],
)
def test_what_cannot_be_ranked_is_refused(words: list[str], message: str, data: datasets.Dataset) -> None:
    with pytest.raises(UserError) as caught:
        candidates.networks(words, data)
    assert message in str(caught.value)


def test_pictures_in_files_are_read_at_a_size_that_fits_all(data: datasets.Dataset) -> None:
    pictures = dataclasses.replace(data, name="folder:photos@32")
    with pytest.raises(UserError, match=r": --data folder:photos@28 reads them at a size that fits all"):
        candidates.networks(["fifty"], pictures)


@pytest.mark.parametrize("fields", [{"image": 16}, {"channels": 1}, {"classes": 4}])
def test_a_network_for_other_images_is_refused(
    tmp_path: Path, fields: dict[str, int], data: datasets.Dataset
) -> None:
    with pytest.raises(UserError, match=r"odd takes .* noise:3x32x32/5 has 3x32x32 images of 5 classes"):
        candidates.networks(table(tmp_path, [{"name": "odd", "arch": {"patch": 8, **fields}}]), data)


def test_presets_that_are_one_network_on_these_images_are_refused(
    data: datasets.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitruvius.arch.tables.arch", lambda name, changes, **given: Arch(patch=8, **given))
    with pytest.raises(UserError, match="a and b are the same network on the images of noise"):
        candidates.networks(["a", "b"], data)


def test_only_square_images_make_a_vit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="not square images"):
        candidates.networks(["mnist"], datasets.get("noise:1x8x4"))
