"""Recipes as a person meets them: resumed to the bit, recorded, refused, taught, fine-tuned, logged."""

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from vitruvius.cli import main
from vitruvius.core import files, signals
from vitruvius.training import sinks

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"
SMALL = ["--set", "patch=4", "width=8", "depth=2", "heads=2", "mlp=8", "head_dim=4"]
PLAIN = [
    "--data",
    TOY,
    *SMALL,
    *["--batch", "16", "--warmup", "3", "--threads", "1", "--checkpoint", "2", "--epochs", "2"],
]
EVERYTHING = [
    *[
        "--mixup",
        "0.4",
        "--cutmix",
        "0.4",
        "--randaugment",
        "5",
        "--erase",
        "0.5",
        "--rotate",
        "10",
        "--repeat",
        "2",
        "--balance",
        "sampling",
    ],
    *[
        "--drop-path",
        "0.3",
        "--ema",
        "0.9",
        "--layer-decay",
        "0.7",
        "--label-smoothing",
        "0.1",
        "--patience",
        "9",
        "--accumulate",
        "2",
    ],
    *("--set", "layer_scale=0.1"),
]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def train(root: Path, *words: str) -> int:
    return main(["train", *words, "--runs", str(root)])


def stops_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Let Ctrl-C arrive after so many optimiser steps."""

    class Countdown(signals.StopRequest):
        left = steps

        def __bool__(self) -> bool:
            self.left -= 1
            self.signal = 2 if self.left <= 0 else None
            return self.left <= 0

    @contextmanager
    def on_signals() -> Iterator[signals.StopRequest]:
        yield Countdown()

    monkeypatch.setattr(signals, "on_signals", on_signals)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the weights of a run with every ingredient that was never stopped."""
    root = tmp_path_factory.mktemp("whole")
    assert train(root, *PLAIN, *EVERYTHING, "--quiet", "--name", "a") == 0
    return files.sha256(root / "train" / "a" / "model.safetensors")


@pytest.mark.parametrize("steps", [1, 7])
def test_a_run_with_every_ingredient_resumes_to_the_bit_and_is_told_how(
    steps: int,
    whole: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        stops_after(patch, steps)
        assert train(tmp_path, *PLAIN, *EVERYTHING, "--quiet", "--name", "cut") == 130
    assert f"`vitruvius train --resume cut --runs {tmp_path}` goes on" in capsys.readouterr().err
    assert train(tmp_path, "--resume", "cut", "--quiet") == 0
    assert files.sha256(tmp_path / "train" / "cut" / "model.safetensors") == whole
    recorded = files.read_json(tmp_path / "train" / "cut" / "config.json")
    assert (recorded["mixup"], recorded["ema"], recorded["recipe"]) == (0.4, 0.9, "plain")


def test_a_recipe_is_filled_in_recorded_and_kept_when_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--recipe", "small-data", "--mixup", "0", "--name", "a") == 0
    assert "recipe small-data: crop 0.2, label_smoothing 0.1" in capsys.readouterr().err
    recorded = files.read_json(tmp_path / "train" / "a" / "config.json")
    assert (recorded["recipe"], recorded["mixup"], recorded["ema"], recorded["epochs"]) == (
        *("small-data", 0.0, 0.99, 2),
    )
    assert train(tmp_path, "--resume", "a", "--epochs", "3", "--quiet") == 0
    assert files.read_json(tmp_path / "train" / "a" / "config.json")["mixup"] == 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--freeze", "3"], "--freeze 3: the network has 2 layers"),
        (
            ["--mixup", "0.2", "--objective", "OWN"],
            "--mixup: mixed labels are counted by the objective classify",
        ),
        (["--balance", "weights", "--objective", "OWN"], "--balance weights: the objective"),
        (["--teacher", "nobody"], "no train run 'nobody'"),
        (["--log", "tensorbord"], "no sink for --log 'tensorbord': did you mean 'tensorboard'?"),
        (["--recipe", "smal"], "recipe must be"),
        (["--arch", "fifty:n99"], "no network in fifty 'n99'"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_no_folder(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(
        "from vitruvius.objectives import Loss\ndef own(model, batch, generator):\n"
        "    return Loss(model(batch.x).sum())\n"
    )
    words = [word.replace("OWN", f"{tmp_path / 'own.py'}:own") for word in words]
    assert train(tmp_path, *PLAIN, *words) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("train/*/config.json"))


@pytest.mark.usefixtures("pictures")
def test_a_rate_is_found_recorded_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path, *PLAIN, "--lr", "auto", "--name", "a") == 0
    assert "--lr auto: " in capsys.readouterr().err
    folder = tmp_path / "train" / "a"
    rate = files.read_json(folder / "config.json")["lr"]
    assert 1e-6 <= rate < 1
    assert files.read_json(folder / "lr_range.json")["chosen"] == rate
    assert (folder / "lr_range.png").is_file()
    assert train(tmp_path, "--resume", "a", "--epochs", "3", "--quiet") == 0


def test_a_student_learns_from_a_teacher_whose_weights_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(Path("runs"), *PLAIN, "--lr", "0.01", "--epochs", "8", "--name", "wise", "--quiet") == 0
    taught = ["--teacher", "wise", "--teacher-share", "1", "--temperature", "1", "--lr", "0.01"]
    assert train(Path("runs"), *PLAIN, *taught, "--epochs", "8", "--name", "pupil", "--quiet") == 0
    manifest = files.read_json(Path("runs/train/pupil/manifest.json"))
    assert manifest["environment"]["teacher_sha256"] == files.sha256(
        Path("runs/train/wise/model.safetensors")
    )
    assert files.read_json(Path("runs/train/pupil/result.json"))["val_accuracy"] >= 0.9
    assert train(Path("runs"), *PLAIN, "--seed", "9", "--epochs", "1", "--name", "other", "--quiet") == 0
    for name in ("model.safetensors", "manifest.json"):
        Path("runs/train/wise", name).write_bytes(Path("runs/train/other", name).read_bytes())
    capsys.readouterr()
    assert train(Path("runs"), "--resume", "pupil", "--epochs", "9") == 2
    assert "teacher_sha256 was" in capsys.readouterr().err


def test_a_taught_partly_frozen_weighted_run_resumes_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(Path("runs"), *PLAIN, "--name", "wise", "--quiet") == 0
    more = ["--teacher", "wise", "--freeze", "1", "--balance", "weights", "--lr", "auto", "--quiet"]
    assert train(Path("runs"), *PLAIN, *more, "--name", "whole") == 0
    with monkeypatch.context() as patch:
        stops_after(patch, 7)
        assert train(Path("runs"), *PLAIN, *more, "--name", "cut") == 130
    assert train(Path("runs"), "--resume", "cut", "--quiet") == 0
    whole, cut = (files.sha256(Path("runs/train", name, "model.safetensors")) for name in ("whole", "cut"))
    assert whole == cut
    rates = {files.read_json(Path("runs/train", name, "config.json"))["lr"] for name in ("whole", "cut")}
    assert len(rates) == 1


def test_a_run_brings_its_network_and_its_normalisation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(Path("runs"), *PLAIN, "--name", "first", "--quiet") == 0
    about = files.read_json(Path("runs/train/first/model.json"))
    words = [
        "--data",
        "noise:1x12x12",
        *["--init", "first", "--epochs", "1", "--batch", "16", "--threads", "1"],
    ]
    assert train(Path("runs"), *words, "--recipe", "auto", "--freeze", "1", "--name", "tuned") == 0
    said = capsys.readouterr().err
    assert "position grid of 2 x 2 patches is interpolated to 3 x 3" in said
    tuned = files.read_json(Path("runs/train/tuned/model.json"))
    assert {**tuned["arch"], "image": 8, "classes": about["arch"]["classes"]} == about["arch"]
    assert files.read_json(Path("runs/train/tuned/config.json"))["recipe"] == "finetune"
    before, after = (load_file(f"runs/train/{name}/model.safetensors") for name in ("first", "tuned"))
    assert torch.equal(before["layers.0.mlp.0.weight"], after["layers.0.mlp.0.weight"])
    assert not torch.equal(before["layers.1.mlp.0.weight"], after["layers.1.mlp.0.weight"])


def test_a_row_of_a_table_is_trained(tmp_path: Path) -> None:
    table = [{"name": "tiny", "arch": {"patch": 4, "width": 8, "depth": 1, "heads": 2, "mlp": 8}}]
    (tmp_path / "nets.json").write_text(json.dumps([*table, {"name": "odd", "arch": {"patch": 5}}]))
    words = ["--data", TOY, "--arch", f"{tmp_path / 'nets.json'}:tiny", *["--epochs", "1", "--threads", "1"]]
    assert train(tmp_path, *words, "--name", "a", "--quiet") == 0
    arch = files.read_json(tmp_path / "train" / "a" / "model.json")["arch"]
    assert (arch["width"], arch["depth"], arch["image"]) == (8, 1, 8)


def test_epochs_go_to_both_sinks_and_each_once_after_a_resume(tmp_path: Path) -> None:
    assert train(tmp_path, *PLAIN, "--log", "jsonl,tensorboard", "--name", "a", "--quiet") == 0
    assert train(tmp_path, "--resume", "a", "--epochs", "3", "--quiet") == 0
    folder = tmp_path / "train" / "a"
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    (path,) = folder.glob("*tfevents*")
    steps = []
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        data, content = content[12 : 12 + length], content[16 + length :]
        if b"loss/train" in data:
            steps.append(data[10])  # after the time, nine bytes, and the tag of the step
    assert steps == [1, 2, 3]


def test_an_event_is_the_message_that_tensorboard_reads() -> None:
    """Written out by hand from the definition of protocol buffers."""
    found = sinks.event(300, 1.5, {"a": 0.5, "b": None})
    value = b"\x0a\x01a" + b"\x15" + struct.pack("<f", 0.5)
    summary = b"\x0a" + bytes([len(value)]) + value
    time = b"\x09" + struct.pack("<d", 1.5)
    assert found == time + b"\x10\xac\x02" + b"\x2a" + bytes([len(summary)]) + summary
