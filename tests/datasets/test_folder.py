"""Folders of pictures: the three layouts, the seed, and what is refused."""

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from vitruvius import datasets
from vitruvius.arch import cost
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, _images

Picture = Callable[..., None]


def load(root: Path, side: int = 8, **options: int) -> Dataset:
    return datasets.get(f"folder:{root}@{side}", **options)  # type: ignore[arg-type]


def sizes(data: Dataset) -> list[int]:
    return [len(part) for part in (data.train, data.validation, data.test)]


def undivided(root: Path, picture: Picture, counts: dict[str, int]) -> Path:
    for kind, count in counts.items():
        for number in range(count):
            picture(root / kind / f"{number:03}.png", seed=zlib.crc32(f"{kind} {number}".encode()))
    return root


@pytest.mark.parametrize("validation", ["val", "validation"])
def test_divided_folder_keeps_its_parts(validation: str, tmp_path: Path, picture: Picture) -> None:
    for part, count in (("train", 5), (validation, 2), ("test", 3)):
        undivided(tmp_path / part, picture, {"dog": count, "cat": count})
    data = load(tmp_path)
    assert sizes(data) == [10, 4, 6]
    assert data.classes == ("cat", "dog")
    assert data.class_counts() == {"cat": 5, "dog": 5}
    assert data.test.y is not None
    assert data.test.y.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.shape == (3, 8, 8)


def test_train_gives_a_tenth_to_validation_if_there_is_no_val(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path / "train", picture, {"dog": 20, "cat": 20})
    assert sizes(load(tmp_path)) == [36, 4, 0]
    assert sizes(load(tmp_path, validation=10)) == [30, 10, 0]


def test_undivided_folder_is_divided_in_proportion_to_the_classes(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"rare": 10, "common": 90})
    data = load(tmp_path, seed=4)
    assert sizes(data) == [80, 10, 10]
    for part in (data.validation, data.test):
        assert part.y is not None
        assert part.y.bincount().tolist() == [9, 1]
    assert sizes(load(tmp_path, validation=0)) == [90, 0, 10]


def test_seed_changes_the_division_but_not_the_checksum(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 20, "b": 20})
    first, second = load(tmp_path, seed=0), load(tmp_path, seed=1)
    assert not torch.equal(first.test.x, second.test.x)
    assert first.sha256 == second.sha256
    picture(tmp_path / "a" / "000.png", seed=999)
    assert load(tmp_path, seed=0).sha256 != first.sha256


def test_flat_folder_has_no_labels(tmp_path: Path, picture: Picture) -> None:
    for number in range(20):
        picture(tmp_path / f"{number}.jpg", seed=number)
    data = load(tmp_path)
    assert sizes(data) == [16, 2, 2]
    assert data.train.y is None
    assert data.classes == ()


def test_pictures_are_resized_bilinearly_to_the_side_asked_for(tmp_path: Path, picture: Picture) -> None:
    picture(tmp_path / "a.png", seed=0, size=(30, 17))
    with Image.open(tmp_path / "a.png") as image:
        expected = np.asarray(image.resize((64, 64), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    squashed = datasets.get(f"folder:{tmp_path}@64", fit="squash")
    assert np.array_equal(squashed.train.x[0].numpy(), expected)
    assert squashed.fit == "squash"
    cropped = datasets.get(f"folder:{tmp_path}@17")
    with Image.open(tmp_path / "a.png") as image:
        centre = image.resize((17, 17), Image.Resampling.BILINEAR, box=(6.5, 0, 23.5, 17))
    assert np.array_equal(cropped.train.x[0].numpy(), np.asarray(centre).transpose(2, 0, 1))


def test_without_a_side_it_is_chosen_by_the_median_shorter_side(tmp_path: Path, picture: Picture) -> None:
    for number, size in enumerate([(30, 90), (90, 33), (35, 35)]):
        picture(tmp_path / f"{number}.png", seed=number, size=size)
    data = datasets.get(f"folder:{tmp_path}")
    assert data.shape == (3, 32, 32)
    assert data.name.endswith("@32")
    assert data.files is not None
    assert data.files.side_is_chosen
    assert (data.files.sizes.smallest, data.files.sizes.largest) == ((35, 35), (90, 33))


def test_grey_only_if_all_are_grey(tmp_path: Path, picture: Picture) -> None:
    for number in range(3):
        picture(tmp_path / f"{number}.png", seed=number, mode="L")
    grey = load(tmp_path, seed=0, validation=0)
    assert grey.shape == (1, 8, 8)
    assert len(grey.mean) == 1
    picture(tmp_path / "3.png", seed=3, mode="RGBA")
    mixed = load(tmp_path, seed=0, validation=0)
    assert mixed.shape == (3, 8, 8)
    assert torch.equal(mixed.train.x[:3], grey.train.x.expand(3, 3, 8, 8))


def test_mean_and_deviation_are_of_the_training_pixels(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 20, "b": 20})
    data = load(tmp_path)
    pixels = data.train.x.numpy() / 255
    assert data.mean == pytest.approx(pixels.mean((0, 2, 3)).tolist())
    assert data.std == pytest.approx(pixels.std((0, 2, 3)).tolist())


def test_unreadable_files_are_counted_and_ten_are_named(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 5, "b": 5})
    for number in range(12):
        (tmp_path / "a" / f"bad{number:02}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(UserError) as refusal:
        load(tmp_path)
    message = str(refusal.value)
    assert "12 of 22 files unread: a/bad00.png (" in message
    assert message.count("/bad") == 10
    assert message.endswith("and 2 more; --skip-bad leaves them out")
    data = datasets.get(f"folder:{tmp_path}@8", skip_bad=True)
    assert sum(sizes(data)) == 10
    assert data.files is not None
    assert len(data.files.bad) == 12
    every = {row.tobytes() for part in (data.train, data.validation, data.test) for row in part.x.numpy()}
    for number in range(12):
        (tmp_path / "a" / f"bad{number:02}.png").unlink()
    clean = load(tmp_path)
    assert every == {
        row.tobytes() for part in (clean.train, clean.validation, clean.test) for row in part.x.numpy()
    }
    assert data.sha256 == clean.sha256


def test_reasons_are_given(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 3})
    (tmp_path / "a" / "notes.png").write_text("hello")
    os.mkfifo(tmp_path / "a" / "pipe.png")
    with pytest.raises(UserError) as refusal:
        load(tmp_path)
    for words in ("notes.png (not a PNG, JPEG, WebP, GIF, BMP or TIFF)", "pipe.png (not a plain file)"):
        assert words in str(refusal.value)


def test_other_files_are_listed_and_skipped_and_folders_inside_a_class_belong_to_it(
    tmp_path: Path, picture: Picture
) -> None:
    undivided(tmp_path, picture, {"a": 5, "b": 5})
    picture(tmp_path / "b" / "2024" / "deep.png", seed=77)
    for name in ("a/Thumbs.db", "b/notes.txt", "b/2024/x.xmp", "readme.md"):
        (tmp_path / name).write_text("hello")
    data = load(tmp_path)
    assert sum(sizes(data)) == 11
    assert data.files is not None
    assert sorted(data.files.foreign) == ["a/Thumbs.db", "b/2024/x.xmp", "b/notes.txt", "readme.md"]


def test_a_class_whose_pictures_are_all_unreadable_is_refused(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 5})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "0.png").write_text("hello")
    with pytest.raises(UserError, match="no readable picture is left to train b"):
        datasets.get(f"folder:{tmp_path}@8", skip_bad=True, validation=0)


def test_at_most_so_many_pictures_are_opened(
    tmp_path: Path, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    undivided(tmp_path, picture, {"a": 20, "b": 20})
    opened = []
    read = _images.read

    def watched(path: Path, *place: object) -> bytes:
        opened.append(path)
        return read(path)

    monkeypatch.setattr(_images, "read", watched)
    data = datasets.get(f"folder:{tmp_path}@8", limit=6)
    assert sizes(data) == [6, 0, 0]
    assert data.class_counts() == {"a": 3, "b": 3}
    assert len(opened) == 6


def test_hidden_files_are_left_out(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 3, "b": 3})
    (tmp_path / "a" / ".DS_Store").write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    assert sum(sizes(load(tmp_path))) == 6


def test_memory_is_predicted_before_a_picture_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(b"not a picture")
    monkeypatch.setattr(cost, "memory_bytes", lambda: 2**26)
    with pytest.raises(UserError, match=r"4 pictures of 3 x 4000 x 4000 bytes would need 0.2 GiB"):
        load(tmp_path, side=4000)


@pytest.mark.parametrize("link", ["train", "train/cat", "train/cat/0.png"])
def test_links_out_of_the_folder_are_refused(link: str, tmp_path: Path, picture: Picture) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for place in (root / "train", outside, outside / "cat"):
        undivided(place, picture, {"dog": 2})
    target = {"train": outside, "train/cat": outside / "cat", "train/cat/0.png": outside / "dog" / "000.png"}[
        link
    ]
    if link == "train":
        (root / "train").rename(root / "test")
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(target)
    with pytest.raises(UserError, match=f"{link} is a link that leads out of the folder"):
        load(root)


def test_links_inside_the_folder_are_followed_and_circles_refused(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"a": 3})
    (tmp_path / "a" / "again.png").symlink_to(tmp_path / "a" / "000.png")
    assert sum(sizes(load(tmp_path))) == 4
    (tmp_path / "a" / "circle.png").symlink_to(tmp_path / "a" / "circle.png")
    with pytest.raises(UserError, match="circle"):
        load(tmp_path)
    (tmp_path / "a" / "circle.png").unlink()
    (tmp_path / "a" / "inner").mkdir()
    (tmp_path / "a" / "inner" / "up").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match="a link to a folder inside a class"):
        load(tmp_path)


def test_disorder_is_refused(tmp_path: Path, picture: Picture) -> None:
    with pytest.raises(UserError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no pictures"):
        load(tmp_path)
    (tmp_path / "train" / "cat").mkdir(parents=True)
    with pytest.raises(UserError, match="no pictures of cat"):
        load(tmp_path)
    picture(tmp_path / "train" / "cat" / "0.png", seed=0)
    picture(tmp_path / "val" / "dog" / "0.png", seed=0)
    with pytest.raises(UserError, match="validation has dog, which train has not"):
        load(tmp_path)
    picture(tmp_path / "train" / "dog" / "0.png", seed=1)
    picture(tmp_path / "train" / "stray.JPG", seed=2)
    with pytest.raises(UserError, match="pictures beside them: stray.JPG"):
        load(tmp_path)
    (tmp_path / "train" / "stray.JPG").unlink()
    assert sizes(load(tmp_path)) == [2, 1, 0]
    with pytest.raises(UserError, match="validation 1: this folder has its own"):
        load(tmp_path, validation=1)
    picture(tmp_path / "validation" / "dog" / "0.png", seed=0)
    with pytest.raises(UserError, match="both val and validation"):
        load(tmp_path)


def test_a_class_called_train_is_not_mistaken_for_the_training_part(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path, picture, {"car": 3, "train": 3})
    with pytest.raises(
        UserError, match=r"beside train only val \(or validation\) and test are read, not car"
    ):
        load(tmp_path)


def test_a_class_without_training_pictures_is_refused_with_its_count(
    tmp_path: Path, picture: Picture
) -> None:
    undivided(tmp_path, picture, {"a": 30, "b": 1})
    with pytest.raises(UserError, match=r"no picture is left to train 'b' \(1 in all\)"):
        load(tmp_path, validation=25)


@pytest.mark.parametrize("side", ["0", "4097", "9" * 5000])
def test_impossible_sides_are_refused(side: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="1 to 4096 are possible"):
        datasets.get(f"folder:{tmp_path}@{side}")


def test_relative_paths_start_at_the_data_folder(tmp_path: Path, picture: Picture) -> None:
    undivided(tmp_path / "pets@2024", picture, {"a": 3, "b": 3})
    data = datasets.get("folder:pets@2024@16", data_dir=str(tmp_path))
    assert data.shape == (3, 16, 16)
    assert data.name == "folder:pets@2024@16"


def test_runs_of_older_versions_keep_their_side_and_are_squashed() -> None:
    older = datasets.DataChoice.read_older({"data": "folder:photos", "split_seed": 3})
    assert (older["data"], older["fit"], older["split_seed"]) == ("folder:photos@32", "squash", 3)
    assert datasets.DataChoice.read_older({"data": "folder:photos@64"})["data"] == "folder:photos@64"
    now = {"data": "folder:photos", "fit": "crop", "split_seed": 0}
    assert datasets.DataChoice.read_older(now) == now
    assert "fit" not in datasets.DataChoice.read_older({"data": "mnist"})
