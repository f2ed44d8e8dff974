"""Small colour pictures, 50,000 + 10,000 of 32x32 pixels (Krizhevsky 2009), from the official binary files.

A record is one label byte (CIFAR-100: a coarse, then a fine label) and 3,072 bytes of red, green and blue
planes. The archive is compared with its SHA-256. For the unpacked files no checksum was published: their
exact sizes, the label range and the exact balance of the classes are verified instead.
"""

import hashlib
import tarfile
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vitruvius.core import cache, files
from vitruvius.core.errors import UserError, reason, unknown
from vitruvius.datasets import Dataset, Split, _download, _paths, _samples

HOST = "https://www.cs.toronto.edu/~kriz"
PIXELS = 3 * 32 * 32
VALIDATION = 5_000
MEMBERS = 64  # an archive with more is refused
TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TEN_SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
HUNDRED_SHA256 = "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"
HUNDRED = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can
castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster
man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck
pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk
skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger
tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""


class Archive(NamedTuple):
    """An archive as it was published."""

    name: str
    size: int
    sha256: str


class Layout(NamedTuple):
    """The files of one of the two data sets."""

    classes: tuple[str, ...]
    folder: str
    files: dict[str, int]  # images in each file; the last file is the test part
    label_bytes: int
    archive: Archive

    def bytes_of(self, file: str) -> int:
        """Return the exact size of one file."""
        return self.files[file] * (self.label_bytes + PIXELS)


TEN_FILES = dict.fromkeys((*(f"data_batch_{batch}.bin" for batch in range(1, 6)), "test_batch.bin"), 10_000)
TEN_ARCHIVE = Archive("cifar-10-binary.tar.gz", 170_052_171, TEN_SHA256)
HUNDRED_FILES = {"train.bin": 50_000, "test.bin": 10_000}
HUNDRED_ARCHIVE = Archive("cifar-100-binary.tar.gz", 168_513_733, HUNDRED_SHA256)
LAYOUTS = {
    "10": Layout(TEN, "cifar-10-batches-bin", TEN_FILES, 1, TEN_ARCHIVE),
    "100": Layout(tuple(HUNDRED.split()), "cifar-100-binary", HUNDRED_FILES, 2, HUNDRED_ARCHIVE),
}


def cifar(
    classes: str = "10", *, data_dir: str | None = None, validation: int | None = None, seed: int = 0
) -> Dataset:
    """CIFAR-10, or CIFAR-100 by fine labels: 45,000 / 5,000 / 10,000 by position; `seed` changes nothing."""
    if classes not in LAYOUTS:
        raise unknown("dataset", f"cifar:{classes}", [f"cifar:{known}" for known in LAYOUTS])
    layout = LAYOUTS[classes]
    contents, origin = _contents(layout, data_dir)
    digests = "".join(hashlib.sha256(content).hexdigest() for content in contents.values())
    parts = [_records(f"{origin}: {file}", content, layout) for file, content in contents.items()]
    x, y = (np.concatenate(column) for column in zip(*parts[:-1], strict=True))
    x_test, y_test = parts[-1]
    for part, labels in (("training", y), ("test", y_test)):
        counts, each = np.bincount(labels, minlength=len(layout.classes)), len(labels) / len(layout.classes)
        if counts.min() != counts.max():
            odd = int(np.abs(counts - each).argmax())
            fault = f"{counts[odd]:,} images of class {odd}, not {int(each):,}"
            raise UserError(f"{origin}: the {part} part: damaged: {fault}")
    return _samples.dataset(
        *(torch.from_numpy(x), torch.from_numpy(y)),
        Split(torch.from_numpy(x_test), torch.from_numpy(y_test)),
        *(validation, VALIDATION),
        name=f"cifar:{classes}",
        classes=layout.classes,
        source=f"full: {len(x):,} training and {len(x_test):,} test images from {origin}",
        sha256=hashlib.sha256(digests.encode()).hexdigest(),
    )


def _contents(layout: Layout, data_dir: str | None) -> tuple[dict[str, bytearray], Path]:
    """Return the bytes of each file and their path: unpacked files, else the archive, else a download."""
    folders = _paths.folders("cifar", (layout.folder, "cifar"), data_dir=data_dir)
    names = [(file,) for file in layout.files]
    unpacked = _paths.find(folders, names)
    if unpacked is not None:
        return {path.name: _read(path, layout.bytes_of(path.name)) for path in unpacked}, unpacked[0].parent
    archive_folders = _paths.folders("cifar", ("", "cifar"), data_dir=data_dir)
    archives = _paths.find(archive_folders, [(layout.archive.name,)])
    if archives is None and (data_dir is not None or _paths.offline()):
        hint = f"the archive {layout.archive.name} of {HOST}/cifar.html (binary version) will do as it is"
        raise _paths.not_found("cifar", list(dict.fromkeys(folders + archive_folders)), names, hint)
    archive = layout.archive
    path = archives[0] if archives else cache.folder("cifar") / archive.name
    if not archives:
        check = partial(check_archive, archive=archive)
        _download.fetch(f"{HOST}/{archive.name}", path, check, archive.size)
    sizes = {f"{layout.folder}/{file}": layout.bytes_of(file) for file in layout.files}
    return read_archive(path, archive, sizes), path


def _read(path: Path, size: int) -> bytearray:
    try:
        found = path.stat().st_size
        if found != size:
            raise UserError(f"{path}: {found:,} bytes, the official file has {size:,}")
        return bytearray(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error


def _records(where: str, content: bytearray, layout: Layout) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the images (B, 3, 32, 32) and labels (B,) of one file; the last label byte is the fine label."""
    records = np.frombuffer(content, np.uint8).reshape(-1, layout.label_bytes + PIXELS)
    labels = records[:, layout.label_bytes - 1].astype(np.int64)
    record, last = int(labels.argmax()), len(layout.classes) - 1
    if labels[record] > last:
        raise UserError(f"{where}: record {record}: label {labels[record]}, labels are 0 to {last}")
    return records[:, layout.label_bytes :].reshape(-1, 3, 32, 32), labels


def check_archive(path: Path, archive: Archive) -> None:
    """Refuse a file that is not that archive, first by its size, then by its SHA-256."""
    try:
        size = path.stat().st_size
        found = files.sha256(path) if size == archive.size else ""
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    if size != archive.size:
        raise UserError(f"{path}: {size:,} bytes, the official {archive.name} has {archive.size:,}")
    if found != archive.sha256:
        raise UserError(f"{path}: damaged or not the original: its SHA-256 is {found}, not {archive.sha256}")


def read_archive(path: Path, archive: Archive, sizes: Mapping[str, int]) -> dict[str, bytearray]:
    """Return the content of the members in `sizes`, by file name; each must have exactly that size."""
    check_archive(path, archive)
    contents: dict[str, bytearray] = {}
    try:
        with tarfile.open(path, "r|gz") as tar:
            for position, member in enumerate(tar):
                if position >= MEMBERS:
                    raise UserError(f"{path}: more than {MEMBERS} members")
                if member.name in sizes:
                    contents[member.name] = _content(path, tar, member, sizes[member.name])
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    missing = [name for name in sizes if name not in contents]
    if missing:
        raise UserError(f"{path}: has no member {', '.join(missing)}")
    return {name.rpartition("/")[2]: contents[name] for name in sizes}


def _content(path: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, size: int) -> bytearray:
    if not member.isreg() or member.size != size:
        raise UserError(f"{path}: {member.name} is not a plain file of {size:,} bytes")
    stream = tar.extractfile(member)
    assert stream is not None  # a plain file always has a stream
    content = bytearray(stream.read(size))
    if len(content) != size:
        raise UserError(f"{path}: {member.name} ends after {len(content):,} of {size:,} bytes")
    return content
