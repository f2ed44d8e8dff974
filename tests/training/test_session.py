"""A training in its run folder: ranks share it, later records are dropped, environments are compared."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.core.runs import RunFolder
from vitruvius.training import checkpoint, distributed, loop, session
from vitruvius.training.checkpoint import Restored
from vitruvius.training.results import Epoch, Timing
from vitruvius.verbs.train import Config


def epoch(number: int) -> Epoch:
    timing = Timing(seconds=1.5, images_per_second=10.0)
    fields: dict[str, Any] = {"train_accuracy": 0.5, "val_loss": None, "val_accuracy": None, "lr": 0.001}
    return Epoch(epoch=number, train_loss=0.25, grad_norm=1.0, timing=timing, **fields)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path, is_new=False)
    for number in (1, 2, 3):
        made.keep(epoch(number))
    return made


def test_records_after_the_checkpoint_are_dropped(folder: RunFolder) -> None:
    assert session._drop_later_records(folder, 2) == [epoch(1), epoch(2)]
    assert [line["epoch"] for line in folder.records()] == [1, 2]


@pytest.mark.parametrize(("rank", "told"), [(0, [1]), (1, [])])
def test_of_several_processes_the_first_tells_and_keeps_the_epochs(
    tmp_path: Path, rank: int, told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job: Any = SimpleNamespace(cursor=SimpleNamespace(records=0, step=0), is_finished=True)
    job.model = SimpleNamespace(load_state_dict=lambda weights: None)
    monkeypatch.setattr(distributed, "rank", lambda: rank)
    monkeypatch.setattr(checkpoint, "read", lambda *_: Restored({"w": torch.zeros(1)}, None, []))
    monkeypatch.setattr(loop, "run", lambda job: iter([epoch(1)]))
    folder = RunFolder(tmp_path, is_new=True)
    found = list(session.run_job(folder, job, {}, False, keeps_model=False))
    assert [record.epoch for record in found if isinstance(record, Epoch)] == told
    assert [line["epoch"] for line in folder.records()] == told


def test_the_log_has_a_row_per_epoch_with_its_timing() -> None:
    assert files.csv_text([epoch(1).row()]).splitlines() == [
        "epoch,train_loss,train_accuracy,val_loss,val_accuracy,lr,grad_norm,seconds,images_per_second",
        "1,0.25,0.5,,,0.001,1.0,1.5,10.0",
    ]


def test_another_environment_is_refused_or_marks_the_run_for_good(folder: RunFolder) -> None:
    folder.seal({"threads": 1})
    with pytest.raises(UserError, match="threads was 1, is 2"):
        session._check_environment(folder, {"threads": 2}, allow_inexact=False)
    environment = {"threads": 2}
    assert session._check_environment(folder, environment, allow_inexact=True) == "threads was 1, is 2"
    folder.seal(environment)
    again = {"threads": 2}
    assert session._check_environment(folder, again, allow_inexact=False) == ""
    assert again == {"threads": 2, "inexact": True}


def test_other_ranks_take_the_folder_and_the_config_of_rank_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"folder": str(tmp_path), "is_new": True, "config": Config(epochs=7).model_dump(mode="json")}
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    monkeypatch.setattr(distributed, "rank", lambda: 1)
    monkeypatch.setattr(distributed, "broadcast_string", lambda text: json.dumps(about))
    with session.open_run("train", Config(), Flags()) as (folder, config):
        assert (folder.folder, config.epochs) == (tmp_path, 7)
    monkeypatch.setattr(distributed, "broadcast_string", lambda text: "")
    with (
        pytest.raises(UserError, match="could not open the run folder"),
        session.open_run("train", Config(), Flags()),
    ):
        pass


def test_rank_0_tells_the_others_when_it_cannot_open_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    monkeypatch.setattr(distributed, "broadcast_string", said.append)
    files.write_json(tmp_path / "file", {})
    with (
        pytest.raises(UserError, match="cannot make the run folder"),
        session.open_run("train", Config(), Flags(runs=str(tmp_path / "file"), name="a")),
    ):
        pass
    assert said == [""]
