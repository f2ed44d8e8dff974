"""The verb data: table, verdict, contact sheet, duplicates, exit codes."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.datasets import Dataset
from vitruvius.inspecting import report


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for part, count in (("train", 8), ("test", 3)):
        for number in range(count):
            pixels = np.random.default_rng(number + 50 * (part == "test")).integers(
                0, 255, (6, 6, 3), np.uint8
            )
            path = tmp_path / "photos" / part / f"kind{number % 2}" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).resize((30, 24), Image.Resampling.BILINEAR).save(path)
    return tmp_path / "photos"


@pytest.mark.usefixtures("pictures")
def test_table_contact_sheet_and_page(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "photos", "--name", "a"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("all files are readable, a classifier can be trained") < shown.index("kind0")
    assert "pictures of all 30 x 24 pixels; scaled to 24 x 24" in shown
    folder = Path("runs/data/a")
    assert {"contact_sheet.png", "report.html", "result.json"} <= {path.name for path in folder.iterdir()}
    found = files.read_json(folder / "result.json")
    assert isinstance(found, dict)
    counts = found["survey"]["counts"]
    assert {part: sum(counts[part]) for part in counts} == {"train": 7, "validation": 1, "test": 3}
    assert counts["test"] == [2, 1]


def test_unreadable_files_are_listed_with_exit_code_one(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "train" / "kind0" / "bad.png").write_text("x")
    assert main(["data", "folder:photos"]) == 1
    assert capsys.readouterr().out.startswith("1 unreadable: a training stops before it begins")


def test_pictures_in_two_parts_are_named(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(photos / "train" / "kind0" / "0.png", photos / "test" / "kind0" / "copy.png")
    assert main(["data", "photos", "--name", "a"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("near-duplicates of others: 1 test image; accuracies on them flatter")
    assert "test/kind0/copy.png" in shown
    assert "train/kind0/0.png" in Path("runs/data/a/duplicates.csv").read_text()


def test_a_data_set_that_is_no_folder_has_a_table_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["data", "noise:1x8x8/3"]) == 0
    assert "768 samples of 3 classes, 1 x 8 x 8" in capsys.readouterr().out
    assert main(["data", "synthetic", "--quiet"]) == 0


def test_of_many_classes_twenty_are_shown_and_no_example_twice() -> None:
    import torch

    from vitruvius.datasets import Split

    labels = torch.cat([torch.arange(30), torch.zeros(3, dtype=torch.long)])
    part = Split(torch.randint(256, (33, 3, 64, 64), dtype=torch.uint8), labels)
    sheet = report.contact_sheet(Dataset("x", part, part, part, tuple(map(str, range(30)))))
    assert (len(sheet.rows), len(sheet.columns)) == (20, 4)
    assert [len(row) for row in sheet.pixels] == [4] + [1] * 19
    assert len(sheet.pixels[0][0]) == report.SIDE
