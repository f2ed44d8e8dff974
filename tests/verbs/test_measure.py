"""`measure` writes table, CSV, JSON and picture, says when the machine is busy, and refuses bad input."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from vitruvius.arch.arch import Arch
from vitruvius.cli import main
from vitruvius.core import files, run_list
from vitruvius.core.blocks import Table
from vitruvius.measuring import calibrate, load, prices
from vitruvius.measuring.results import Result
from vitruvius.render import text

SIZES = {"depth": 1, "width": 8, "heads": 2, "mlp": 8}


@pytest.fixture
def networks(tmp_path: Path) -> str:
    rows = [{"name": f"net{width}", "arch": {**SIZES, "width": width}} for width in (8, 16)]
    files.write_json(tmp_path / "nets.json", rows)
    return str(tmp_path / "nets.json")


def run(tmp_path: Path, *words: str) -> int:
    return main(["measure", *words, "--repeats", "3", "--name", "m", "--runs", str(tmp_path / "runs")])


@pytest.mark.parametrize(("before", "meanwhile"), [(0.1, 0.2), (3.0, 0.2), (0.1, 1.5), (None, None)])
@pytest.mark.usefixtures("pictures")
def test_a_measurement_is_written_with_the_machine_and_its_load(
    tmp_path: Path, networks: str, before: Any, meanwhile: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(load, "average", lambda: before)
    monkeypatch.setattr(load.Others, "cores", lambda _: meanwhile)
    assert run(tmp_path, networks, "--batch", "1,4", "--json") == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert [(row["name"], row["batch"]) for row in result["rows"]] == [
        (name, batch) for name in ("net8", "net16") for batch in (1, 4)
    ]
    is_busy = before == 3.0 or meanwhile == 1.5
    assert result["machine"]["is_busy"] == is_busy
    assert (result["machine"]["load"], result["machine"]["others"]) == (before, meanwhile)
    assert ("the machine is busy (load 3.0)" in captured.err) == (before == 3.0)
    shown = text.plain(Result(**result).view())
    (table,) = (block for block in Result(**result).view() if isinstance(block, Table))
    assert ("smallest to largest call" in table.columns) == is_busy
    assert ("cores used by others meanwhile" in shown) == is_busy
    assert result["machine"]["threads"] == result["machine"]["versions"]["threads"]
    folder = tmp_path / "runs" / "measure" / "m"
    assert run_list.read(folder).seconds == result["seconds"] > 0  # type: ignore[union-attr]
    assert files.read_json(folder / "result.json") == result
    rows = list(csv.DictReader((folder / "measure.csv").read_text().splitlines()))
    assert [float(row["median_ms"]) for row in rows] == [row["median_ms"] for row in result["rows"]]
    assert (folder / "latency.png").stat().st_size > 1000


def test_a_run_is_measured_by_its_name(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "runs" / "train" / "mine"
    folder.mkdir(parents=True)
    files.write_json(folder / "config.json", {})
    files.write_json(folder / "model.json", {"arch": Arch(**SIZES).model_dump(mode="json")})
    assert run(tmp_path, "mine", "--batch", "2", "--training", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "mine"
    assert row["peak_bytes"] > 4 * 4 * row["params"]


def test_onnx_stands_beside_torch(tmp_path: Path, networks: str, capsys: Any) -> None:
    files.write_json(Path(networks), {**SIZES, "kernel": "softmax"})
    assert run(tmp_path, networks, "--batch", "2", "--runtime", "torch,onnx", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["runtime"], row["peak_bytes"] is None) for row in rows] == [("torch", False), ("onnx", True)]


def test_a_network_that_cannot_be_converted_gives_exit_code_1(
    tmp_path: Path, networks: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("step 2 failed. Next steps:\n- report it") from ValueError("no such operator")

    monkeypatch.setattr(torch.onnx, "export", broken)
    files.write_json(Path(networks), {**SIZES, "kernel": "linear"})
    assert run(tmp_path, networks, "--batch", "2", "--runtime", "onnx") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "torch cannot convert a network with the kernel linear: no such operator" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mnst"], "no network 'mnst': did you mean 'mnist'?"),
        (["mnist", "mnist"], "mnist: two networks of this name"),
        (["mnist", "--batch", "0"], "choose sizes from 1 to 65,536"),
        (["mnist", "--runtime", "tflite"], "no runtime 'tflite'"),
        (["mnist", "--runtime", "onnx", "--training"], "onnxruntime does not train"),
        (["mnist", "--runtime", "onnx", "--device", "cuda"], "onnx is measured on the CPU"),
        (["large.json"], "large: a network of"),
        (["vit_base_patch16_224", "--batch", "65536"], "--batch 65536 does not fit: it needs at least"),
        (["mnist", "--calibrate"], "--calibrate: times networks of its own; leave out mnist"),
        (["--calibrate", "--training"], "prices are those of inference"),
        (["--calibrate", "--runtime", "onnx"], "prices are those of torch; leave out --runtime onnx"),
    ],
)
def test_bad_input_is_refused_before_there_is_a_folder(
    tmp_path: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    files.write_json(Path("large.json"), {"width": 2**17, "depth": 4096, "mlp": 2**20, "heads": 1})
    assert run(tmp_path, *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_no_onnx_installed_names_the_extra_before_there_is_a_folder(
    tmp_path: Path, networks: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert run(tmp_path, networks, "--runtime", "torch,onnx") == 2
    assert "--runtime onnx needs the package onnx: pip install 'vitruvius[export]'" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_calibration_stores_prices_that_predict_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    few = calibrate.networks()[:4]
    monkeypatch.setattr(calibrate, "networks", lambda: few)
    assert run(tmp_path, "--calibrate", "--batch", "1,2", "--json") == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["prices"]["networks"] == 4
    assert result["prices"]["threads"] == result["machine"]["threads"]
    assert prices.prediction_error() == result["prices"]["error"]
    assert (prices.predicted_ms(Arch(**SIZES)) or 0) > 0
    assert str(prices.location()) in captured.err
