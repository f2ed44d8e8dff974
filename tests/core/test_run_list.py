"""All runs are listed with what they hold; unfinished and damaged ones too."""

import json
import os
import socket
from pathlib import Path
from typing import Any

from vitruvius.cli import main
from vitruvius.core import files, integrity, run_list

HOST = socket.gethostname()


def test_runs_are_listed_newest_first_with_their_best_value(tmp_path: Path, capsys: Any) -> None:
    contents: dict[str, dict[str, Any]] = {
        "train/first": {"config.json": {"data": "mnist"}, "result.json": {"test_accuracy": 0.5, "seed": 1}},
        "pretrain/second": {"config.json": {"data": "cifar"}},
        "rank/third": {"config.json": {"archs": ["fifty"]}, "result.json": {"spent": {"seconds": 13.0}}},
        "train/broken": {"config.json": [1]},
    }
    for age, (name, parts) in enumerate(contents.items()):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for file, content in parts.items():
            files.write_json(folder / file, content)
            os.utime(folder / file, (1e9 - age, 1e9 - age))
    (tmp_path / "train" / "no-run").mkdir()
    assert main(["list", "runs", "--runs", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["runs"]
    assert [run["name"] for run in found] == ["first", "second", "third", "broken"]
    first, second, third, broken = found
    assert (first["verb"], first["data"], first["best"], first["measure"]) == (
        "train",
        "mnist",
        0.5,
        "test_accuracy",
    )
    assert first["bytes"] == sum(path.stat().st_size for path in (tmp_path / "train" / "first").iterdir())
    assert [run["state"] for run in (first, second, third)] == ["finished", "unfinished", "finished"]
    assert [run["seconds"] for run in (first, second, third)] == [None, None, 13.0]
    assert third["best"] is None
    assert "not an object but list" in broken["state"]


def test_a_training_that_a_time_limit_has_stopped_is_unfinished(tmp_path: Path) -> None:
    for name, finished in (("stopped", False), ("ended", True)):
        folder = tmp_path / "train" / name
        folder.mkdir(parents=True)
        files.write_json(folder / "config.json", {"data": "mnist"})
        files.write_json(folder / "result.json", {"finished": finished})
    states = {run.name: run.state for run in map(run_list.read, (tmp_path / "train").iterdir()) if run}
    assert states == {"stopped": "unfinished", "ended": "finished"}


def test_no_runs_are_said_to_be_none(tmp_path: Path, capsys: Any) -> None:
    assert main(["list", "runs", "--runs", str(tmp_path / "nothing")]) == 0
    assert "there are none" in capsys.readouterr().out


def sealed(folder: Path) -> Path:
    """A finished run whose manifest names its files."""
    folder.mkdir(parents=True)
    for name in ("config.json", "result.json"):
        files.write_json(folder / name, {"data": "mnist"})
    (folder / "model.safetensors").write_bytes(b"weights")
    integrity.write_manifest(folder, integrity.Manifest(files=files.folder_hashes(folder)))
    return folder


def test_verified_runs_say_what_is_damaged(tmp_path: Path, capsys: Any) -> None:
    whole = sealed(tmp_path / "train" / "whole")
    assert main(["list", "runs", "--verify", "--runs", str(tmp_path)]) == 0
    assert "nothing is damaged in 1 verified run folders" in capsys.readouterr().out
    (sealed(tmp_path / "rank" / "flipped") / "model.safetensors").write_bytes(b"weighTs")
    (sealed(tmp_path / "train" / "unconfigured") / "config.json").unlink()
    files.write_json(sealed(tmp_path / "train" / "busy") / ".holder", {"pid": os.getpid(), "host": HOST})
    (tmp_path / "train" / "busy" / "model.safetensors").write_bytes(b"being written")
    assert main(["list", "runs", "--runs", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["list", "runs", "--verify", "--runs", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "2 of 3 verified run folders are damaged; 1 running, not verified" in shown
    assert "model.safetensors: its SHA-256 is not the one in manifest.json" in shown
    assert main(["list", "runs", "--verify", "--json", "--runs", str(tmp_path)]) == 1
    faults = {run["name"]: run["faults"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert faults[whole.name] == []
    assert faults["busy"] is None
    assert "config.json" in faults["unconfigured"][0]
    assert main(["list", "presets", "--verify"]) == 2


def test_a_result_of_an_unfinished_run_is_verified_too(tmp_path: Path) -> None:
    folder = tmp_path / "train" / "one"
    folder.mkdir(parents=True)
    files.write_json(folder / "config.json", {})
    (folder / "result.json").write_text("[1]")
    (run,) = run_list.verified(tmp_path)
    assert run.faults is not None
    assert "an object with fields is needed" in run.faults[0]


def test_an_empty_folder_of_runs_has_nothing_damaged(tmp_path: Path) -> None:
    assert main(["list", "runs", "--verify", "--runs", str(tmp_path)]) == 0


def test_a_process_of_another_machine_runs_while_it_writes(tmp_path: Path, capsys: Any) -> None:
    folder = sealed(tmp_path / "train" / "far")
    (folder / "result.json").unlink()
    files.write_json(folder / ".holder", {"pid": 7, "host": f"not-{HOST}"})
    assert run_list.is_running(folder)
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    assert not run_list.is_running(folder)
    assert main(["list", "runs", "--verify", "--json", "--runs", str(tmp_path)]) == 1
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["state"] == f"silent: process 7 on not-{HOST} has written nothing for an hour"
    assert "result.json" in found["faults"][0]  # what nobody writes to is verified
