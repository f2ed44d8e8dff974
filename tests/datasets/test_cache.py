"""The cache of decoded pictures: the same bytes as in memory, verified, shared, limited."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from vitruvius import datasets
from vitruvius.core import cache
from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.datasets import DataChoice, Dataset, _cache, _pictures, _workers

Picture = Callable[..., None]


@pytest.fixture
def photos(tmp_path: Path, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> DataChoice:
    """Twelve pictures, more than are kept in memory here."""
    monkeypatch.setattr(_pictures, "IN_MEMORY", 5)
    monkeypatch.setattr(_workers, "TASK", 4)
    for number in range(12):
        picture(tmp_path / "photos" / f"class{number % 2}" / f"{number}.png", seed=number)
    return DataChoice(data=f"folder:{tmp_path / 'photos'}@8", validation=2)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Decode in this process, and count the pictures."""
    from vitruvius.datasets import _decoder

    decoded: list[int] = []

    def decode(locations: list[_decoder.Location], target: _workers.Target, workers: int) -> object:
        rows = _decoder.rows(target.path, target.pictures, target.side)
        for location in locations:
            decoded.append(location.row)
            yield [_decoder.decode(location, rows, target.fit)]

    monkeypatch.setattr(_workers, "decode", decode)
    return decoded


def entries() -> list[Path]:
    return sorted(cache.folder("pixels").glob("*.pixels"))


def same(one: Dataset, other: Dataset) -> bool:
    facts = [(data.sha256, data.mean, data.std, data.files, data.classes) for data in (one, other)]
    pairs = [(getattr(one, part), getattr(other, part)) for part in ("train", "validation", "test")]
    return facts[0] == facts[1] and all(torch.equal(a.x, b.x) and torch.equal(a.y, b.y) for a, b in pairs)


def in_memory(choice: DataChoice) -> Dataset:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_pictures, "IN_MEMORY", 100)
        return choice.load()


def test_processes_decode_the_same_bytes_as_memory_holds(
    photos: DataChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_workers, "cores", lambda: 2)
    (Path(photos.data[7:-2]) / "class0" / "bad.png").write_text("hello")
    asked = photos.model_copy(update={"skip_bad": True})
    steps = list(asked.decode())
    assert (steps[-1].done, steps[-1].total) == (13, 13)
    cached = asked.load()
    assert same(cached, in_memory(asked))
    assert cached.files is not None
    assert cached.files.bad[0].startswith("class0/bad.png")
    with pytest.raises(UserError, match=r"1 of 13 files unread: class0/bad.png"):
        photos.load()


def test_the_second_start_decodes_nothing_until_a_picture_changes(
    photos: DataChoice, here: list[int], picture: Picture
) -> None:
    first = photos.load()
    assert len(here) == 12
    assert same(first, photos.load())
    assert list(photos.decode()) == []
    assert len(here) == 12
    changed = Path(photos.data[7:-2]) / "class0" / "0.png"
    picture(changed, seed=99)
    os.utime(changed, ns=(1, 1))
    assert photos.load().sha256 != first.sha256
    assert len(here) == 24


def test_side_and_fit_have_their_own_entries(photos: DataChoice, here: list[int]) -> None:
    for changes in ({}, {"fit": "pad"}, {"data": photos.data[:-1] + "16"}):
        photos.model_copy(update=changes).load()
    assert len(entries()) == 3


@pytest.mark.parametrize("suffix", [".pixels", ".json"])
def test_a_damaged_entry_is_made_again(photos: DataChoice, here: list[int], suffix: str) -> None:
    photos.load()
    path = entries()[0].with_suffix(suffix)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = photos.load()
    assert len(here) == 24
    assert same(found, in_memory(photos))


def test_an_entry_cut_off_is_made_again(photos: DataChoice, here: list[int]) -> None:
    photos.load()
    os.truncate(entries()[0], 100)
    assert same(photos.load(), in_memory(photos))


def test_of_a_large_file_spread_chunks_are_verified(
    photos: DataChoice, here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cache, "CHUNK", 100)
    monkeypatch.setattr(_cache, "VERIFIED", 1200)  # every second chunk of 12 x 192 bytes
    photos.load()
    path = entries()[0]
    content = path.read_bytes()
    path.write_bytes(content[:150] + b"?" + content[151:])
    photos.load()
    assert len(here) == 12
    path.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    photos.load()
    assert len(here) == 24


def test_writing_to_the_pixels_changes_no_file(photos: DataChoice, here: list[int]) -> None:
    data = photos.load()
    before = entries()[0].read_bytes()
    data.train.x.zero_()
    del data
    assert entries()[0].read_bytes() == before


def test_grey_pictures_take_one_channel(
    tmp_path: Path, picture: Picture, here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        picture(tmp_path / "grey" / f"{number}.png", seed=number, mode="L")
    name = f"folder:{tmp_path / 'grey'}@8"
    kept = datasets.get(name)
    monkeypatch.setattr(_pictures, "IN_MEMORY", 5)
    cached = datasets.get(name)
    assert cached.shape == (1, 8, 8)
    assert torch.equal(cached.train.x, kept.train.x)
    assert entries()[0].stat().st_size == 8 * 64


def test_what_was_not_used_for_longest_makes_room(
    photos: DataChoice, here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITRUVIUS_CACHE_LIMIT", str(5000 / 10**9))  # two entries of 12 x 192 bytes
    sides = [photos.model_copy(update={"fit": fit}) for fit in ("crop", "pad", "squash")]
    for age, choice in enumerate(sides[:2]):
        choice.load()
        for path in cache.folder("pixels").glob("*.json"):
            if path.stat().st_mtime > 100:
                os.utime(path, (age, age))
    oldest = min(cache.folder("pixels").glob("*.json"), key=lambda path: path.stat().st_mtime)
    sides[2].load()
    assert len(entries()) == 2
    assert not oldest.exists()


def test_more_than_the_limit_or_the_disk_holds_is_refused_before_decoding(
    photos: DataChoice, here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITRUVIUS_CACHE_LIMIT", "0.000001")
    with pytest.raises(
        UserError, match=r"the cache holds 0.0 GB \(VITRUVIUS_CACHE_LIMIT\); choose a smaller side"
    ):
        photos.load()
    monkeypatch.delenv("VITRUVIUS_CACHE_LIMIT")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 10}))
    with pytest.raises(UserError, match="has 0.0 GB left"):
        photos.load()
    assert here == []
    monkeypatch.setenv("VITRUVIUS_CACHE_LIMIT", "much")
    with pytest.raises(UserError, match="VITRUVIUS_CACHE_LIMIT=much: give the size"):
        photos.load()


def test_without_a_cache_everything_is_decoded_into_memory(
    photos: DataChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITRUVIUS_CACHE_LIMIT", "0")
    assert len(photos.load().train) == 9
    assert entries() == []


def test_what_an_interrupted_start_has_left_is_removed(photos: DataChoice, here: list[int]) -> None:
    folder = cache.folder("pixels")
    folder.mkdir(parents=True)
    (folder / "old.part").write_bytes(b"x")
    work = photos.decode()
    next(work)
    assert len(list(folder.glob("*.part"))) == 1
    work.close()  # type: ignore[attr-defined]
    assert list(folder.glob("*.part")) == entries() == []


def test_a_picture_that_kills_its_process_is_named(
    photos: DataChoice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    killer = tmp_path / "sitecustomize.py"
    killer.write_text(
        "import os, sys\n"
        "if any('_decoder' in word for word in sys.orig_argv):\n"
        "    from vitruvius.datasets import _decoder\n"
        "    from vitruvius.datasets import _images\n"
        "    read = _images.read\n"
        "    _images.read = lambda path, *a: os._exit(9) if path.name == '3.png' else read(path, *a)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(_workers, "cores", lambda: 1)
    data = photos.model_copy(update={"skip_bad": True}).load()
    assert data.files is not None
    assert data.files.bad == ("class1/3.png (it kills the process that decodes it)",)
    assert len(data.train) + len(data.validation) + len(data.test) == 11


def test_processes_that_never_answer_are_no_fault_of_the_pictures(
    photos: DataChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    monkeypatch.setattr(_workers, "cores", lambda: 1)
    with pytest.raises(WorkFailed, match="die before their first answer; VITRUVIUS_CACHE_LIMIT=0"):
        photos.load()
    assert entries() == []


def test_gaps_are_closed_in_place() -> None:
    from vitruvius.datasets._decoder import Outcome

    rows = np.arange(4 * 3 * 4, dtype=np.uint8).reshape(4, 3, 2, 2)
    expected = rows[[1, 3]].copy()
    outcomes = [Outcome(0, fault="x"), Outcome(1, "a"), Outcome(2, fault="x"), Outcome(3, "b")]
    assert np.array_equal(_cache.compact(rows.copy(), outcomes), expected)
    grey = [outcome._replace(is_grey=True) for outcome in outcomes]
    assert np.array_equal(_cache.compact(rows.copy(), grey), expected[:, :1])


def test_a_closed_cache_is_read_and_not_changed(photos: DataChoice, here: list[int]) -> None:
    with cache.closed(), pytest.raises(UserError, match="not in .*, which is not changed here"):
        photos.load()
    assert not here
    assert not cache.folder("pixels").exists()
    made = photos.load()
    times = {path: path.stat().st_mtime_ns for path in cache.folder("pixels").iterdir()}
    with cache.closed():
        assert same(photos.load(), made)
        (entry,) = entries()
        entry.write_bytes(entry.read_bytes()[:-1])
        with pytest.raises(UserError, match="which is not changed here"):
            photos.load()
    assert {path.name for path in times} == {path.name for path in cache.folder("pixels").iterdir()}
    assert times[entry.with_suffix(".json")] == entry.with_suffix(".json").stat().st_mtime_ns
    assert photos.load().sha256 == made.sha256, "who may change it makes it anew"
