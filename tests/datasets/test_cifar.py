"""CIFAR from generated files in the official binary layout."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vitruvius import datasets
from vitruvius.core.errors import UserError
from vitruvius.datasets import cifar

Write = Callable[[Path, str], Path]


@pytest.mark.parametrize(("classes", "train", "test"), [("10", 100, 20), ("100", 200, 200)])
def test_pixels_and_finest_labels_are_those_of_the_records(
    classes: str, train: int, test: int, tiny_cifar: Write, tmp_path: Path
) -> None:
    folder = tiny_cifar(tmp_path / "data", classes)
    data = datasets.get(f"cifar:{classes}", data_dir=str(tmp_path / "data"), validation=0)
    assert (len(data.train), len(data.test), data.shape) == (train, test, (3, 32, 32))
    content = (folder / ("test_batch.bin" if classes == "10" else "test.bin")).read_bytes()
    label_bytes = 1 if classes == "10" else 2
    for index in (0, 7, test - 1):
        start = index * (3072 + label_bytes)
        assert data.test.y is not None
        assert data.test.y[index] == content[start + label_bytes - 1]
        planes = content[start + label_bytes : start + label_bytes + 3072]
        assert data.test.x[index, 1, 5, 9] == planes[1024 + 5 * 32 + 9]


def test_the_five_batches_follow_one_another(tiny_cifar: Write, tmp_path: Path) -> None:
    folder = tiny_cifar(tmp_path / "data", "10")
    data = datasets.get("cifar", data_dir=str(tmp_path / "data"), validation=0)
    expected = [(folder / f"data_batch_{batch}.bin").read_bytes()[0] for batch in range(1, 6)]
    assert data.train.y is not None
    assert data.train.y[::20].tolist() == expected


def test_archive_and_unpacked_files_give_the_same_data(tiny_cifar_archive: Write, tmp_path: Path) -> None:
    tiny_cifar_archive(tmp_path / "packed", "100")
    packed = datasets.get("cifar:100", data_dir=str(tmp_path / "packed"))
    unpacked = datasets.get("cifar:100", data_dir=str(tmp_path / "unpacked"))
    assert packed.sha256 == unpacked.sha256
    assert bool((packed.train.x == unpacked.train.x).all())
    assert packed.source.endswith("cifar-100-binary.tar.gz")


def test_both_sets_have_their_names_of_classes() -> None:
    for classes, layout in cifar.LAYOUTS.items():
        assert len(set(layout.classes)) == int(classes)
        assert list(layout.classes) == sorted(layout.classes)  # the official order is alphabetical in both
    assert sum(cifar.LAYOUTS["10"].files.values()) == sum(cifar.LAYOUTS["100"].files.values()) == 60_000


def test_wrong_size_is_refused_before_reading(tiny_cifar: Write, tmp_path: Path) -> None:
    path = tiny_cifar(tmp_path / "data", "10") / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"data_batch_3.bin: 61,459 bytes, the official file has 61,460"):
        datasets.get("cifar", data_dir=str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("label", "complaint"), [(10, "label 10, labels are 0 to 9"), (0, "damaged: .* of class")]
)
def test_wrong_labels_are_refused(label: int, complaint: str, tiny_cifar: Write, tmp_path: Path) -> None:
    path = tiny_cifar(tmp_path / "data", "10") / "test_batch.bin"
    content = bytearray(path.read_bytes())
    record = next(index for index in range(20) if content[index * 3073] != label)
    content[record * 3073] = label
    path.write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        datasets.get("cifar", data_dir=str(tmp_path / "data"))


def test_offline_without_files_the_archive_is_named() -> None:
    with pytest.raises(UserError, match="put data_batch_1.bin.*cifar-10-binary.tar.gz.*will do as it is"):
        datasets.get("cifar")


def test_third_cifar_does_not_exist() -> None:
    with pytest.raises(UserError, match="no dataset 'cifar:20': did you mean 'cifar:10"):
        datasets.get("cifar:20")
