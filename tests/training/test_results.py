"""Results of a training: how they look, which exit code they leave, and that older runs can be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.render import text
from vitruvius.training import results
from vitruvius.training.results import Epoch, Result

EPOCH: dict[str, Any] = {
    "epoch": 3,
    "train_loss": 0.5,
    "train_accuracy": 0.8,
    "val_loss": None,
    "val_accuracy": None,
    "lr": 0.001,
    "grad_norm": 1.0,
    "timing": {"seconds": 2.0, "images_per_second": 50.0},
}
RESULT: dict[str, Any] = {
    "test_accuracy": 0.9,
    "test_loss": 0.3,
    "val_accuracy": 0.95,
    "best_epoch": 2,
    "epochs": 3,
    "seconds": 6.0,
    "images_per_second": 50.0,
    "params": 1234,
    "seed": 0,
    "run": "runs/train/a",
    "data": "toy",
    "compile": "off",
}
FINDING = {
    "bug": "zero_grad",
    "confidence": "exact",
    "where": "mine.py:3",
    "module": None,
    "evidence": "gradients add up",
    "why": "nothing clears them",
    "fix": "call zero_grad",
}


def test_an_epoch_leaves_out_what_was_not_measured() -> None:
    (block,) = Epoch(**EPOCH).view()
    assert text.markdown([block]).strip() == "epoch   3  loss 0.5000  accuracy 80.00%  2.0 s, 50 images/s"


def test_a_record_is_read_back_from_its_line_and_other_kinds_are_skipped() -> None:
    epoch = Epoch(**EPOCH)
    lines = [{"kind": "note", "text": "hello"}, json.loads(json.dumps(epoch.line()))]
    assert results.epochs(lines) == [epoch]


def test_a_result_of_an_older_run_is_read_without_newer_keys_and_with_forgotten_ones(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({**RESULT, "forgotten": 1}))
    assert Result(**files.read_json(tmp_path / "result.json")) == Result(**RESULT)
    assert Result(**RESULT).findings == ()


def test_a_result_that_misses_its_accuracy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"epochs": 3}))
    with pytest.raises(UserError, match="test_accuracy is missing"):
        Result(**files.read_json(tmp_path / "result.json"))


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 0)])
def test_only_an_error_found_by_the_doctor_leaves_exit_code_1(severity: str, code: int) -> None:
    result = Result(**RESULT, findings=[{**FINDING, "severity": severity}])
    assert result.exit_code == code
    assert f"doctor: {severity}: zero_grad: gradients add up" in text.markdown(result.view())


def test_the_mean_speed_weights_every_epoch_by_its_time() -> None:
    fast = {**EPOCH, "timing": {"seconds": 1.0, "images_per_second": 200.0}}
    assert results.images_per_second([Epoch(**EPOCH), Epoch(**fast)]) == pytest.approx(300 / 3)
    assert results.images_per_second([]) == 0.0


def test_wilsons_interval_is_where_the_score_test_rejects() -> None:
    for right, images in ((0, 7), (7, 7), (3, 10), (970, 1000)):
        low, high = results.wilson(right, images)
        assert 0 <= low <= right / images <= high <= 1
        for edge in {low, high} - {0.0, 1.0}:  # the share that is just not rejected
            distance = abs(right / images - edge) / (edge * (1 - edge) / images) ** 0.5
            assert distance == pytest.approx(results.QUANTILE, rel=1e-9)
    assert results.wilson(0, 0) == (0.0, 1.0)


def test_precision_and_recall_are_counted_by_class() -> None:
    score = results.TestScore(loss=0.1, accuracy=0.7, confusion=((3, 1, 0), (2, 4, 0), (0, 0, 0)))
    oak, elm, ash = results.class_scores(("oak", "elm", "ash"), score)
    assert (oak.images, oak.right, oak.predicted) == (4, 3, 5)
    assert (oak.recall, oak.precision) == (0.75, 0.6)
    assert (elm.recall, elm.precision) == (4 / 6, 0.8)
    assert (ash.recall, ash.precision) == (None, None)
