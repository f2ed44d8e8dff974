"""Prediction from a finished run: classes, probabilities and pictures; bad images are named."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.training import predictor

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that tells bright left halves from bright right ones, and two such images."""
    root = tmp_path_factory.mktemp("predict")
    words = [
        "--data",
        TOY,
        "--set",
        "patch=4",
        "width=8",
        "depth=2",
        "heads=2",
        "mlp=8",
        "head_dim=4",
        "dropout=0",
    ]
    words += [
        "--epochs",
        "20",
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
    assert main(["train", *words, "--name", "halves", "--runs", str(root), "--quiet"]) == 0
    torch.set_num_threads(threads)
    for name, box in (("left", (0, 0, 40, 80)), ("right", (40, 0, 80, 80))):
        image = Image.new("RGB", (80, 80), (60, 60, 60))
        image.paste((160, 160, 160), box)
        image.save(root / f"{name}.png")
    return root


def predict(root: Path, *words: str) -> int:
    return main(["predict", *words, "--runs", str(root)])


@pytest.mark.usefixtures("pictures")
def test_classes_come_with_probabilities_and_pictures(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = [str(root / "left.png"), str(root / "right.png")]
    assert predict(root, "halves", *images, "--overlay", "--name", "p", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    best = [prediction["guesses"][0] for prediction in result["predictions"]]
    assert [guess["name"] for guess in best] == ["left", "right"]
    assert all(0.5 < guess["probability"] <= 1 for guess in best)
    folder = root / "predict" / "p"
    for name in ("left-attention.png", "right-attention.png", "distance.png", "positions.png"):
        with Image.open(folder / name) as picture:
            assert min(picture.size) > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which run?"),
        (["halvs", "x.png"], "no train run 'halvs': did you mean 'halves'?"),
        (["halves", "nowhere/*.png"], "nowhere/*.png: no pictures are there (.png .jpg"),
    ],
)
def test_what_cannot_be_read_is_named(
    root: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict(root, *words) == 2
    assert message in capsys.readouterr().err


def test_lines_for_other_programs(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.png").write_bytes(b"no picture")
    words = ["halves", str(root / "left.png"), str(tmp_path / "bad.png"), "--top", "1", "--quiet"]
    assert predict(root, *words, "--format", "jsonl", "--name", "lines") == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["guesses"][0]["name"] == "left"
    assert second["failed"].startswith("not a PNG")
    folder = root / "predict" / "lines"
    assert (folder / "predictions.jsonl").read_text().count("\n") == 2
    assert not list(folder.glob("*.png"))  # pictures are drawn with --overlay
    assert predict(root, *words, "--format", "csv", "--name", "rows") == 1
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["class_1"] for row in rows] == ["left", ""]


def test_no_more_images_are_in_memory_than_one_batch(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = predictor.classify

    def classify(model: predictor.Predictor, x: Any, top: int) -> Any:
        seen.append(len(x))
        return real(model, x, top)

    monkeypatch.setattr(predictor, "BATCH", 2)
    monkeypatch.setattr(predictor, "classify", classify)
    images = [str(root / f"{name}.png") for name in ("left", "right", "left")]
    assert predict(root, "halves", *images, "--name", "batches", "--quiet") == 0
    assert seen == [2, 1]


def test_damaged_weights_are_refused(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shutil

    shutil.copytree(root / "train" / "halves", tmp_path / "train" / "halves")
    path = tmp_path / "train" / "halves" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    files.write(path, bytes(content))
    assert predict(tmp_path, "halves") == 2
    assert "damaged or was changed" in capsys.readouterr().err


def test_folders_and_patterns_are_read_and_a_bad_file_is_a_row(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("left", "right"):
        (tmp_path / "deep" / f"{name}.PNG").write_bytes((root / f"{name}.png").read_bytes())
    (tmp_path / "deep" / "broken.jpg").write_bytes(b"no picture")
    (tmp_path / "deep" / "notes.txt").write_text("not an image")
    words = [str(tmp_path), str(root / "r*.png"), "nowhere.png"]
    assert predict(root, "halves", *words, "--top", "2", "--name", "many", "--json") == 1
    found = json.loads(capsys.readouterr().out)["predictions"]
    names = [Path(prediction["image"]).name for prediction in found]
    assert names == ["broken.jpg", "left.PNG", "right.PNG", "right.png", "nowhere.png"]
    assert [prediction["failed"] for prediction in found] == [
        *("not a PNG, JPEG, WebP, GIF, BMP or TIFF", None, None, None, "not a plain file"),
    ]
    assert [p["guesses"][0]["name"] for p in found if p["guesses"]] == ["left", "right", "right"]
    folder = root / "predict" / "many"
    rows = list(csv.DictReader((folder / "predictions.csv").read_text().splitlines()))
    assert [row["class_1"] for row in rows][:2] == ["", "left"]
    assert [row["failed"] for row in rows][:2] == ["not a PNG, JPEG, WebP, GIF, BMP or TIFF", ""]
    assert float(rows[1]["probability_1"]) == found[1]["guesses"][0]["probability"]
    assert not list(folder.glob("*attention.png"))


def test_batches_give_each_image_what_it_gets_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = predictor.load(root / "train" / "halves")
    images = [predictor.read_picture(str(root / f"{name}.png"), model) for name in ("left", "right", "left")]
    alone = [next(predictor.classify(model, [image], 2)) for image in images]
    monkeypatch.setattr(predictor, "BATCH", 2)
    for one, other in zip(alone, predictor.classify(model, images, 2), strict=True):
        assert [name for name, _ in one] == [name for name, _ in other]
        assert [chance for _, chance in one] == pytest.approx([chance for _, chance in other], abs=1e-6)


@pytest.mark.parametrize("name", ["model.json", "manifest.json", "config.json"])
@pytest.mark.parametrize("content", ["null", "[]", "1.5", "{}", '{"arch": 1.5, "files": 2}', "[" * 100_000])
def test_json_of_another_type_in_a_run_is_one_sentence(
    root: Path, tmp_path: Path, name: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = next((root / "train").iterdir())
    shutil.copytree(source, tmp_path / "train" / "a")
    if name == "model.json":
        (tmp_path / "train" / "a" / "manifest.json").unlink()  # which would call the file damaged
    (tmp_path / "train" / "a" / name).write_text(content)
    for words in (["predict", "a"], ["probe", "a"], ["train", "--resume", "a"]):
        code = main([*words, "--runs", str(tmp_path), "--quiet"])
        captured = capsys.readouterr()
        assert code in (0, 2)  # 0 where the command does not need the file, or has written it again
        assert code == 0 or len(captured.err.splitlines()) == 1
    assert name == "manifest.json" or main(["probe", "a", "--runs", str(tmp_path)]) in (0, 2)


def test_a_prediction_is_resumed_without_naming_its_run_again(root: Path) -> None:
    words = ["--runs", str(root), "--quiet"]
    name = next((root / "train").iterdir()).name
    assert main(["predict", name, "--name", "again", *words]) == 0
    assert main(["predict", "--resume", "again", *words]) == 0


def test_without_a_run_digits_are_read(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The images of the shipped network's own file, as files, patterns and folders."""
    from vitruvius.web import trained

    shown = trained.shipped()
    for index in (3, 7):
        name = f"{shown.about.classes[shown.about.labels[index]]}.png"
        Image.fromarray(shown.images[index, 0].numpy()).save(tmp_path / name)
    for words in (
        [str(tmp_path / "3.png"), str(tmp_path / "7.png")],
        [str(tmp_path / "*.png")],
        [str(tmp_path)],
    ):
        assert predict(root, *words, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert [row["guesses"][0]["name"] for row in found["predictions"]] == ["3", "7"]
        assert found["model"].startswith("mnist-slim, trained on mnist, ")
    (root / "train" / "7.png").symlink_to(root / "train" / "halves")
    assert predict(root, "7.png", "--json") == 0, "a run of that name comes first"
    assert json.loads(capsys.readouterr().out)["predictions"] == []
    (root / "train" / "7.png").unlink()
    config = files.read_json(Path(found["run"]) / "config.json")
    assert (config["run"], config["images"]) == ("", [str(tmp_path)])
    name = Path(found["run"]).name
    assert main(["predict", "--resume", name, "--runs", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"] == found["predictions"]
