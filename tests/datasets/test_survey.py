"""The table of a data set: counts, sizes, and what a person should know before training."""

from collections.abc import Callable
from pathlib import Path

import torch

from vitruvius import datasets
from vitruvius.core.blocks import Table
from vitruvius.datasets import Dataset, Split, _survey

Picture = Callable[..., None]


def part(*counts: int) -> Split:
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    return Split(torch.zeros(len(labels), 1, 4, 4, dtype=torch.uint8), labels)


def table(data: Dataset) -> Table:
    return next(block for block in datasets.survey(data).view() if isinstance(block, Table))


def test_every_class_and_part_is_counted() -> None:
    data = Dataset("mine", part(3, 40), part(1, 2), part(0, 5), ("a", "b"))
    assert table(data).columns == ("class", "train", "validation", "test", "all")
    assert table(data).rows == (("a", 3, 1, 0, 4), ("b", 40, 2, 5, 47), ("all", 43, 3, 5, 51))
    said = " ".join(datasets.survey(data).remarks())
    assert "40 of 'b', 3 of 'a'): always answering 'b' is right in 93%" in said
    assert "fewer than 20 training samples: a" in said


def test_of_many_classes_the_commonest_and_the_rarest_are_listed() -> None:
    counts = list(range(1, 31))
    names = tuple(f"k{count}" for count in counts)
    data = Dataset("mine", part(*counts), part(*counts), part(*counts), names)
    rows = table(data).rows
    assert [row[0] for row in rows][:2] == ["k30", "k29"]
    assert rows[10][0] == "(10 others)"
    assert rows[-1] == ("all", 465, 465, 465, 1395)
    assert sum(row[1] for row in rows[:-1]) == 465  # type: ignore[misc]


def test_samples_without_labels_are_counted_too() -> None:
    split = Split(torch.zeros(7, 1, 4, 4, dtype=torch.uint8), None)
    data = Dataset("mine", split, split, Split(split.x[:0], None), ())
    assert table(data).rows == (("(no labels)", 7, 7, 0, 14),)
    assert datasets.survey(data).remarks() == ["there are no test samples"]


def test_files_left_out_are_named(tmp_path: Path, picture: Picture) -> None:
    for number in range(20):
        picture(tmp_path / f"c{number % 2}" / f"{number}.png", seed=number)
    (tmp_path / "c0" / "Thumbs.db").write_text("x")
    (tmp_path / "c0" / "bad.png").write_text("x")
    data = datasets.get(f"folder:{tmp_path}", skip_bad=True)
    words = " ".join(block.text for block in datasets.survey(data).view() if hasattr(block, "text"))
    assert "1 unreadable, left out: c0/bad.png (not a PNG" in words
    assert "1 other files, left out: c0/Thumbs.db" in words
    assert (
        "all 20 x 16 pixels; scaled to 16 x 16 (chosen for them; @SIDE behind the name sets another)" in words
    )


def test_pictures_that_need_no_scaling_are_said_to_be_read_as_they_are(
    tmp_path: Path, picture: Picture
) -> None:
    for number in range(20):
        picture(tmp_path / f"c{number % 2}" / f"{number}.png", size=(16, 16), seed=number)
    data = datasets.get(f"folder:{tmp_path}")
    words = " ".join(block.text for block in datasets.survey(data).view() if hasattr(block, "text"))
    assert "all pictures have 16 x 16 pixels and are read as they are" in words
    assert "cropped" not in words


def test_the_middle_size_is_that_of_the_middle_picture() -> None:
    found = _survey.sizes_of([(1, 1, True)] * 3 + [(9, 9, False), (5, 2, False)])
    assert (found.smallest, found.median, found.largest) == ((1, 1), (1, 1), (9, 9))
    assert (found.different, found.grey) == (3, 3)
