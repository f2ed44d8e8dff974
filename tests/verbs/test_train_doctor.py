"""`train --doctor`: our own loop is watched, computes the same to the bit, and its faults are named."""

from pathlib import Path
from typing import Any

import pytest
import torch

from vitruvius.checks import shown_location
from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.training import distributed, loop
from vitruvius.verbs import train as verb

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"
SMALL = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "head_dim=4", "dropout=0.1"]
PLAIN = [
    "--data",
    TOY,
    *SMALL,
    "--batch",
    "16",
    "--accumulate",
    "2",
    "--warmup",
    "3",
    "--shift",
    "1",
    "--threads",
    "1",
]
SLICE = """
import dataclasses
from vitruvius import datasets
def cut(part, count):
    return datasets.Split(part.x[:count], part.y[:count])
def slice(**options):
    data = datasets.get("mnist")
    train, validation, test = cut(data.train, 1000), cut(data.validation, 200), cut(data.test, 200)
    return dataclasses.replace(data, name="mnist (slice)", train=train, validation=validation, test=test)
"""


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def train(root: Path, *words: str) -> int:
    return main(["train", *words, "--runs", str(root)])


def outcome(root: Path, name: str) -> tuple[Any, ...]:
    """Weights, state and records of a run, without what time and place put into them."""
    folder = root / "train" / name
    weights = [
        files.sha256(path)
        for path in (folder / "model.safetensors", *sorted(folder.glob("state/*.safetensors")))
    ]
    records = [{**record, "timing": None} for record in files.read_lines(folder / "records.jsonl")]
    result = {**files.read_json(folder / "result.json"), "seconds": 0, "images_per_second": 0, "run": ""}
    return weights, records, result


def said(root: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = files.read_json(root / "train" / name / "result.json")["findings"]
    return found


def test_a_watched_training_is_the_same_to_the_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "3", "--name", "alone") == 0
    assert train(tmp_path, *PLAIN, "--epochs", "3", "--name", "watched", "--doctor") == 0
    assert "15 steps watched" in capsys.readouterr().err
    assert outcome(tmp_path, "alone") == outcome(tmp_path, "watched")
    assert said(tmp_path, "watched") == []


def test_any_run_goes_on_with_or_without_the_doctor(tmp_path: Path) -> None:
    doctors: dict[str, tuple[list[str], list[str]]] = {
        "a": ([], []),
        "b": ([], ["--doctor"]),
        "c": (["--doctor"], []),
    }
    for name, (first, then) in doctors.items():
        assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", name, "--quiet", *first) == 0
        assert train(tmp_path, "--resume", name, "--epochs", "4", "--quiet", *then) == 0
        assert files.read_json(tmp_path / "train" / name / "config.json")["doctor"] == bool(then)
    assert outcome(tmp_path, "a") == outcome(tmp_path, "b") == outcome(tmp_path, "c")


@pytest.mark.parametrize("words", [[], ["--accumulate", "4"]], ids=["default", "accumulated"])
def test_a_healthy_training_is_not_complained_about(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "mine.py").write_text(SLICE)
    data = ["--data", f"{tmp_path / 'mine.py'}:slice", "--arch", "mnist-slim", "--set", "depth=2"]
    assert (
        train(
            tmp_path, *data, *words, "--epochs", "2", "--threads", "1", "--name", "a", "--doctor", "--quiet"
        )
        == 0
    )
    assert [found for found in said(tmp_path, "a") if found["severity"] != "info"] == []


def test_a_bug_in_our_own_loop_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.optim.AdamW, "zero_grad", lambda self, set_to_none=True: None)
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--doctor") == 1
    shown = capsys.readouterr()
    source = Path(loop.__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if ".backward()" in text)
    assert f"{shown_location(f'{loop.__file__}:{line}')}: error: zero_grad (exact)" in shown.err
    assert "doctor: error: zero_grad" in shown.out
    assert [(found["bug"], found["where"]) for found in said(tmp_path, "a")] == [
        ("zero_grad", f"{loop.__file__}:{line}")
    ]
    assert "Findings of the doctor" in (tmp_path / "train" / "a" / "report.html").read_text()


def test_a_module_in_the_wrong_mode_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(job: Any, batches: Any) -> Any:
        with torch.no_grad():
            found = job.measure(job.model, batches.batch(torch.arange(len(batches))), None)
        return float(found.value), 0.5

    monkeypatch.setattr(loop, "evaluate", forgetful)
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--doctor", "--quiet") == 0
    assert [(found["bug"], found["module"]) for found in said(tmp_path, "a")] == [
        ("train_mode_in_eval", "dropout")
    ]


def test_a_training_that_fails_still_has_its_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--lr", "100", "--warmup", "0", "--clip", "0", "--epochs", "50"]
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom vitruvius.datasets import Dataset, Split\n"
        "def data(**options):\n"
        "    part = Split(torch.zeros(32, 1, 8, 8, dtype=torch.uint8), torch.arange(32) % 2)\n"
        "    return Dataset('mine', part, part, part, ('a', 'b'), (float('nan'),), (0.5,))\n"
    )
    data = ["--data", f"{tmp_path / 'mine.py'}:data"]
    assert train(tmp_path, *PLAIN, *data, *words, "--name", "a", "--doctor") == 1
    error = capsys.readouterr().err
    assert "training stopped" in error.splitlines()[-1]
    assert "error: non_finite" in error


def test_watching_turns_compilation_off_and_never_for_a_compiled_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "b", "--doctor", "--compile", "on") == 0
    assert "runs without torch.compile" in capsys.readouterr().err
    assert files.read_json(tmp_path / "train" / "b" / "config.json")["compile"] == "off"
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--compile", "on") == 0
    assert train(tmp_path, "--resume", "a", "--epochs", "2", "--doctor") == 2
    assert "a is compiled" in capsys.readouterr().err


def test_several_processes_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    with pytest.raises(UserError, match="train without torchrun"):
        list(verb.run(verb.Config(data=TOY, set=tuple(SMALL[1:]), doctor=True)))
