"""Pretraining from the command line: files, certificates, sentences, exact resume after kill -9, refusals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.pretraining import report
from vitruvius.training import checkpoint

HERE = Path(__file__).parent
TOY = f"{HERE / 'killing.py'}:toy"
VECTORS = """
import torch
from vitruvius.datasets import Dataset, Split

def make(y=None, classes=(), count=400):
    x = torch.randn(count, 8, generator=torch.Generator().manual_seed(5))
    x[:, :3] *= torch.tensor([5.0, 4.0, 3.0])
    y = (x[:, :3].sum(1) > 0).long() if y is None else y
    cut = lambda a, b: Split(x[a:b], y[a:b] if classes else None)
    third = count // 4
    return Dataset("vectors", cut(0, count - 2 * third), cut(count - 2 * third, count - third),
                   cut(count - third, count), classes, source="drawn", sha256="vectors")

def labelled(**options):
    return make(classes=("no", "yes"))

def unlabelled(**options):
    return make()

def one_class(**options):
    return make(torch.zeros(400, dtype=torch.long), ("no", "yes"))

def nothing(**options):
    return make(classes=("no", "yes"), count=0)
"""
SHORT = ["--repeats", "2", "--epochs", "3", "--batch", "20", "--lr", "0.02", "--threads", "1"]
PLAIN = [*SHORT, "--latent", "2,3,8"]
SMALL = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "head_dim=4", "--decoder-width", "8"]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    """The user's own data file."""
    path = tmp_path / "vectors.py"
    path.write_text(VECTORS)
    return str(path)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time of a small run: here nobody looks at them."""
    monkeypatch.setattr(report, "write", lambda *arguments: None)


def pretrain(root: Path, *words: str) -> int:
    return main(["pretrain", *words, "--runs", str(root)])


def killing(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.verbs.killing_pretrain", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    root = HERE.parent.parent
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=root)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.usefixtures("pictures")
def test_a_grid_leaves_everything_a_person_looks_for(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pretrain(tmp_path, "--data", f"{vectors}:labelled", *PLAIN, "--name", "a", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    folder = tmp_path / "pretrain" / "a"
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
        *(
            "loss.png",
            "accuracy.png",
            "angles.png",
            "report.html",
            "README.md",
            "submission_log.json",
            "state",
        ),
    }
    kinds = [(row["objective"], row["latent"]) for row in result["outcomes"]]
    assert kinds == [(o, k) for o in ("reconstruct", "denoise", "mask") for k in (2, 3, 8)]
    points = [line for line in files.read_lines(folder / "records.jsonl") if line["kind"] == "points"]
    assert [line["epoch"] for line in points] == [0, 1, 2, 3]
    assert all(len(line["points"]) == 18 for line in points)
    assert all(
        len(p["train_losses"]) == (10 if line["epoch"] else 0) for line in points for p in line["points"]
    )
    assert len((folder / "log.csv").read_text().splitlines()) == 1 + 4 * 18
    manifest = files.read_json(folder / "manifest.json")
    assert all(files.sha256(folder / name) == known for name, known in manifest["files"].items())
    weights = load_file(folder / "model.safetensors")
    assert weights["denoise.3.1.encoder.0.weight"].shape == (3, 8)
    log = files.read_json(folder / "submission_log.json")
    assert len(log["train1"]["train_losses"]["masking.8"]) == 2
    assert [len(one) for one in log["train1"]["train_losses"]["masking.8"]] == [30, 30]
    assert [len(one) for one in log["train1"]["accuracy"]["vanilla.2"]] == [4, 4]


def test_a_linear_grid_reaches_pca_says_so_and_answers_the_question(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--data",
        f"{vectors}:labelled",
        *PLAIN,
        "--epochs",
        "60",
        "--objective",
        "reconstruct",
        "--repeats",
        "1",
    ]
    assert pretrain(tmp_path, *words, "--name", "a") == 0
    shown = capsys.readouterr()
    assert "All trainings of reconstruct are within 0.5 % of the optimum." in shown.out
    result = files.read_json(tmp_path / "pretrain" / "a" / "result.json")
    for found in result["certificates"]:
        assert -1e-6 <= found["gap"] < 0.005
        assert max(found["angles"], default=0) < 2
    by_latent = {row["latent"]: row for row in result["outcomes"]}
    page = (tmp_path / "pretrain" / "a" / "report.html").read_text()
    assert "How does the latent size matter, and why?" in page
    for latent, row in by_latent.items():
        assert f"{row['val_loss']:.4g} at latent {latent}" in page
        assert f"{row['accuracy']:.1%} at {latent}" in page
    optimum = next(c["optimum"] for c in result["certificates"] if c["latent"] == 2)
    assert f"leaves {optimum:.4g} at 2" in page
    assert "It falls as the latent size grows." in page


@pytest.mark.usefixtures("undrawn")
def test_training_that_has_not_converged_is_named(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--data",
        f"{vectors}:labelled",
        *SHORT,
        "--epochs",
        "1",
        "--objective",
        "reconstruct",
        "--latent",
        "3",
    ]
    assert pretrain(tmp_path, *words) == 0
    assert (
        "Not converged, more than 0.5 % above the optimum: reconstruct, latent 3 (repeat 0)"
        in capsys.readouterr().out
    )


def test_a_penalty_is_shown_beside_its_closed_form(tmp_path: Path, vectors: str) -> None:
    words = [
        "--data",
        f"{vectors}:labelled",
        *SHORT,
        "--epochs",
        "50",
        "--objective",
        "reconstruct",
        "--latent",
        "2",
    ]
    words += ["--l2", "1", "--lr", "0.05", "--schedule", "cosine", "--repeats", "1", "--probe", "none"]
    assert pretrain(tmp_path, *words, "--name", "a", "--quiet") == 0
    (found,) = files.read_json(tmp_path / "pretrain" / "a" / "result.json")["certificates"]
    penalised = found["penalised"]
    assert found["converged"] is True
    assert penalised["objective"] == pytest.approx(penalised["optimum"], rel=0.005)
    assert penalised["decoder"] == pytest.approx(penalised["closed_form"], abs=0.05)
    assert "its closed-form optimum" in (tmp_path / "pretrain" / "a" / "report.html").read_text()


def test_unlabelled_samples_are_welcome(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pretrain(tmp_path, "--data", f"{vectors}:unlabelled", *PLAIN, "--name", "a") == 0
    assert "the probe is left out: vectors has no labels" in capsys.readouterr().err
    result = files.read_json(tmp_path / "pretrain" / "a" / "result.json")
    assert all(row["accuracy"] is None and row["val_loss"] > 0 for row in result["outcomes"])
    assert not (tmp_path / "pretrain" / "a" / "accuracy.png").exists()


@pytest.mark.usefixtures("undrawn")
def test_small_layers_are_left_to_one_thread(tmp_path: Path, vectors: str) -> None:
    torch.set_num_threads(2)
    words = [
        "--data",
        f"{vectors}:labelled",
        *PLAIN,
        "--epochs",
        "1",
        "--threads",
        "0",
        "--name",
        "a",
        "--quiet",
    ]
    assert pretrain(tmp_path, *words) == 0
    assert files.read_json(tmp_path / "pretrain" / "a" / "manifest.json")["environment"]["threads"] == 1


@pytest.mark.usefixtures("undrawn")
def test_one_class_leaves_the_probe_out_too(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pretrain(tmp_path, "--data", f"{vectors}:one_class", *PLAIN, "--epochs", "1") == 0
    assert "100 validation samples are of fewer than two classes" in capsys.readouterr().err


@pytest.mark.usefixtures("pictures")
def test_an_mlp_on_images_draws_reconstructions_that_look_like_them(tmp_path: Path) -> None:
    words = [
        "--data",
        TOY,
        "--model",
        "mlp",
        "--hidden",
        "16",
        "--latent",
        "4",
        "--repeats",
        "1",
        "--threads",
        "1",
    ]
    assert (
        pretrain(
            tmp_path, *words, "--epochs", "30", "--lr", "0.01", "--batch", "16", "--name", "a", "--quiet"
        )
        == 0
    )
    folder = tmp_path / "pretrain" / "a"
    assert (folder / "reconstructions.png").stat().st_size > 1000
    assert files.read_json(folder / "submission_log.json")["train2"]["hparams"]["hidden_dims"] == [16, 4]
    losses = [row["val_loss"] for row in files.read_json(folder / "result.json")["outcomes"]]
    assert max(losses) < 64 * 0.06  # 64 pixels of variance about 0.1 without a code


@pytest.mark.parametrize("objective", ["mask", "denoise"])
def test_a_vit_is_pretrained_probed_and_fine_tuned(tmp_path: Path, objective: str) -> None:
    words = [
        "--data",
        TOY,
        "--model",
        "vit",
        *SMALL,
        "--objective",
        objective,
        "--epochs",
        "2",
        "--threads",
        "1",
    ]
    assert pretrain(tmp_path, *words, "--normalise", "--batch", "16", "--name", "v", "--quiet") == 0
    folder = tmp_path / "pretrain" / "v"
    weights = load_file(folder / "model.safetensors")
    assert not any(name.startswith(("head", "draw", "mask_token")) for name in weights)
    assert (folder / "reconstructions.png").exists()
    assert not (folder / "submission_log.json").exists()
    fine = [
        "--data",
        TOY,
        *SMALL[:-2],
        "--init",
        str(folder),
        "--lr",
        "1e-30",
        "--epochs",
        "1",
        "--threads",
        "1",
    ]
    assert main(["train", *fine, "--name", "t", "--runs", str(tmp_path), "--quiet"]) == 0
    tuned = load_file(tmp_path / "train" / "t" / "model.safetensors")
    assert all(torch.allclose(tuned[name], value) for name, value in weights.items())


def test_killing_a_grid_in_any_write_or_a_masked_autoencoder_changes_nothing() -> None:
    found = killing("writer=atomic", "kills=4:vit", "--seed", "1")
    assert len(found["writer=atomic"]["outcomes"]) >= 18
    for ends in found.values():
        assert set(ends["outcomes"]) == {ends["whole"]}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("forgotten", ["nothing", "optimiser.", "model.trace"])
def test_a_resume_within_an_epoch_needs_every_part_of_the_state(
    tmp_path: Path, vectors: str, forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--data", f"{vectors}:labelled", *SHORT, "--latent", "2", "--epochs", "2", "--quiet"]
    assert pretrain(tmp_path, *words, "--name", "whole") == 0
    assert pretrain(tmp_path, *words, "--name", "cut", "--time-limit", "0.0001") == 0
    restore = checkpoint._restore

    def forgetful(job: Any, cursor: Any, tensors: dict[str, torch.Tensor]) -> Any:
        fresh = {f"model.{name}": value for name, value in job.model.state_dict().items()}
        kept = {name: value for name, value in tensors.items() if not name.startswith(forgotten)}
        return restore(job, cursor, {**fresh, **kept})

    monkeypatch.setattr(checkpoint, "_restore", forgetful)
    assert pretrain(tmp_path, "--resume", "cut", "--time-limit", "1000", "--quiet") == 0
    whole, cut = (_content(tmp_path / "pretrain" / name) for name in ("whole", "cut"))
    assert (whole == cut) is (forgotten == "nothing")


def _content(folder: Path) -> list[Any]:
    lines = [{**line, "timing": None} for line in files.read_lines(folder / "records.jsonl")]
    return [files.sha256(folder / "model.safetensors"), lines]


@pytest.mark.usefixtures("undrawn")
def test_a_signal_saves_and_leaves(tmp_path: Path, vectors: str) -> None:
    words = [
        "--data",
        f"{vectors}:labelled",
        *PLAIN,
        "--epochs",
        "100000",
        "--name",
        "a",
        "--runs",
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "vitruvius", "pretrain", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    state = tmp_path / "pretrain" / "a" / "state"
    deadline = time.monotonic() + 600
    while not (state.is_dir() and any(state.glob("*.json"))):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "the state is saved" in error.splitlines()[-1]
    assert pretrain(tmp_path, "--resume", "a", "--time-limit", "0.001", "--quiet") == 0


@pytest.mark.usefixtures("undrawn")
def test_a_finished_run_is_extended_by_more_epochs(tmp_path: Path, vectors: str) -> None:
    words = ["--data", f"{vectors}:labelled", *SHORT, "--objective", "denoise", "--latent", "2"]
    assert pretrain(tmp_path, *words, "--epochs", "4", "--name", "whole", "--quiet") == 0
    assert pretrain(tmp_path, *words, "--epochs", "2", "--name", "a", "--quiet") == 0
    assert pretrain(tmp_path, "--resume", "a", "--epochs", "4", "--quiet") == 0
    whole, parts = (load_file(tmp_path / "pretrain" / name / "model.safetensors") for name in ("whole", "a"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert len(files.read_lines(tmp_path / "pretrain" / "a" / "records.jsonl")) == 5 + 4
    assert pretrain(tmp_path, "--resume", "a", "--quiet") == 0
    assert files.read_json(tmp_path / "pretrain" / "a" / "result.json")["epochs"] == 4
    assert pretrain(tmp_path, "--resume", "a", "--epochs", "10", "--quiet") == 0  # which is also the default
    assert files.read_json(tmp_path / "pretrain" / "a" / "result.json")["epochs"] == 10


OBJECTIVES = """
from vitruvius.objectives import Loss
def bare(model, batch, generator): return (model(batch.x) - batch.x).square().mean()
def many(model, batch, generator): return Loss((model(batch.x) - batch.x).square().sum(1))
def labelled(model, batch, generator): return Loss(batch.y.float().mean())
def narrow(model): return 0
"""


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bare", "it must return a Loss whose value is one number"),
        ("many", "it must return a Loss whose value is one number"),
        ("labelled", "AttributeError: 'NoneType' object has no attribute 'float'"),
        ("narrow", "TypeError: narrow() takes 1 positional argument"),
    ],
)
def test_a_fault_in_a_users_own_objective_is_told_as_such(
    tmp_path: Path, vectors: str, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    words = ["--data", f"{vectors}:labelled", *PLAIN, "--probe", "none", "--quiet"]
    assert pretrain(tmp_path, *words, "--objective", f"{tmp_path}/mine.py:{name}") == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_a_run_that_is_stopped_within_an_epoch_is_evaluated_as_it_is(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--data",
        f"{vectors}:labelled",
        *SHORT,
        "--latent",
        "2",
        "--objective",
        "reconstruct",
        "--name",
        "a",
    ]
    assert pretrain(tmp_path, *words, "--time-limit", "0.001") == 0
    assert "stopped by the time limit after step 1, in epoch 1: --resume goes on" in capsys.readouterr().err
    result = files.read_json(tmp_path / "pretrain" / "a" / "result.json")
    losses = [certificate["val_loss"] for certificate in result["certificates"]]
    assert result["outcomes"][0]["val_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "NOTHING"], "there are no training samples"),
        (["--model", "vit"], "(8,) are not square images; a ViT needs those"),
        (["--shift", "2"], "--shift 2: vectors has no images"),
        (["--objective", "denois"], "no objective 'denois': did you mean 'denoise'?"),
        (
            ["--objective", "classify"],
            "--objective classify: it needs labels; choose from denoise, mask, reconstruct",
        ),
        (["--latent", "0,5"], "latent 0,5: sizes are 1 to"),
        (["--latent", "5,5"], "latent 5,5: name each one once"),
        (["--labels", "500"], "--labels 500: there are 100 labelled samples"),
        (["--mask", "1"], "mask must be less than 1, got '1'"),
        (["--decoder-width", "8"], "decoder_width belongs to a ViT, model is linear"),
        (["--model", "vit", "--hidden", "9"], "hidden belongs to linear and mlp models, model is vit"),
        (["--latent", "1000000", "--hidden", "1000000"], "parameters do not fit"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, vectors: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"{vectors}:nothing" if word == "NOTHING" else word for word in words]
    data = [] if "--data" in words else ["--data", f"{vectors}:labelled"]
    assert pretrain(tmp_path, *data, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "pretrain").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_resume_cannot_become_another_run(
    tmp_path: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data", f"{vectors}:labelled", *PLAIN, "--epochs", "1"]
    assert pretrain(tmp_path, *words, "--name", "a", "--quiet") == 0
    capsys.readouterr()
    assert pretrain(tmp_path, "--resume", "a", "--noise", "0.9") == 2
    assert "cannot change noise was 0.5, now 0.9" in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_an_own_objective_joins_the_grid(tmp_path: Path, vectors: str) -> None:
    (tmp_path / "mine.py").write_text(
        "from vitruvius.objectives import Loss\n"
        "def absolute(model, batch, generator):\n"
        "    return Loss((model(batch.x) - batch.x).abs().sum(1).mean())\n"
    )
    own = f"{tmp_path / 'mine.py'}:absolute"
    words = [
        "--data",
        f"{vectors}:labelled",
        *PLAIN,
        "--objective",
        f"reconstruct,{own}",
        "--name",
        "a",
        "--quiet",
    ]
    assert pretrain(tmp_path, *words) == 0
    rows = files.read_json(tmp_path / "pretrain" / "a" / "result.json")["outcomes"]
    assert {row["objective"] for row in rows} == {"reconstruct", own}
    assert "absolute.2.0.encoder.0.weight" in load_file(tmp_path / "pretrain" / "a" / "model.safetensors")
