"""Presets with their costs, predicted milliseconds on a calibrated machine, networks of a table."""

import json
from pathlib import Path
from typing import Any

import pytest

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.cli import main
from vitruvius.measuring import prices
from vitruvius.measuring.prices import PriceList
from vitruvius.render import text
from vitruvius.verbs import list as list_verb


def presets() -> list_verb.Result:
    *_, result = list_verb.run(list_verb.Config(family="presets"))
    assert isinstance(result, list_verb.Result)
    return result


def test_without_a_price_list_memory_is_told_and_no_time() -> None:
    result = presets()
    arch = tables.presets()["mnist"].arch
    found = {preset.name: preset for preset in result.presets}["mnist"]
    assert found.peak_bytes == cost.cost(arch).training_bytes(64)
    assert found.predicted_ms is None
    shown = text.plain(result.view())
    assert "peak MiB: a training step with 64 images" in " ".join(shown.split())
    assert "predicted" not in shown


def test_with_a_price_list_milliseconds_are_predicted_with_their_error(capsys: Any) -> None:
    fields: Any = {"device": "cpu", "threads": 1, "is_busy": False, "networks": 30, "batch": (1,)}
    per_unit = dict.fromkeys(prices.QUANTITIES, 0.0) | {"call": 0.5, "layers": 0.25}
    made = PriceList(**fields, machine=prices.fingerprint(), prices=per_unit, error=0.083, date="2026-11-16")
    prices.keep(made)
    result = presets()
    for preset in result.presets:
        arch = tables.presets()[preset.name].arch
        assert preset.predicted_ms == pytest.approx(0.5 + 0.25 * arch.depth)
    shown = " ".join(text.plain(result.view()).split())
    assert "predicted ms: of one image on this machine, within 8 % (median)" in shown
    assert main(["list", "presets"]) == 0
    assert "predicted ms" in " ".join(capsys.readouterr().out.split())


def test_every_field_of_the_fifty_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "networks", "fifty"]) == 0
    shown = capsys.readouterr().out
    assert "n50" in shown
    assert "fashion_mnist" in shown
    for field in Arch.model_fields:
        assert field in shown
    assert main(["list", "networks", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["networks"]
    assert len(found) == 50
    assert set(found[0]["fields"]) == set(Arch.model_fields)


def test_a_table_of_ones_own_and_what_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nets.json").write_text('[{"name": "a", "arch": {"heads": [1, 2], "depth": 2}}]')
    assert main(["list", "networks", str(tmp_path / "nets.json")]) == 0
    assert "heads 1,2" in capsys.readouterr().out.replace("\n", " ")
    assert main(["list", "networks", "mnist"]) == 2
    assert "choose fifty or a FILE.json" in capsys.readouterr().err
