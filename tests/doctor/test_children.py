"""Processes that a script starts are watched too; one report comes out, and --json stays one document."""

import json
import os
import subprocess
import sys
from pathlib import Path

from vitruvius.checks import Finding
from vitruvius.doctor import children
from vitruvius.doctor.results import Result, Skipped

TRAIN = """
import sys, torch
import torch.multiprocessing as mp
def train(rank, weight=None):
    sys.stdout.write(f"rank {rank}\\n")  # at once: lines of two processes must not mix
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(6):
        net(torch.randn(8, 3)).square().mean().backward()  # here
        optimizer.step()
"""
STARTS = """
class Trainer(mp.Process):
    def run(self):
        train(7)
if __name__ == "__main__":
    mp.spawn(train, nprocs=2)
    processes = [mp.Process(target=train, args=(2,)), Trainer()]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
"""


def doctor(*words: str, launcher: tuple[str, ...] = ("-m", "vitruvius")) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *launcher, "doctor", "run", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ})


def test_children_are_watched_and_json_is_one_document(tmp_path: Path) -> None:
    """Two by `spawn`, one by `Process` and one by a subclass of it, with six steps each."""
    script = tmp_path / "train.py"
    script.write_text(TRAIN + STARTS)
    ran = doctor("--json", str(script))
    result = json.loads(ran.stdout)
    line = next(number for number, text in enumerate(TRAIN.splitlines(), 1) if "# here" in text)
    assert [(f["bug"], f["where"]) for f in result["findings"]] == [("zero_grad", f"{script}:{line}")]
    assert (result["steps"], ran.returncode, result["script_exit"]) == (24, 1, 0)
    assert sorted(ran.stderr.split()) == sorted(["rank"] * 4 + ["0", "1", "2", "7"])


def test_ranks_of_torchrun_report_once(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN + "import os\ntrain(os.environ['RANK'])\n")
    words = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "vitruvius")
    result = json.loads(doctor("--json", str(script), launcher=words).stdout)
    assert [f["bug"] for f in result["findings"]] == ["zero_grad"]
    assert result["steps"] == 12


def finding(bug: str, severity: str) -> Finding:
    return Finding(bug=bug, severity=severity, where="a.py:1", evidence="e", why="w", fix="f")


def test_results_of_several_processes_become_one() -> None:
    nothing = Result(skipped=(Skipped(check="frozen", why="nothing was seen"), Skipped(check="one", why="w")))
    low, high = finding("frozen", "info"), finding("zero_grad", "error")
    one = Result(findings=(low,), checked=("frozen", "zero_grad"), steps=3)
    two = Result(findings=(high, low), checked=("frozen",), steps=4)
    result = children.merged(nothing, [one, two])
    assert result.findings == (high, low)
    assert result.checked == ("frozen", "zero_grad")
    assert [skipped.check for skipped in result.skipped] == ["one"]
    assert result.steps == 7
    assert children.merged(one, []) is one
