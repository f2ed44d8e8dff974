"""Generated files in the formats of the data sets, and an environment in which nothing else can be found."""

import hashlib
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from vitruvius.datasets import _idx, cifar, fashion_mnist


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data on this machine but the package's own, and no network."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("VITRUVIUS_OFFLINE", "1")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("VITRUVIUS_DATA", raising=False)
    monkeypatch.setattr(fashion_mnist, "KNOWN_FOLDERS", ("~/debian", "~/keras"))


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    """An idx file, written by hand."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@pytest.fixture
def tiny_fashion(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Write a 'full' Fashion-MNIST of 40 + 20 images into a folder, with checksums to match."""

    def write(folder: Path) -> Path:
        random = np.random.default_rng(0)
        arrays = []
        for count in (40, 20):
            arrays.append(random.integers(256, size=(count, 28, 28), dtype=np.uint8))
            arrays.append(np.arange(count, dtype=np.uint8) % 10)
        folder.mkdir(parents=True)
        contents = [idx_bytes(array) for array in arrays]
        for name, content in zip(_idx.FILES, contents, strict=True):
            (folder / name).write_bytes(content)
        hashes = tuple(hashlib.sha256(content).hexdigest() for content in contents)
        monkeypatch.setattr(fashion_mnist, "FULL", fashion_mnist.FULL._replace(sha256=hashes, validation=10))
        return folder

    return write


@pytest.fixture
def tiny_cifar(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], Path]:
    """Write a CIFAR in the official layout, but with two images of each class per file, into a folder."""

    def write(folder: Path, classes: str) -> Path:
        layout = cifar.LAYOUTS[classes]
        count = 2 * len(layout.classes)
        layout = layout._replace(files=dict.fromkeys(layout.files, count))
        monkeypatch.setitem(cifar.LAYOUTS, classes, layout)
        monkeypatch.setattr(cifar, "VALIDATION", 10)
        random = np.random.default_rng(0)
        (folder / layout.folder).mkdir(parents=True)
        for name in layout.files:
            fine = random.permutation(count).astype(np.uint8) % len(layout.classes)
            labels = np.stack([fine // 5, fine], 1)[:, 2 - layout.label_bytes :]
            records = np.concatenate([labels, random.integers(256, size=(count, 3072), dtype=np.uint8)], 1)
            (folder / layout.folder / name).write_bytes(records.astype(np.uint8).tobytes())
        return folder / layout.folder

    return write


@pytest.fixture
def tiny_cifar_archive(
    tiny_cifar: Callable[[Path, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path, str], Path]:
    """Write the same set as one archive, with size and checksum to match."""

    def write(folder: Path, classes: str) -> Path:
        unpacked = tiny_cifar(tmp_path / "unpacked", classes)
        name = cifar.LAYOUTS[classes].archive.name
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(folder / name, "w:gz") as tar:
            tar.add(unpacked, arcname=unpacked.name)
        content = (folder / name).read_bytes()
        known = cifar.Archive(name, len(content), hashlib.sha256(content).hexdigest())
        monkeypatch.setitem(cifar.LAYOUTS, classes, cifar.LAYOUTS[classes]._replace(archive=known))
        return folder / name

    return write


def save_picture(path: Path, seed: int, *, mode: str = "RGB", size: tuple[int, int] = (20, 16)) -> None:
    """A picture of random pixels."""
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    pixels = np.random.default_rng(seed).integers(256, size=(size[1], size[0], *channels), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def picture() -> Callable[..., None]:
    """`save_picture`, for test files."""
    return save_picture


@pytest.fixture
def as_idx() -> Callable[[NDArray[np.uint8]], bytes]:
    """`idx_bytes`, for test files."""
    return idx_bytes
