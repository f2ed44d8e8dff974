"""What a training says is true: test images, warm-up, splits, starting weights, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from vitruvius import datasets
from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.training import evaluate

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"
SMALL = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8"]
RECIPE = ["--batch", "16", "--warmup", "3", "--shift", "0", "--threads", "1", "--checkpoint", "2"]
PLAIN = ["--data", TOY, *SMALL, *RECIPE]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of test images at each look at them."""
    seen: list[int] = []
    measure = evaluate.measure

    def watched(job: Any, data: Any) -> Any:
        seen.append(len(data.test))
        return measure(job, data)

    monkeypatch.setattr(evaluate, "measure", watched)
    return seen


def train(root: Path, *words: str) -> int:
    return main(["train", *words, "--runs", str(root / "runs")])


def result(root: Path, name: str = "a") -> dict[str, Any]:
    found = files.read_json(root / "runs" / "train" / name / "result.json")
    assert isinstance(found, dict)
    return found


def card(root: Path, name: str = "a") -> str:
    return (root / "runs" / "train" / name / "README.md").read_text()


def pictures(folder: Path, count: int, first: int = 0) -> None:
    """Dark and bright images in two classes, all different."""
    for kind, shade in (("dark", 40), ("bright", 200)):
        (folder / kind).mkdir(parents=True)
        for number in range(first, first + count):
            pixels = np.random.default_rng(number + 1000 * shade).integers(0, 40, (8, 8)) + shade
            Image.fromarray(pixels.astype(np.uint8)).save(folder / kind / f"{number:03}.png")


def test_a_folder_without_a_test_part_trains_validates_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], readings: list[int]
) -> None:
    pictures(tmp_path / "photos" / "train", 20)
    pictures(tmp_path / "photos" / "val", 6, first=50)
    words = ["--data", f"folder:{tmp_path / 'photos'}@8", *SMALL, *RECIPE, "--name", "a"]
    assert train(tmp_path, *words, "--epochs", "3") == 0
    assert "there is no test set" in capsys.readouterr().err
    found = result(tmp_path)
    assert (found["test_accuracy"], found["test_loss"], found["test_images"]) == (None, None, 0)
    assert found["test_readings"] == 0
    assert found["val_accuracy"] >= 0.5
    folder = tmp_path / "runs" / "train" / "a"
    assert "There is no test set." in card(tmp_path)
    assert "read once" not in card(tmp_path)
    assert "There is no test set." in (folder / "report.html").read_text()
    assert not (folder / "confusion.png").exists()
    assert train(tmp_path, "--resume", "a") == 0
    assert train(tmp_path, "--resume", "a", "--epochs", "4") == 0
    assert "There is no test set." in capsys.readouterr().out
    assert readings == []


def test_test_images_are_read_once_and_a_finished_run_is_not_tested_again(
    tmp_path: Path, readings: list[int]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--quiet") == 0
    before = result(tmp_path)
    assert (before["test_readings"], before["finished"], before["test_images"]) == (1, True, 20)
    assert "The test images were read once, at the end." in card(tmp_path)
    (tmp_path / "runs" / "train" / "a" / "confusion.png").unlink()
    assert train(tmp_path, "--resume", "a", "--quiet") == 0
    assert result(tmp_path) == before
    assert (tmp_path / "runs" / "train" / "a" / "confusion.png").exists()
    assert readings == [20]


def test_an_extension_that_finds_better_weights_reads_again_and_says_how_often(
    tmp_path: Path, readings: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--lr", "1e-3", "--set", "dropout=0.2", "--validation", "0"]
    data = tmp_path / "unvalidated.py"
    data.write_text(
        "import dataclasses, importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('toys', {TOY.rpartition(':')[0]!r})\n"
        "toys = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(toys)\n"
        "def data(**options):\n    data = toys.toy()\n"
        "    none = type(data.train)(data.train.x[:0], data.train.y[:0])\n"
        "    return dataclasses.replace(data, validation=none)\n"
    )
    plain = ["--data", f"{data}:data", *SMALL, *RECIPE, *words]  # the last epoch is kept: other weights
    assert train(tmp_path, *plain, "--epochs", "2", "--name", "a", "--quiet") == 0
    assert "those of the last epoch" in card(tmp_path)
    assert train(tmp_path, "--resume", "a", "--epochs", "3", "--quiet") == 0
    assert (result(tmp_path)["test_readings"], readings) == (2, [20, 20])
    assert "read 2 times, as the run was continued after its end" in card(tmp_path)
    assert "read 2 times" in capsys.readouterr().out


def test_a_run_of_an_older_version_has_been_read_before(tmp_path: Path) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    (tmp_path / "runs" / "train" / "a" / "test.json").unlink()
    assert train(tmp_path, "--resume", "a", "--quiet") == 0
    assert result(tmp_path)["test_readings"] == 2


def test_an_unfinished_run_is_not_tested_and_draws_no_empty_axes(
    tmp_path: Path, readings: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*PLAIN, "--epochs", "2", "--name", "a", "--time-limit", "1e-9"]
    assert train(tmp_path, *words) == 0
    folder, found = tmp_path / "runs" / "train" / "a", result(tmp_path)
    assert (found["test_accuracy"], found["finished"], found["test_readings"]) == (None, False, 0)
    assert not (folder / "curves.png").exists()
    assert not (folder / "confusion.png").exists()
    shown = capsys.readouterr().out
    assert "its weights were not tested" in shown
    assert "images/s" not in shown
    assert "its weights were not tested" in card(tmp_path)
    assert "before its first epoch had ended" in card(tmp_path)
    assert readings == []
    assert train(tmp_path, "--resume", "a", "--time-limit", "1000", "--quiet") == 0
    assert (result(tmp_path)["finished"], result(tmp_path)["test_readings"], readings) == (True, 1, [20])
    assert (folder / "curves.png").exists()
    assert train(tmp_path, "--resume", "a", "--epochs", "9", "--time-limit", "1e-9", "--quiet") == 0
    assert "before it was continued they were read once" in card(tmp_path)
    assert not (folder / "confusion.png").exists()


def test_a_warm_up_that_does_not_fit_is_said_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data", TOY, *SMALL, "--batch", "16", "--threads", "1", "--epochs", "2", "--name", "a"]
    assert train(tmp_path, *words) == 0
    assert "a warm-up of 1,000 steps does not fit into 10: it takes 5" in capsys.readouterr().err
    assert result(tmp_path)["warmup_steps"] == 5
    assert "5 (of 1000, which did not fit)" in card(tmp_path)
    assert train(tmp_path, *words[:-1], "b", "--warmup", "5") == 0
    assert "does not fit" not in capsys.readouterr().err


def trained_on_folder(root: Path, name: str, *words: str) -> int:
    if not (root / "photos").exists():
        pictures(root / "photos", 20)
    data = ["--data", f"{root / 'photos'}@8"]
    return train(root, *data, "--arch", "mnist", *SMALL, *RECIPE, "--epochs", "1", "--name", name, *words)


def config(root: Path, name: str) -> dict[str, Any]:
    found = files.read_json(root / "runs" / "train" / name / "config.json")
    assert isinstance(found, dict)
    return found


def test_the_seed_of_a_training_changes_no_split_and_init_warns_of_images_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained_on_folder(tmp_path, "a", "--seed", "1") == 0
    assert config(tmp_path, "a")["data"] == f"folder:{tmp_path / 'photos'}@8"  # a path means its folder
    assert config(tmp_path, "a")["split_seed"] == 0
    source = str(tmp_path / "runs" / "train" / "a")
    capsys.readouterr()
    assert trained_on_folder(tmp_path, "b", "--seed", "2", "--init", source) == 0
    assert "were training images" not in capsys.readouterr().err
    assert trained_on_folder(tmp_path, "c", "--split-seed", "5", "--init", source) == 0
    warning = capsys.readouterr().err
    first, second = (datasets.get(f"folder:{tmp_path / 'photos'}@8", seed=seed) for seed in (0, 5))
    seen = sum(any(torch.equal(image, other) for other in first.train.x) for image in second.test.x)
    assert seen > 0
    assert f"{seen} of the 4 test images were training images of {source}" in warning
    # a chain is followed: b started from a, and c's test images were a's training images
    chain = str(tmp_path / "runs" / "train" / "b")
    assert trained_on_folder(tmp_path, "d", "--split-seed", "5", "--init", chain) == 0
    warned = capsys.readouterr().err
    assert f"training images of {source}" in warned
    assert f"training images of {chain}" in warned


def test_a_config_of_an_older_version_names_the_seed_that_split_its_data() -> None:
    assert datasets.DataChoice.read_older({"seed": 7})["split_seed"] == 7
    assert datasets.DataChoice.read_older({"seed": 7, "split_seed": 0})["split_seed"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "heads=4"], "its network has heads (layer 1) 2, this one 4; --set heads=2 would fit"),
        (["--set", "stem=8"], "its network has stem [], this one 8; --set stem=[] would fit"),
        (["--set", "patch=2"], "its network has patch 4, this one 2"),
        (["--set", "depth=2"], "its network has depth 1, this one 2"),
    ],
)
def test_weights_of_another_network_are_refused_and_the_name_stays_free(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    source = str(tmp_path / "runs" / "train" / "a")
    capsys.readouterr()
    assert train(tmp_path, *PLAIN, *words, "--init", source, "--name", "b") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs" / "train" / "b").exists()


def test_what_changes_between_two_networks_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    source = str(tmp_path / "runs" / "train" / "a")
    words = ["--epochs", "1", "--init", source]
    capsys.readouterr()
    assert train(tmp_path, *PLAIN, *words, "--set", "classes=3", "--name", "b") == 0
    replaced = "its head is replaced by an untrained one: it tells 2 classes apart, this network 3"
    assert replaced in capsys.readouterr().err
    assert trained_on_folder(tmp_path, "c", "--init", source, "--set", "pooling=mean") == 0
    told = capsys.readouterr().err
    assert "its head is kept, but was trained for left, right, not for bright, dark" in told
    assert "its pooling was cls, here it is mean" in told
    pooled = ["--set", "pooling=mean", "final_norm=pooled", "--name", "e"]
    assert train(tmp_path, *PLAIN, *words, *pooled) == 0
    assert "its final_norm was tokens, here it is pooled" in capsys.readouterr().err
    assert train(tmp_path, *PLAIN, *words, "--name", "d") == 0
    assert "--init" not in capsys.readouterr().err


def test_fewer_epochs_than_are_done_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "3", "--name", "a", "--quiet") == 0
    assert train(tmp_path, "--resume", "a", "--epochs", "2") == 2
    assert "--resume a --epochs 2: 3 are done; ask for 3 or more" in capsys.readouterr().err
    assert config(tmp_path, "a")["epochs"] == 3


def test_a_refusal_in_the_first_step_leaves_the_name_free(tmp_path: Path) -> None:
    (tmp_path / "own_bare.py").write_text("def bare(model, batch, generator):\n    return batch.z\n")
    words = [*PLAIN, "--epochs", "1", "--name", "a", "--quiet"]
    assert train(tmp_path, *words, "--objective", f"{tmp_path / 'own_bare.py'}:bare") == 2
    assert train(tmp_path, *words) == 0
    assert train(tmp_path, *words) == 2  # a run that has done something keeps its name


def test_errors_name_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained_on_folder(tmp_path, "a", "--set", "patch=3") == 2
    assert "patch 3 does not divide image 8: 2 and 4 do; --arch auto chooses" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no dataset 'photos': a folder of that name is here: folder:photos"):
        datasets.get("photos")
    assert train(tmp_path, "--data", "photo") == 2
    assert "a folder of images by its path" in capsys.readouterr().err
