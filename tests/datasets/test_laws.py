"""Laws that every data set obeys, run over the folder; each is also run against a member that breaks it."""

import gzip
import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from vitruvius import datasets
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split, _idx, mnist

Make = Callable[..., Dataset]
"""A data set by `validation` and `seed`."""


@dataclass(frozen=True)
class Example:
    """How a member is asked for in these tests."""

    name: str
    data_dir: Path | None = None

    def __call__(self, validation: int | None = None, seed: int = 0) -> Dataset:
        data_dir = None if self.data_dir is None else str(self.data_dir)
        return datasets.get(self.name, data_dir=data_dir, validation=validation, seed=seed)


def shapes_agree(make: Make) -> None:
    """Samples have the set's shape and type, labels are integers, statistics have a number per channel."""
    data = make()
    for split in (data.train, data.validation, data.test):
        assert tuple(split.x.shape[1:]) == data.shape
        assert split.x.dtype in (torch.uint8, torch.float32)
        assert (split.y is None) == (not data.classes)
        if split.y is not None:
            assert split.y.dtype == torch.int64
            assert tuple(split.y.shape) == (len(split),)
    channels = data.shape[0] if data.train.x.dtype == torch.uint8 else 0
    assert len(data.mean) == len(data.std) == channels
    assert all(value > 0 for value in data.std)
    assert data.name
    assert data.source
    assert len(data.sha256) == 64


def labels_lie_in_range(make: Make) -> None:
    """Labels are 0 to the number of classes, and every class can be trained."""
    data = make()
    for split in (data.train, data.validation, data.test):
        if split.y is not None and len(split):
            assert split.y.min() >= 0
            assert split.y.max() < len(data.classes)
    assert all(count > 0 for count in data.class_counts().values())


def splits_are_disjoint(make: Make) -> None:
    """No sample occurs in two splits (MNIST and Fashion-MNIST hold no picture twice: counted)."""
    data = make()
    rows = [_rows(split) for split in (data.train, data.validation, data.test)]
    assert len(set().union(*rows)) == sum(map(len, rows))


def validation_is_put_aside(make: Make) -> None:
    """`validation` samples leave the training part, none are lost, and the test part stays as it is."""
    whole, cut = make(validation=0), make(validation=7)
    assert len(whole.validation) == 0
    assert len(cut.validation) == 7
    assert _rows(cut.train) | _rows(cut.validation) == _rows(whole.train)
    assert torch.equal(cut.test.x, whole.test.x)
    with pytest.raises(UserError, match="validation"):
        make(validation=len(whole.train))


def same_seed_gives_same_data(make: Make) -> None:
    """Asking twice gives the same samples and the same checksum."""
    first, second = make(seed=3), make(seed=3)
    for part in ("train", "validation", "test"):
        assert _same(getattr(first, part), getattr(second, part))
    assert first.sha256 == second.sha256


def seed_changes_all_or_nothing(make: Make) -> None:
    """Another seed gives another draw of every part, or the set does not depend on it."""
    first, second = make(seed=0), make(seed=1)
    parts = [part for part in ("train", "validation", "test") if len(getattr(first, part))]
    assert len({_same(getattr(first, part), getattr(second, part)) for part in parts}) == 1


def damage_is_noticed(make: Make, verified: list[Path]) -> None:
    """One changed byte in a file whose checksum is known is refused, by the name of the file."""
    make()
    for path in verified:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(UserError, match="SHA-256") as refusal:
            make()
        assert str(path) in str(refusal.value)
        content[-1] ^= 1
        path.write_bytes(content)


LAWS: list[Callable[[Make], None]] = [
    shapes_agree,
    labels_lie_in_range,
    splits_are_disjoint,
    validation_is_put_aside,
    same_seed_gives_same_data,
    seed_changes_all_or_nothing,
]


@pytest.fixture
def example(
    member: str, tmp_path: Path, tiny_cifar_archive: Callable[[Path, str], Path], picture: Callable[..., None]
) -> Example:
    """The member with its defaults, or with generated files where it needs some."""
    root = tmp_path / "data"
    if member == "fashion_mnist":
        return Example("fashion_mnist:mini")
    if member == "cifar":
        tiny_cifar_archive(root, "10")
        return Example("cifar", root)
    if member == "folder":
        for number in range(60):
            picture(root / "pictures" / f"class{number % 3}" / f"{number}.png", seed=number)
        return Example("folder:pictures@8", root)
    if member == "csv":
        rows = ["path,label"]
        for number in range(60):
            picture(root / "all" / f"{number}.png", seed=number)
            rows.append(f"all/{number}.png,class{number % 3}")
        (root / "list.csv").write_text("\n".join(rows))
        return Example("csv:list.csv@8", root)
    if member == "shards":
        root.mkdir()
        with tarfile.open(root / "a.tar", "w") as archive:
            for number in range(60):
                picture(tmp_path / "one.png", seed=number)
                add(archive, f"{number:03}.png", (tmp_path / "one.png").read_bytes())
                add(archive, f"{number:03}.cls", str(number % 3).encode())
        return Example("shards:*.tar@8", root)
    return Example(member)


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Put a file into a tar file."""
    about = tarfile.TarInfo(name)
    about.size = len(content)
    archive.addfile(about, io.BytesIO(content))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("member", plugins.members("datasets"))
def test_law(member: str, law: Callable[[Make], None], example: Example) -> None:
    law(example)


def test_damaged_mnist_is_refused(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in _idx.FILES]
    for path in paths:  # plain: a gzip file has a checksum of its own
        path.write_bytes(gzip.decompress((mnist.SHIPPED / f"{path.name}.gz").read_bytes()))
    damage_is_noticed(Example("mnist", tmp_path), paths)


def test_damaged_fashion_mnist_is_refused(tmp_path: Path, tiny_fashion: Callable[[Path], Path]) -> None:
    folder = tiny_fashion(tmp_path / "fashion")
    damage_is_noticed(Example("fashion_mnist", folder), sorted(folder.iterdir()))


@pytest.mark.parametrize("classes", ["10", "100"])
def test_damaged_cifar_archive_is_refused(
    classes: str, tmp_path: Path, tiny_cifar_archive: Callable[[Path, str], Path]
) -> None:
    damage_is_noticed(Example(f"cifar:{classes}", tmp_path), [tiny_cifar_archive(tmp_path, classes)])


def healthy(validation: int | None = None, seed: int = 0) -> Dataset:
    """A small set that obeys every law."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(60, 5, generator=generator), torch.arange(60) % 3
    aside = 10 if validation is None else validation
    if not 0 <= aside < 50:
        raise UserError(f"validation {aside}: 0 to 49 are possible")
    cut = 50 - aside
    train, put_aside, test = Split(x[:cut], y[:cut]), Split(x[cut:50], y[cut:50]), Split(x[50:], y[50:])
    return Dataset("healthy", train, put_aside, test, ("a", "b", "c"), source="drawn", sha256="0" * 64)


def float_labels(validation: int | None = None, seed: int = 0) -> Dataset:
    data = healthy(validation, seed)
    return replace(data, test=Split(data.test.x, data.test.y.float()))  # type: ignore[union-attr]


def label_too_large(validation: int | None = None, seed: int = 0) -> Dataset:
    data = healthy(validation, seed)
    return replace(data, classes=("a", "b"))


def validation_also_trained(validation: int | None = None, seed: int = 0) -> Dataset:
    data = healthy(validation, seed)
    return replace(data, validation=Split(data.train.x[-10:], data.train.y[-10:]))  # type: ignore[index]


def validation_ignored(validation: int | None = None, seed: int = 0) -> Dataset:
    return healthy(None, seed)


def drawn_without_seed(validation: int | None = None, seed: int = 0) -> Dataset:
    return healthy(validation, seed=int(torch.randint(2**31, ())))


def fixed_test_part(validation: int | None = None, seed: int = 0) -> Dataset:
    return replace(healthy(validation, seed), test=healthy().test)


FAULTS: dict[Callable[[Make], None], Make] = {
    shapes_agree: float_labels,
    labels_lie_in_range: label_too_large,
    splits_are_disjoint: validation_also_trained,
    validation_is_put_aside: validation_ignored,
    same_seed_gives_same_data: drawn_without_seed,
    seed_changes_all_or_nothing: fixed_test_part,
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_accepts_a_healthy_member_and_catches_a_faulty_one(law: Callable[[Make], None]) -> None:
    law(healthy)
    with pytest.raises(AssertionError):
        law(FAULTS[law])


def test_unverified_files_are_caught(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"data")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        damage_is_noticed(healthy, [tmp_path / "file"])


def _rows(split: Split) -> set[bytes]:
    return {row.tobytes() for row in split.x.numpy()}


def _same(one: Split, other: Split) -> bool:
    labels = (one.y is None and other.y is None) or (
        one.y is not None and other.y is not None and torch.equal(one.y, other.y)
    )
    return labels and torch.equal(one.x, other.x)
