"""Programs in the styles of public repositories: bugs are named where they are made, and only bugs."""

from pathlib import Path

import pytest
import torch

from tests.checks.programs import TOOLS
from tests.checks.public_healthy import HEALTHY
from tests.checks.public_sick import SICK
from vitruvius.checks import Finding
from vitruvius.doctor import diagnose

HEAD = """
import copy, math
import numpy as np
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split
torch.manual_seed(0)
"""


def findings(source: str, path: Path) -> tuple[Finding, ...]:
    """What is found in a program, which its bug may stop."""
    path.write_text(source)
    report = None
    with torch.random.fork_rng(devices=[]):
        try:
            with diagnose.watch() as report:
                exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
        except (RuntimeError, ValueError, IndexError, AssertionError):
            assert "# here" in source
    assert report is not None
    return report.findings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("style", "bug"), SICK)
def test_a_bug_is_named_where_it_is_made(style: str, bug: str, tmp_path: Path) -> None:
    source, path = TOOLS + HEAD + SICK[style, bug], tmp_path / "sick.py"
    found = findings(source, path)
    marked = [number for number, line in enumerate(source.splitlines(), 1) if "# here" in line]
    lines = [f"{path}:{number}" for number in marked]
    assert [f for f in found if f.bug == bug and f.where in lines], [(f.bug, f.where) for f in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("style", HEALTHY)
def test_a_right_program_is_not_accused(style: str, tmp_path: Path) -> None:
    found = findings(TOOLS + HEAD + HEALTHY[style], tmp_path / "healthy.py")
    assert [(f.bug, f.where, f.evidence) for f in found if f.severity != "info"] == []
