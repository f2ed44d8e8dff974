"""In pytest a test with a proven training bug fails, at the line of the bug, and a healthy one passes."""

import importlib
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from vitruvius.doctor import pytest_plugin

TESTS = """
import pytest, torch

def train(zero=True, steps=6):
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(steps):
        if zero:
            optimizer.zero_grad()
        x = torch.randn(8, 3)
        (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
    return net

def test_unwatched():
    train(zero=False)

@pytest.mark.vitruvius_watch
def test_sick():
    train(zero=False)

@pytest.mark.vitruvius_watch
def test_healthy():
    train()

@pytest.mark.vitruvius_watch
def test_wrong_and_sick():
    train(zero=False)
    assert False, "its own failure"

def test_block(watched):
    with watched() as report:
        train()
    assert report.result.steps == 6
    with watched(steps=3) as report:
        train(zero=False)

@pytest.mark.vitruvius_watch
def test_block_inside(watched):
    with watched():
        train()
    train(zero=False)

@pytest.mark.vitruvius_watch(fail_on="eror")
def test_misspelt():
    pass
"""
LINE = next(number for number, line in enumerate(TESTS.splitlines(), 1) if ".backward()" in line)
EXPECTED = {
    "test_unwatched": "passed",
    "test_sick": "failed",
    "test_healthy": "passed",
    "test_wrong_and_sick": "failed",
    "test_block": "failed",
    "test_block_inside": "failed",
    "test_misspelt": "failed",
}


class Reports:
    """Collects what became of each test and what is told about it."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            name = report.nodeid.rpartition(":")[2]
            self.outcomes[name] = report.outcome
            sections = (text for title, text in report.sections if "vitruvius" in title)
            self.texts[name] = "\n".join([report.longreprtext, *sections])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Reports]:
    """Runs pytest inside pytest: not by pytester, which unloads modules, and torch cannot be loaded twice."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.chdir(tmp_path)
    Path("pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib --strict-markers\n")
    Path("test_training.py").write_text(TESTS)

    def run(*words: str) -> Reports:
        reports = Reports()
        pytest.main(["-p", "no:cacheprovider", "-q", *words], plugins=[pytest_plugin, reports])
        return reports

    return run


def test_marked_tests_and_watched_blocks_fail_by_proven_bugs(run: Callable[..., Reports]) -> None:
    reports = run()
    assert reports.outcomes == EXPECTED
    for name in ("test_sick", "test_wrong_and_sick", "test_block", "test_block_inside"):
        assert f"test_training.py:{LINE}: error: zero_grad (exact)" in reports.texts[name]
        assert ".zero_grad()" in reports.texts[name].partition("  +      | ")[2].partition("\n")[0]
    assert "its own failure" in reports.texts["test_wrong_and_sick"]
    assert "takes fail_on='error' or fail_on='warning', not fail_on='eror'" in reports.texts["test_misspelt"]


def test_every_test_can_be_watched(run: Callable[..., Reports]) -> None:
    reports = run("--vitruvius-watch", "-k", "unwatched or healthy")
    assert reports.outcomes == {"test_unwatched": "failed", "test_healthy": "passed"}


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    plugin = importlib.import_module(project["entry-points"]["pytest11"]["vitruvius"])
    assert plugin.watched
