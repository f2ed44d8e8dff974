"""All runs are listed with what they hold; unfinished and damaged ones too."""

import json
import os
from pathlib import Path
from typing import Any

from vitruvius.cli import main
from vitruvius.core import files


def test_runs_are_listed_newest_first_with_their_best_value(tmp_path: Path, capsys: Any) -> None:
    contents: dict[str, dict[str, Any]] = {
        "train/first": {"config.json": {"data": "mnist"}, "result.json": {"test_accuracy": 0.5, "seed": 1}},
        "pretrain/second": {"config.json": {"data": "cifar"}},
        "rank/third": {"config.json": {"archs": ["fifty"]}, "result.json": {"rows": []}},
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
    assert third["best"] is None
    assert "not an object but list" in broken["state"]


def test_no_runs_are_said_to_be_none(tmp_path: Path, capsys: Any) -> None:
    assert main(["list", "runs", "--runs", str(tmp_path / "nothing")]) == 0
    assert "there are none" in capsys.readouterr().out
