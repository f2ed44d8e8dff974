"""Listing the networks of a table: every field is shown, the fields that all share once."""

import json
from pathlib import Path

import pytest

from vitruvius.arch.arch import Arch
from vitruvius.cli import main


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
