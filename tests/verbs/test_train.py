"""Training as a person meets it: files, resume to the bit after kill -9, refusals, damage, two processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from vitruvius import datasets
from vitruvius.cli import main
from vitruvius.core import files, plugins, runs
from vitruvius.training import device, loop

HERE = Path(__file__).parent
TOY = f"{HERE / 'killing.py'}:toy"
SMALL = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "head_dim=4"]
PLAIN = [
    "--data",
    TOY,
    *SMALL,
    "--batch",
    "16",
    "--warmup",
    "3",
    "--shift",
    "1",
    "--threads",
    "1",
    "--checkpoint",
    "2",
]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def train(root: Path, *words: str) -> int:
    return main(["train", *words, "--runs", str(root)])


def killing(*words: str, timeout: int = 600) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "killing.py"), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.usefixtures("pictures")
def test_a_run_leaves_everything_a_person_looks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "12", "--lr", "0.01", "--name", "a", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    folder = tmp_path / "train" / "a"
    assert {path.name for path in folder.iterdir()} >= {
        *(
            "config.json",
            "records.jsonl",
            "log.csv",
            "result.json",
            "manifest.json",
            "model.safetensors",
            "model.json",
        ),
        *("curves.png", "confusion.png", "report.html", "README.md", "state"),
    }
    assert result == json.loads((folder / "result.json").read_text())
    assert result["test_accuracy"] >= 0.9
    assert result["params"] == sum(
        value.numel() for value in load_file(folder / "model.safetensors").values()
    )
    assert {
        "test_loss",
        "val_accuracy",
        "epochs",
        "seconds",
        "images_per_second",
        "seed",
        "run",
    } <= result.keys()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert all(files.sha256(folder / name) == known for name, known in manifest["files"].items())
    assert json.loads((folder / "config.json").read_text())["compile"] == "off"
    assert len((folder / "log.csv").read_text().splitlines()) == 13


def test_the_model_kept_is_that_of_the_best_validation_epoch(tmp_path: Path) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "6", "--name", "a", "--quiet") == 0
    records = files.read_lines(tmp_path / "train" / "a" / "records.jsonl")
    best = max(records, key=lambda record: (record["val_accuracy"], -record["val_loss"]))
    result = files.read_json(tmp_path / "train" / "a" / "result.json")
    assert result["best_epoch"] == best["epoch"]
    assert result["val_accuracy"] == best["val_accuracy"]


def test_killed_runs_end_as_if_nothing_had_happened_and_every_planted_fault_is_noticed() -> None:
    """One program for all: it imports torch and trains once before its first experiment."""
    parts = [f"forget={part}" for part in ("rng", "optimiser", "scheduler", "cursor")]
    found = killing("kills=20", *parts, "writer=atomic", "writer=in place")

    killed = found["kills=20"]
    assert set(killed["outcomes"]) == {killed["whole"]}
    counts = Counter(killed["phases"])
    assert sum(counts.values()) >= 20
    assert all(counts[phase] >= 1 for phase in ("load", "step", "checkpoint", "evaluation")), counts
    for part in parts:
        assert set(found[part]["outcomes"]) != {killed["whole"]}, part

    atomic = found["writer=atomic"]["outcomes"]
    assert len(atomic) >= 20
    assert set(atomic) == {killed["whole"]}
    assert "failed" in found["writer=in place"]["outcomes"]


@pytest.mark.skipif(device.compiler() is None, reason="torch.compile needs the package g++")
def test_a_compiled_run_resumes_to_the_bit_too() -> None:
    found = killing("kills=1:on")["kills=1:on"]
    assert set(found["outcomes"]) == {found["whole"]}


@pytest.mark.slow
def test_200_kills_change_nothing() -> None:
    found = killing("kills=200", "--seed", "1", timeout=3600)["kills=200"]
    assert set(found["outcomes"]) == {found["whole"]}
    assert min(Counter(found["phases"]).values()) >= 10


def test_a_finished_run_is_extended_by_more_epochs(tmp_path: Path) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--quiet") == 0
    assert train(tmp_path, "--resume", "a", "--epochs", "4", "--quiet") == 0
    records = files.read_lines(tmp_path / "train" / "a" / "records.jsonl")
    assert [record["epoch"] for record in records] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "a", "--lr", "0.5"], "cannot change lr was 0.001, now 0.5"),
        (["--resume", "b"], "no train run 'b'"),
        (["--name", "a"], "exists: continue it with --resume a"),
    ],
)
def test_a_resume_that_would_be_another_run_is_refused(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    capsys.readouterr()
    assert train(tmp_path, *words) == 2
    assert message in capsys.readouterr().err


def test_another_environment_is_refused_or_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    path = tmp_path / "train" / "a" / "manifest.json"
    manifest = files.read_json(path)
    manifest["environment"]["threads"] = 64
    del manifest["self"]  # the hash of what it was
    files.write_json(path, manifest)
    capsys.readouterr()
    assert train(tmp_path, "--resume", "a", "--epochs", "2") == 2
    assert "threads was 64, is 1" in capsys.readouterr().err
    assert train(tmp_path, "--resume", "a", "--epochs", "2", "--allow-inexact", "--json") == 0
    assert json.loads(capsys.readouterr().out)["inexact"] is True


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[: len(content) // 2]
    elif how == "flipped":
        content[len(content) // 2] ^= 1
    elif how == "zero tail":
        content[-100:] = bytes(100)
    else:
        content = bytearray(b"\x80\x04\x95pickle")
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["truncated", "flipped", "zero tail", "pickle"])
@pytest.mark.parametrize("kind", ["safetensors", "json"])
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_is_used(
    tmp_path: Path, how: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--quiet") == 0
    whole = files.sha256(tmp_path / "train" / "a" / "model.safetensors")
    newest = sorted((tmp_path / "train" / "a" / "state").glob(f"*.{kind}"))[-1]
    damage(newest, how)
    capsys.readouterr()
    assert train(tmp_path, "--resume", "a") == 0
    assert newest.stem in capsys.readouterr().err
    assert files.sha256(tmp_path / "train" / "a" / "model.safetensors") == whole


def test_with_no_good_checkpoint_left_the_files_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    for path in (tmp_path / "train" / "a" / "state").glob("*.safetensors"):
        damage(path, "flipped")
    assert train(tmp_path, "--resume", "a") == 2
    assert "no usable checkpoint" in capsys.readouterr().err


def test_a_finished_run_that_lost_its_checkpoints_says_that_it_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    shutil.rmtree(tmp_path / "train" / "a" / "state")
    assert train(tmp_path, "--resume", "a", "--epochs", "2") == 0
    assert "state: holds no checkpoint; the training begins anew" in capsys.readouterr().err


def test_a_full_disk_is_one_line_and_the_older_state_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    state = tmp_path / "train" / "a" / "state"
    before = {path.name: files.sha256(path) for path in state.iterdir()}
    real = os.fsync

    def full(handle: int) -> None:
        if "/state/" in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    capsys.readouterr()
    assert train(tmp_path, "--resume", "a", "--epochs", "3", "--quiet") == 1
    error = capsys.readouterr().err
    assert "no space left on device" in error
    assert len(error.splitlines()) == 1
    assert {path.name: files.sha256(path) for path in state.iterdir()} == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_leaves(
    tmp_path: Path,
    number: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    take = loop.step

    def stepping(job: loop.Job, sample_B: torch.Tensor) -> None:
        take(job, sample_B)
        if job.cursor.step == 3:
            os.kill(os.getpid(), number)

    before = signal.signal(number, signal.SIG_IGN)  # a signal that nobody takes must not end the tests
    try:
        with monkeypatch.context() as patched:
            patched.setattr(loop, "step", stepping)
            assert train(tmp_path, *PLAIN, "--epochs", "20", "--name", "a") == code
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)
    assert "the state is saved" in capsys.readouterr().err.splitlines()[-1]
    assert train(tmp_path, "--resume", "a", "--time-limit", "0.001", "--quiet") == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y=torch.zeros(4).long(), classes=('a', 'b')", "one class only (a: 4, b: 0)"),
        ("y=None, classes=()", "4 samples without labels"),
        ("y=torch.arange(4) % 2, classes=('a', 'b'), shape=(4, 1, 8, 6)", "(1, 8, 6) are not square images"),
        ("y=torch.arange(4) % 2, classes=('a', 'b'), shape=(4, 1, 9, 9)", "patch 4 does not divide image 9"),
        ("y=torch.arange(0), classes=('a', 'b'), shape=(0, 1, 8, 8)", "no training samples"),
    ],
)
def test_data_that_cannot_be_learned_is_refused_before_training(
    tmp_path: Path, body: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom vitruvius.datasets import Dataset, Split\n"
        "def make(y, classes, shape=(4, 1, 8, 8)):\n"
        "    part = Split(torch.zeros(shape, dtype=torch.uint8), y)\n"
        "    return Dataset('mine', part, part, part, classes, (0.5,), (0.5,))\n"
        f"def data(**options):\n    return make({body})\n"
    )
    assert train(tmp_path, "--data", f"{tmp_path / 'mine.py'}:data", *SMALL, "--name", "a") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "train").exists()


@pytest.mark.parametrize(
    ("verb", "words", "message"),
    [
        ("train", ["--arch", "mnits"], "no preset 'mnits'"),
        ("train", ["--arch", "fifty:n99"], "no network in fifty 'n99'"),
        ("train", ["--arch", "auto", "--set", "dept=3"], "no field in Arch 'dept'"),
        ("pretrain", ["--model", "vit", "--data", "mnist", "--arch", "mnits"], "no preset 'mnits'"),
    ],
)
def test_a_mistyped_network_is_refused_before_data_are_read(
    verb: str,
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(datasets, "get", lambda *words, **options: pytest.fail("data were read"))
    assert main([verb, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_start_from_another_run_takes_its_weights(tmp_path: Path) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "2", "--name", "a", "--quiet") == 0
    source = str(tmp_path / "train" / "a")
    words = [*PLAIN, "--epochs", "1", "--lr", "1e-30", "--init", source, "--name", "b", "--quiet"]
    assert train(tmp_path, *words) == 0
    first, second = (load_file(tmp_path / "train" / name / "model.safetensors") for name in "ab")
    assert all(torch.allclose(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_two_processes_of_torchrun_train_as_one(tmp_path: Path) -> None:
    """20 steps in float64, batches of 16 with 6 left over, shared by two processes."""
    words = [*PLAIN, "--set", "dropout=0", "--epochs", "4", "--precision", "float64", "--quiet"]
    assert train(tmp_path, *words, "--name", "one") == 0
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [*command, "-m", "vitruvius", "train", *words, "--name", "two", "--runs", str(tmp_path)],
        check=True,
        capture_output=True,
        timeout=1800,
        env=environment,
    )
    states = [
        sorted((tmp_path / "train" / name / "state").glob("*.safetensors"))[-1] for name in ("one", "two")
    ]
    assert states[0].name == states[1].name == "000000020-00004.safetensors"
    one, two = map(load_file, states)
    for name in one:
        if name.startswith("model."):
            torch.testing.assert_close(one[name], two[name], rtol=1e-6, atol=1e-6)
    records = [files.read_lines(tmp_path / "train" / name / "records.jsonl") for name in ("one", "two")]
    for first, second in zip(*records, strict=True):
        assert first["train_loss"] == pytest.approx(second["train_loss"], abs=1e-6)
        assert first["train_accuracy"] == second["train_accuracy"]


def test_a_tiny_vit_learns_a_slice_of_mnist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(
        "import dataclasses\nfrom vitruvius import datasets\n"
        "def cut(part, count):\n    return datasets.Split(part.x[:count], part.y[:count])\n"
        "def slice(**options):\n    data = datasets.get('mnist')\n"
        "    return dataclasses.replace(data, name='mnist (slice)', train=cut(data.train, 2000),\n"
        "        validation=cut(data.validation, 200), test=cut(data.test, 500))\n"
    )
    words = [
        "--data",
        f"{tmp_path / 'mine.py'}:slice",
        "--arch",
        "mnist-slim",
        "--set",
        "depth=2",
        "dropout=0",
    ]
    words += [
        "--epochs",
        "8",
        "--batch",
        "32",
        "--warmup",
        "40",
        "--lr",
        "0.002",
        "--shift",
        "1",
        "--threads",
        "1",
    ]
    assert train(tmp_path, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["test_accuracy"] >= 0.80


def digest(root: Path, name: str) -> str:
    return files.sha256(root / "train" / name / "model.safetensors")


@pytest.mark.parametrize("name", plugins.members("optimisers"))
def test_every_optimiser_trains_and_resumes_to_the_bit(tmp_path: Path, name: str) -> None:
    words = [*PLAIN, "--epochs", "3", "--optimiser", name, "--quiet"]
    assert train(tmp_path, *words, "--name", "whole") == 0
    assert train(tmp_path, *words, "--name", "stopped", "--time-limit", "1e-9") == 0
    assert train(tmp_path, "--resume", "stopped", "--time-limit", "1000", "--quiet") == 0
    assert digest(tmp_path, "whole") == digest(tmp_path, "stopped")
    assert files.read_json(tmp_path / "train" / "whole" / "config.json")["optimiser"] == name


OWN_OBJECTIVES = """
from torch.nn.functional import cross_entropy
from vitruvius.objectives import Loss
def sharp(model, batch, generator, *, label_smoothing=0.0):
    scores = 2 * model(batch.x)
    return Loss(cross_entropy(scores, batch.y), (scores.argmax(1) == batch.y).sum())
def bare(model, batch, generator):
    return model(batch.x).sum()
def broken(model, batch, generator):
    return batch.z
"""


def test_a_users_own_objective_trains(tmp_path: Path) -> None:
    (tmp_path / "own_objectives.py").write_text(OWN_OBJECTIVES)
    words = [*PLAIN, "--epochs", "2", "--quiet"]
    mine = f"{tmp_path / 'own_objectives.py'}:sharp"
    assert train(tmp_path, *words, "--name", "plain") == 0
    assert train(tmp_path, *words, "--objective", mine, "--name", "own") == 0
    assert digest(tmp_path, "own") != digest(tmp_path, "plain")
    assert files.read_lines(tmp_path / "train" / "own" / "records.jsonl")[0]["train_accuracy"] is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--objective", "classify,mask"], "takes exactly one objective"),
        (["--objective", "mask"], "trains no classifier; choose from classify"),
        (["--objective", "clasify"], "did you mean 'classify'"),
        (["--objective", "OWN:bare"], "must return a Loss"),
        (["--objective", "OWN:broken"], "AttributeError: 'Batch' object has no attribute 'z'"),
        (["--objective", "OWN:bare", "--label-smoothing", "0.1"], "--label-smoothing: the objective"),
        (["--optimiser", "adam"], "no optimiser 'adam': did you mean 'adamw'"),
    ],
)
def test_an_objective_or_optimiser_that_cannot_train_is_refused(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_faulty.py").write_text(OWN_OBJECTIVES)
    words = [word.replace("OWN", str(tmp_path / "own_faulty.py")) for word in words]
    assert train(tmp_path, *PLAIN, *words) == 2
    assert message in capsys.readouterr().err


def rebuilt(root: Path, *words: str) -> None:
    """Train `a`, killed in spirit: two of three epochs are done and the manifest is that of the start."""
    assert train(root, *PLAIN, "--epochs", "3", "--name", "a", "--quiet", *words) == 0
    folder = root / "train" / "a"
    for path in folder.iterdir():
        if path.name not in ("state", "config.json", "records.jsonl", "log.csv", "model.safetensors"):
            path.unlink()


@pytest.mark.parametrize("how", ["truncated", "flipped", "zero tail", "pickle", "emptied", "gone", "link"])
def test_damaged_best_weights_are_written_again_from_the_checkpoint(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rebuilt(tmp_path)
    path = tmp_path / "train" / "a" / "model.safetensors"
    whole = files.sha256(path)
    if how in ("gone", "link"):
        path.unlink()
        outside = tmp_path / "outside"
        outside.write_bytes(b"precious")
        if how == "link":
            path.symlink_to(outside)
    elif how == "emptied":
        path.write_bytes(b"")
    else:
        damage(path, how)
    if how not in ("gone", "link"):
        assert main(["predict", "a", "--runs", str(tmp_path)]) == 2  # model.json, or the weights
    capsys.readouterr()
    assert train(tmp_path, "--resume", "a") == 0
    assert "model.safetensors: was" in capsys.readouterr().err
    assert files.sha256(path) == whole
    assert how != "link" or (tmp_path / "outside").read_bytes() == b"precious"


@pytest.mark.parametrize("how", ["truncated", "flipped", "pickle", "emptied", "gone"])
def test_damaged_records_are_refused_by_name(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rebuilt(tmp_path)
    path = tmp_path / "train" / "a" / "records.jsonl"
    if how == "gone":
        path.unlink()
    elif how == "emptied":
        path.write_bytes(b"")
    else:
        damage(path, how)
    assert train(tmp_path, "--resume", "a") == 2
    assert "records.jsonl" in capsys.readouterr().err


def test_records_after_the_checkpoint_are_cut_off_even_if_they_are_damaged(tmp_path: Path) -> None:
    rebuilt(tmp_path)
    path = tmp_path / "train" / "a" / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind": "epoch", "epo\x00\x00\n{}\nnull\n[')
    assert train(tmp_path, "--resume", "a", "--quiet") == 0
    assert path.read_bytes() == whole


def test_damage_to_the_last_records_costs_the_steps_since_the_checkpoint_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "3", "--name", "whole", "--quiet") == 0
    rebuilt(tmp_path)
    path = tmp_path / "train" / "a" / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1].replace(b"train_loss", b"train_lost"))
    capsys.readouterr()
    assert train(tmp_path, "--resume", "a") == 0
    assert "records.jsonl" in capsys.readouterr().err
    assert digest(tmp_path, "a") == digest(tmp_path, "whole")
    assert [line["epoch"] for line in files.read_lines(path)] == [1, 2, 3]


@pytest.mark.parametrize("has_manifest", [True, False])
def test_an_edited_config_is_not_accepted_over_old_state(
    tmp_path: Path, has_manifest: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *PLAIN, "--epochs", "1", "--name", "a", "--quiet") == 0
    folder = tmp_path / "train" / "a"
    files.write_json(folder / "config.json", {**files.read_json(folder / "config.json"), "seed": 5})
    if not has_manifest:
        (folder / "manifest.json").unlink()
    assert train(tmp_path, "--resume", "a", "--epochs", "2") == 2
    assert "config.json" in capsys.readouterr().err


def test_a_finished_run_that_is_continued_and_stopped_after_a_new_best_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*PLAIN, "--set", "dropout=0", "--lr", "0.003", "--quiet"]
    assert train(tmp_path, *words, "--epochs", "1", "--name", "a") == 0
    first = digest(tmp_path, "a")

    def die(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("vitruvius.training.classifier.finish", die)
        assert train(tmp_path, "--resume", "a", "--epochs", "6", "--quiet") == 130
    assert digest(tmp_path, "a") != first
    assert runs.check(tmp_path / "train" / "a") == []
    assert main(["predict", "a", "--runs", str(tmp_path), "--quiet"]) == 0
    damage(tmp_path / "train" / "a" / "model.safetensors", "flipped")
    assert main(["predict", "a", "--runs", str(tmp_path), "--quiet"]) == 2


def test_a_run_of_an_older_version_goes_on(tmp_path: Path) -> None:
    """Its manifest, checkpoints and records carry none of the hashes that were added since."""
    assert train(tmp_path, *PLAIN, "--epochs", "4", "--name", "whole", "--quiet") == 0
    assert train(tmp_path, *PLAIN, "--epochs", "4", "--name", "a", "--time-limit", "1e-9", "--quiet") == 0
    folder = tmp_path / "train" / "a"
    for path in [folder / "manifest.json", *(folder / "state").glob("*.json")]:
        fields = files.read_json(path)
        old = {key: fields[key] for key in fields if key not in ("self", "beside")}
        is_checkpoint = path.parent.name == "state"
        files.write_json(path, {**old, "self": files.content_hash(old)} if is_checkpoint else old)
    if (folder / "records.jsonl").exists():
        lines = files.read_lines(folder / "records.jsonl")
        (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert train(tmp_path, "--resume", "a", "--time-limit", "1000", "--quiet") == 0
    assert digest(tmp_path, "whole") == digest(tmp_path, "a")
