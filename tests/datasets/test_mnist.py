"""MNIST: the published counts, the split by position, the places it is read from."""

import gzip
import shutil
from pathlib import Path

import pytest
import torch

from vitruvius import datasets
from vitruvius.core.errors import UserError
from vitruvius.datasets import mnist

TRAIN_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST_COUNTS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def test_full_set_has_the_published_counts_mean_and_deviation() -> None:
    data = datasets.get("mnist", validation=0)
    assert list(data.class_counts().values()) == TRAIN_COUNTS
    assert data.test.y is not None
    assert data.test.y.bincount().tolist() == TEST_COUNTS
    assert data.mean == pytest.approx((0.1307,), abs=5e-5)
    assert data.std == pytest.approx((0.3081,), abs=5e-5)
    assert data.name == "mnist"
    assert data.source.startswith("full: 60,000 training and 10,000 test images")


def test_validation_is_the_end_of_the_training_part() -> None:
    default, assignment = datasets.get("mnist"), datasets.get("mnist", validation=6000)
    assert [len(part) for part in (default.train, default.validation, default.test)] == [
        55_000,
        5_000,
        10_000,
    ]
    assert [len(part) for part in (assignment.train, assignment.validation)] == [54_000, 6_000]
    assert torch.equal(assignment.validation.x[1000:], default.validation.x)


def test_samples_are_the_bytes_of_the_file_in_order() -> None:
    data = datasets.get("mnist")
    pixels = gzip.decompress((mnist.SHIPPED / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((mnist.SHIPPED / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    assert data.test.x[1234, 0, 14].tolist() == list(pixels[1234 * 784 + 14 * 28 :][:28])
    assert data.test.y is not None
    assert data.test.y.tolist() == list(labels)


def test_data_folder_is_read_in_the_layout_of_torchvision(tmp_path: Path) -> None:
    shutil.copytree(mnist.SHIPPED, tmp_path / "MNIST" / "raw")
    assert str(tmp_path) in datasets.get("mnist", data_dir=str(tmp_path)).source


def test_incomplete_data_folder_is_refused_although_the_package_has_the_files(tmp_path: Path) -> None:
    shutil.copy(mnist.SHIPPED / "train-images-idx3-ubyte.gz", tmp_path)
    with pytest.raises(UserError, match="not found in .*put train-images.*copy in the package"):
        datasets.get("mnist", data_dir=str(tmp_path))
