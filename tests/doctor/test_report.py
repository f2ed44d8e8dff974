"""A diagnosis that is kept has the source lines as they were."""

from pathlib import Path
from typing import Any

import pytest

from vitruvius.cli import main
from vitruvius.core import files

SCRIPT = """import torch
w = torch.ones(2, requires_grad=True)
optimiser = torch.optim.SGD([w], lr=0.1)
for _ in range(6):
    (w * w).sum().backward()
    optimiser.step()
"""


def test_findings_are_kept_with_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sick.py").write_text(SCRIPT)
    assert main(["doctor", "run", "--name", "kept", "sick.py"]) == 1
    folder = tmp_path / "runs" / "doctor" / "kept"
    quoted = [line for line in files.read_lines(folder / "records.jsonl") if line["kind"] == "quoted"]
    assert any(">    5 |     (w * w).sum().backward()" in line["source"] for line in quoted)
    result = files.read_json(folder / "result.json")
    assert "zero_grad" in [finding["bug"] for finding in result["findings"]]
    assert "optimiser.step()" in (folder / "report.html").read_text()
    assert main(["doctor", "run", "--name", "kept", "sick.py"]) == 2
    assert "exists" in capsys.readouterr().err


def test_without_a_name_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sick.py").write_text(SCRIPT)
    assert main(["doctor", "run", "sick.py"]) == 1
    assert not Path("runs").exists()
