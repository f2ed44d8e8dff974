"""A run evaluated on other data: classes by name, parts of its own data, what does not fit is refused."""

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

from vitruvius.cli import main
from vitruvius.core import files

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"
SMALL = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "head_dim=4", "dropout=0"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that tells bright left halves from bright right ones, and a folder of such pictures."""
    root = tmp_path_factory.mktemp("evaluate")
    words = [
        "--epochs",
        "12",
        "--batch",
        "16",
        "--lr",
        "0.01",
        "--warmup",
        "3",
        "--shift",
        "0",
        "--threads",
        "1",
    ]
    threads = torch.get_num_threads()
    assert main(["train", "--data", TOY, *SMALL, *words, "--name", "a", "--runs", str(root), "--quiet"]) == 0
    torch.set_num_threads(threads)
    for name, box in (("left", (0, 0, 20, 40)), ("right", (20, 0, 40, 40))):
        (root / "photos" / name).mkdir(parents=True)
        for index in range(6):
            image = Image.new("RGB", (40, 40), (50 + index,) * 3)
            image.paste((160, 160, 160), box)
            image.save(root / "photos" / name / f"{index}.png")
    return root


def evaluate(root: Path, *words: str) -> int:
    return main(["evaluate", *words, "--runs", str(root)])


@pytest.mark.usefixtures("pictures")
def test_a_folder_is_scaled_matched_by_name_and_reported(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(root, "a", f"folder:{root / 'photos'}", "--name", "e", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["images"], result["part"], result["accuracy"]) == (12, "all", 1.0)
    assert [one["name"] for one in result["classes"]] == ["left", "right"]
    assert result["verdict"].startswith("100.00 % of 12 images of")
    assert result["interval"][0] < 0.8
    page = (root / "evaluate" / "e" / "report.html").read_text()
    assert page.index("100.00 %") < page.index("<svg")
    assert (root / "evaluate" / "e" / "confusion.png").is_file()


def test_of_its_own_data_the_test_images_are_taken_and_others_are_told(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = files.read_json(root / "train" / "a" / "result.json")
    assert evaluate(root, "a", "--name", "own", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["part"], result["accuracy"]) == ("test", trained["test_accuracy"])
    assert result["loss"] == pytest.approx(trained["test_loss"], rel=1e-5)
    assert evaluate(root, "a", TOY, "--on", "train", "--name", "seen", "--json") == 0
    assert "is no test" in json.loads(capsys.readouterr().out)["notes"][-1]


def test_a_missing_class_is_told_and_a_strange_one_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("left", "oak"):
        (tmp_path / "all" / name).mkdir(parents=True)
        for index in range(6):
            Image.new("L", (8, 8), 40 * index).save(tmp_path / "all" / name / f"{index}.png")
    assert evaluate(root, "a", f"folder:{tmp_path / 'all'}") == 2
    assert "its class oak is none of the run, which knows left, right" in capsys.readouterr().err
    assert not list((root / "evaluate").glob("2*"))  # nothing half written


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which run?"),
        (["b", "mnist"], "no train run 'b'"),
        (["a", "noise:1x12x12"], "the run takes 1 x 8 x 8"),
    ],
)
def test_what_does_not_fit_is_refused(
    root: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(root, *words) == 2
    assert message in capsys.readouterr().err
