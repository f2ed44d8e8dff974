"""The first command: a folder of pictures and nothing else is trained with what the data decide."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.training import auto


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two classes of grey pictures, dark and bright, and a foreign file; epochs are few here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(auto, "IMAGES_SEEN", 48)
    monkeypatch.setattr(auto, "FEWEST_EPOCHS", 1)
    for number in range(60):
        kind, shade = ("dark", 30) if number % 2 else ("bright", 170)
        pixels = np.random.default_rng(number).integers(0, 60, (9, 8), dtype=np.uint8) + shade
        path = tmp_path / "photos" / kind / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    (tmp_path / "photos" / "dark" / "Thumbs.db").write_text("x")
    return tmp_path


def run(name: str = "a") -> tuple[dict[str, Any], dict[str, Any]]:
    folder = Path("runs/train") / name
    config, result = files.read_json(folder / "config.json"), files.read_json(folder / "result.json")
    assert isinstance(config, dict)
    assert isinstance(result, dict)
    return config, result


def test_the_path_of_a_folder_is_enough(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--data", "photos", "--name", "a", "--threads", "1"]) == 0
    shown = capsys.readouterr()
    for words in (
        "chosen for these data: patch 2 cuts 8 pixels into 4 x 4 patches",
        "no shifts, crops or flips",
        "to beat on the validation images: linear probe",
        "1 other files, left out: dark/Thumbs.db",
    ):
        assert words in shown.err
    config, result = run()
    assert (config["arch"], config["shift"], config["epochs"], config["fit"]) == ("auto", 0, 1, "crop")
    assert result["baselines"]["found"][0]["test_accuracy"] is not None
    assert "linear probe" in result["against_baselines"]
    assert any("no shifts, crops or flips" in sentence for sentence in result["chosen"])
    model = files.read_json(Path("runs/train/a/model.json"))
    assert isinstance(model, dict)
    assert (model["arch"]["image"], model["arch"]["patch"], model["fit"]) == (8, 2, "crop")


def test_what_the_user_names_is_kept_and_a_resumed_run_goes_on_as_recorded(photos: Path) -> None:
    small = ["--set", "width=8", "depth=1", "heads=2", "mlp=8"]
    words = ["--data", "photos@8", "--shift", "1", "--epochs", "1", "--threads", "1", *small]
    assert main(["train", *words, "--name", "a"]) == 0
    config, _ = run()
    assert (config["arch"], config["shift"], config["epochs"], config["crop"]) == ("auto", 1, 1, 0)
    assert main(["train", "--resume", "a", "--epochs", "2"]) == 0
    again, result = run()
    assert (again["arch"], again["shift"], result["epochs"]) == ("auto", 1, 2)
    assert main(["train", "--resume", "a", "--data", "photos@8"]) == 0


def test_a_named_network_is_taken(photos: Path) -> None:
    small = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8"]
    words = ["train", "--data", "photos", "--arch", "mnist", *small, "--name", "a", "--threads", "1"]
    assert main([*words, "--epochs", "1"]) == 0
    assert run()[0]["arch"] == "mnist"


def test_unreadable_pictures_stop_the_run_before_it_begins(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "photos" / "dark" / "bad.png").write_text("x")
    assert main(["train", "--data", "photos", "--name", "a"]) == 2
    assert "1 of 61 files unread: dark/bad.png (not a PNG" in capsys.readouterr().err
    assert not Path("runs/train/a").exists()
    words = ["--epochs", "1", "--threads", "1", "--set", "width=8", "depth=1", "heads=2", "mlp=8"]
    assert main(["train", "--data", "photos", "--skip-bad", "--name", "a", *words]) == 0
    assert "1 unreadable, left out" in capsys.readouterr().err


def test_rank_opens_only_the_pictures_that_it_needs(
    photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vitruvius.datasets import _images

    opened = []
    read = _images.read

    def watched(path: Path, *place: Any) -> bytes:
        opened.append(path)
        return read(path, *place)

    monkeypatch.setattr(_images, "read", watched)
    table = '[{"name": "a", "arch": {"patch": 4, "width": 8, "depth": 1, "heads": 2, "mlp": 8}},'
    (photos / "nets.json").write_text(
        table + ' {"name": "b", "arch": {"patch": 2, "width": 8, "depth": 1, "heads": 2}}]'
    )
    words = ["--archs", "nets.json", "--proxies", "params", "--batch", "4", "--seeds", "2"]
    assert main(["rank", "--data", "photos", *words]) == 0
    assert len(opened) == 8
