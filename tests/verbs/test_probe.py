"""Probing from the command line: features beside their baselines, draws of labels, refusals with counts."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import pytest
import torch

from vitruvius import datasets
from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.nn.autoencoder import build
from vitruvius.pretraining import features
from vitruvius.verbs import probe as verb

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"
OWN = """
import torch
from vitruvius.datasets import Dataset, Split

def make(y, classes, test=60, labelled=True):
    x = torch.randn(len(y), 6, generator=torch.Generator().manual_seed(5))
    x[:, 0] += 4 * y
    part = lambda a, b: Split(x[a:b], y[a:b] if labelled else None)
    end = len(y) - test
    return Dataset("own", part(0, end - 40), part(end - 40, end), part(end, len(y)), classes, sha256="own")

def two(**options):
    return make(torch.arange(300) % 2, ("even", "odd"))

def one(**options):
    return make(torch.zeros(300, dtype=torch.long), ("even", "odd"))

def untested(**options):
    return make(torch.arange(300) % 2, ("even", "odd"), test=0)

def unlabelled(**options):
    return make(torch.arange(300) % 2, (), labelled=False)

def empty(**options):
    return make(torch.zeros(100, dtype=torch.long), ("even", "odd"))
"""


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an autoencoder grid on vectors, a masked autoencoder and a classifier on images."""
    root = tmp_path_factory.mktemp("probe")
    (root / "own.py").write_text(OWN)
    threads = torch.get_num_threads()
    vectors = [
        "--data",
        f"{root / 'own.py'}:two",
        "--latent",
        "2,9",
        "--repeats",
        "1",
        "--objective",
        "denoise",
    ]
    small = [
        "--data",
        TOY,
        "--set",
        "patch=4",
        "width=8",
        "depth=1",
        "heads=2",
        "mlp=8",
        "head_dim=4",
        "dropout=0",
    ]
    quick = ["--epochs", "1", "--threads", "1", "--runs", str(root), "--quiet"]
    assert main(["pretrain", *vectors, "--seed", "3", "--split-seed", "3", *quick, "--name", "grid"]) == 0
    assert main(["pretrain", "--model", "vit", *small, *quick, "--name", "masked"]) == 0
    assert main(["train", *small, *quick, "--name", "classifier"]) == 0
    torch.set_num_threads(threads)
    return root


def probe(root: Path, *words: str) -> int:
    return main(["probe", *words, "--threads", "1", "--runs", str(root)])


def rows(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    assert probe(root, *words, "--json") == 0
    return {row["features"]: row for row in json.loads(capsys.readouterr().out)["rows"]}


@pytest.mark.usefixtures("pictures")
def test_a_run_stands_beside_raw_samples_pca_of_its_sizes_and_itself_untrained(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(root, capsys, "grid", "--labels", "20", "--draws", "3", "--name", "a")
    sizes = {name: row["size"] for name, row in found.items()}
    assert sizes == {
        "raw": 6,
        "pca:2": 2,
        "pca:6": 6,
        "denoise.2.0": 2,
        "denoise.9.0": 9,
        "untrained.2": 2,
        "untrained.9": 9,
    }
    for row in found.values():
        assert len(row["accuracies"]) == 3
        assert row["mean"] == pytest.approx(statistics.fmean(row["accuracies"]))
        assert row["spread"] == pytest.approx(statistics.stdev(row["accuracies"]))
        assert row["gradient"] <= 1e-6
    assert found["raw"]["mean"] > 0.9
    assert (root / "probe" / "a" / "accuracy.png").exists()


def test_the_untrained_encoder_is_the_one_that_training_started_from(root: Path) -> None:
    data = datasets.get(f"{root / 'own.py'}:two")
    found = {source.name: source for source in features.of_run(root / "pretrain" / "grid", data)}
    x = data.test.x[:5]
    torch.testing.assert_close(found["untrained.2"].encode(x), build(6, (2,), "identity", seed=3).encode(x))
    assert not torch.allclose(found["denoise.2.0"].encode(x), found["untrained.2"].encode(x))


@pytest.mark.parametrize("run", ["masked", "classifier"])
def test_the_features_of_a_vit_are_probed_too(
    root: Path, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(root, capsys, run, "--labels", "20", "--draws", "2", "--name", f"vit-{run}")
    assert list(found) == ["raw", "pca:8", run, "untrained"]
    assert found["raw"]["mean"] > 0.9


def test_a_run_may_have_any_name(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(root / "pretrain" / "masked", root / "pretrain" / "raw-images")
    assert "raw-images" in rows(root, capsys, "raw-images", "--labels", "20", "--draws", "1")


def test_the_data_of_a_run_are_drawn_as_it_drew_them_also_when_they_are_named(root: Path) -> None:
    data = f"{root / 'own.py'}:two"
    for given in ({}, {"data": data}, {"data": data, "validation": 0}):
        config, _ = verb._with_data_of_run(verb.Config(source="grid", **given), Flags(runs=str(root)))
        assert (config.data, config.split_seed, config.validation) == (data, 3, given.get("validation"))
    other, _ = verb._with_data_of_run(verb.Config(source="grid", data="synthetic"), Flags(runs=str(root)))
    assert other.split_seed == 0


@pytest.mark.parametrize("method", ["lbfgs", "adam", "knn"])
def test_every_method_reads_what_is_there(
    root: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "pca:3",
        "--data",
        f"{root / 'own.py'}:two",
        "--labels",
        "100",
        "--draws",
        "2",
        "--method",
        method,
    ]
    found = rows(root, capsys, *words, "--name", f"by-{method}")
    assert list(found) == ["raw", "pca:3"]
    assert found["pca:3"]["mean"] > 0.8


def test_all_labels_are_one_draw(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(root, capsys, "raw", "--data", f"{root / 'own.py'}:two", "--labels", "all", "--name", "all")
    assert list(found) == ["raw"]
    assert len(found["raw"]["accuracies"]) == 1
    result = files.read_json(root / "probe" / "all" / "result.json")
    assert result["labels"] == 200
    assert result["seconds"] > 0
    assert "all 200 training labels, counted on the 60 test samples" in result["protocol"]


def test_recipes_are_chosen_on_validation_samples(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["untrained:mlp-5-3", "--data", f"{root / 'own.py'}:two", "--labels", "50", "--draws", "2"]
    found = rows(root, capsys, *words, "--on", "validation", "--name", "validated")
    assert list(found) == ["raw", "pca:3", "untrained:mlp-5-3"]
    protocol = files.read_json(root / "probe" / "validated" / "result.json")["protocol"]
    assert (
        "2 draws, classes in proportion, of 50 training labels, counted on the 40 validation samples"
        in protocol
    )


def test_the_same_seed_draws_the_same_labels(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["raw", "--data", f"{root / 'own.py'}:two", "--labels", "8", "--draws", "4"]
    first, second = (rows(root, capsys, *words, "--name", f"again{number}") for number in range(2))
    assert first == second
    assert rows(root, capsys, *words, "--seed", "1", "--name", "again2") != first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which features? vitruvius probe RUN, raw, pca:K or untrained:ARCH"),
        (["raw", "--data", "OWN:one"], "own: the training samples are of one class only (even: 200, odd: 0)"),
        (["raw", "--data", "OWN:empty"], "own: there are no training samples"),
        (["raw", "--data", "OWN:unlabelled"], "own: 200 samples without labels"),
        (["raw", "--data", "OWN:untested"], "own: there are no test samples"),
        (["raw", "--data", "OWN:two", "--labels", "900"], "--labels 900: own has 200 training samples"),
        (["pca:0", "--data", "OWN:two"], "'pca:0': write pca:K with K from 1 to the 6 entries of a sample"),
        (["pca:7", "--data", "OWN:two"], "'pca:7': write pca:K"),
        (["untrained:mnist", "--data", "OWN:two"], "untrained:mnist: own has no square images"),
        (["untrained:mnst", "--data", "TOY", "--labels", "9"], "no preset 'mnst': did you mean 'mnist'?"),
        (["grd"], "no run 'grd': did you mean 'grid'?"),
        (["grid", "--data", "TOY", "--labels", "9"], "its encoders read 6 entries, a sample of toy has 64"),
        (["masked", "--data", "OWN:two"], "the network takes 1x8x8 images, not (6,)"),
    ],
)
def test_what_cannot_be_probed_is_said_in_a_sentence(
    root: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("OWN", str(root / "own.py")).replace("TOY", TOY) for word in words]
    assert probe(root, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_damaged_weights_are_refused(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shutil

    shutil.copytree(root / "pretrain" / "grid", tmp_path / "pretrain" / "grid")
    path = tmp_path / "pretrain" / "grid" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    assert probe(tmp_path, "grid") == 2
    assert "damaged or was changed" in capsys.readouterr().err


def test_an_interrupted_probe_goes_on_as_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vitruvius.pretraining import probe

    words = ["--labels", "20", "--draws", "1", "--runs", str(tmp_path), "--quiet"]
    source = ["raw", "--data", "synthetic"]

    def die(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(probe, "score", die)
        assert main(["probe", *source, *words, "--name", "x"]) == 130
    assert main(["probe", *source, *words, "--name", "x"]) == 2
    assert "--resume x" in capsys.readouterr().err
    assert main(["probe", "--resume", "x", "--runs", str(tmp_path), "--quiet"]) == 0
