"""Fashion-MNIST: full, mini or any, and where each is taken from."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vitruvius import datasets
from vitruvius.core.errors import UserError
from vitruvius.datasets import fashion_mnist

Write = Callable[[Path], Path]


def test_mini_is_balanced_and_says_so() -> None:
    data = datasets.get("fashion_mnist:mini", validation=0)
    assert data.name == "fashion_mnist (mini)"
    assert data.source.startswith("mini: 1,000 training and 1,000 test images")
    assert set(data.class_counts().values()) == {100}
    assert data.test.y is not None
    assert data.test.y.bincount().tolist() == [100] * 10
    assert data.class_counts().keys() == set(fashion_mnist.CLASSES)


def test_mini_puts_200_aside() -> None:
    data = datasets.get("fashion_mnist:mini")
    assert [len(part) for part in (data.train, data.validation, data.test)] == [800, 200, 1000]


def test_any_takes_the_full_set_if_it_is_there_and_mini_if_not(tiny_fashion: Write, tmp_path: Path) -> None:
    assert datasets.get("fashion_mnist:any").name == "fashion_mnist (mini)"
    tiny_fashion(tmp_path / "home" / "debian")
    assert datasets.get("fashion_mnist:any").name == "fashion_mnist"


@pytest.mark.parametrize("place", ["data/FashionMNIST/raw", "data/fashion-mnist", "data/fashion_mnist"])
def test_full_set_is_found_under_vitruvius_data(
    place: str, tiny_fashion: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_fashion(tmp_path / place)
    monkeypatch.setenv("VITRUVIUS_DATA", str(tmp_path / "data"))
    data = datasets.get("fashion_mnist")
    assert data.source == f"full: 40 training and 20 test images from {folder}"
    assert [len(part) for part in (data.train, data.validation, data.test)] == [30, 10, 20]


def test_full_set_is_found_in_the_cache(tiny_fashion: Write, tmp_path: Path) -> None:
    tiny_fashion(tmp_path / "cache" / "vitruvius" / "fashion_mnist")
    assert datasets.get("fashion_mnist").name == "fashion_mnist"


def test_offline_without_files_one_sentence_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refusal:
        datasets.get("fashion_mnist")
    sentence = str(refusal.value)
    for words in (
        "fashion_mnist",
        "VITRUVIUS_OFFLINE",
        str(tmp_path / "cache"),
        str(tmp_path / "home" / "debian"),
    ):
        assert words in sentence
    assert "put train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz" in sentence
    assert "fashion_mnist:mini" in sentence
    assert "\n" not in sentence


def test_a_data_folder_without_the_set_is_refused_even_for_any(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not found"):
        datasets.get("fashion_mnist:any", data_dir=str(tmp_path))


def test_unknown_part_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'mini'"):
        datasets.get("fashion_mnist:minni")
