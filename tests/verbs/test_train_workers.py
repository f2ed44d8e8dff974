"""Processes that `train` starts itself: equal to one, ended by the loss of one, resumed to the bit."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.verbs.test_train import PLAIN, digest, train
from vitruvius.core import files
from vitruvius.training import distributed, loop

WORDS = [*PLAIN, "--set", "dropout=0", "--epochs", "4", "--precision", "float64", "--quiet"]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_two_workers_train_as_one_and_a_killed_one_ends_a_run_that_resumes_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """20 steps in float64, batches of 16 with 6 left over."""
    assert train(tmp_path, *WORDS, "--name", "one") == 0
    assert train(tmp_path, *WORDS, "--workers", "2", "--name", "two") == 0
    one, two = (
        load_file(tmp_path / "train" / name / "state" / "000000020-00004.safetensors")
        for name in ("one", "two")
    )
    for name in one:
        if name.startswith("model."):
            torch.testing.assert_close(one[name], two[name], rtol=1e-6, atol=1e-6)
    config = files.read_json(tmp_path / "train" / "two" / "config.json")
    manifest = files.read_json(tmp_path / "train" / "two" / "manifest.json")
    assert (config["workers"], manifest["environment"]["processes"]) == (2, 2)
    assert config["device"] == manifest["environment"]["device"] == "cpu"

    with monkeypatch.context() as patched:
        patched.setattr(*killing_after(9, patched))
        assert train(tmp_path, *WORDS, "--workers", "2", "--name", "killed") == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "process 1 of 0 to 1 has ended" in error
    assert "process 1 was killed by signal 9" in error
    assert train(tmp_path, "--resume", "killed", "--quiet") == 0
    assert digest(tmp_path, "killed") == digest(tmp_path, "two")


def killing_after(step: int, patched: pytest.MonkeyPatch) -> tuple[Any, str, Callable[..., None]]:
    """A patch of the loop that kills the other process after so many steps."""
    started: list[int] = []
    start, take = distributed._worker, loop.step

    def worker(command: Sequence[str], group: str, messages: Path) -> distributed.Worker:
        found = start(command, group, messages)
        started.append(found.process.pid)
        return found

    def stepping(job: loop.Job, sample_B: torch.Tensor) -> None:
        take(job, sample_B)
        if job.cursor.step == step:
            os.kill(started[0], signal.SIGKILL)

    patched.setattr(distributed, "_worker", worker)
    return loop, "step", stepping


def test_a_worker_that_cannot_start_is_named_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = distributed._worker
    broken = ["sh", "-c", "echo no torch here >&2; exit 3"]
    monkeypatch.setattr(distributed, "_worker", lambda command, group, path: start(broken, group, path))
    assert train(tmp_path, *WORDS, "--workers", "2", "--name", "a") == 2
    error = capsys.readouterr().err
    assert "process 1 of this training could not start: process 1 ended with code 3: no torch here" in error
    assert not (tmp_path / "train" / "a" / "config.json").exists()  # the name is free


def test_a_longer_cosine_says_that_the_rate_rises_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--quiet") == 0
    capsys.readouterr()
    assert train(tmp_path, "--resume", "a", "--epochs", "3", "--time-limit", "1e-9") == 0
    assert "the learning rate rises again, from" in capsys.readouterr().err
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "b", "--quiet") == 0
    capsys.readouterr()
    assert train(tmp_path, "--resume", "b", "--epochs", "3", "--cosine-epochs", "2") == 0
    assert "rises again" not in capsys.readouterr().err
    last = files.read_lines(tmp_path / "train" / "b" / "records.jsonl")[-1]
    assert last["lr"] == pytest.approx(1e-5)


def test_a_run_does_not_change_its_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    path = tmp_path / "train" / "a" / "manifest.json"
    manifest = files.read_json(path)
    manifest["environment"]["device"] = "cuda (Example)"
    del manifest["self"]
    files.write_json(path, manifest)
    assert train(tmp_path, "--resume", "a", "--epochs", "2") == 2
    assert "device was cuda (Example), is cpu" in capsys.readouterr().err


def test_save_memory_trains_the_same_network(tmp_path: Path) -> None:
    words = [*PLAIN, "--set", "dropout=0.2", "--epochs", "2", "--precision", "float64", "--quiet"]
    assert train(tmp_path, *words, "--name", "plain") == 0
    assert train(tmp_path, *words, "--save-memory", "--name", "small") == 0
    assert digest(tmp_path, "plain") == digest(tmp_path, "small")
