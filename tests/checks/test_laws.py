"""Laws over all checks: each fires on its sick program at the guilty line, and is silent on the healthy."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from vitruvius import checks
from vitruvius.checks import Backward, Finding, Trace
from vitruvius.core import plugins
from vitruvius.doctor import diagnose
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

NAMES = tuple(plugins.members("checks"))


def traced(source: str, path: Path) -> Trace:
    """What a program does."""
    path.write_text(source)
    watcher = Watcher()
    with torch.random.fork_rng(devices=[]), installed(watcher):
        torch.manual_seed(1)
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    return watcher.finish()


def findings(trace: Trace, names: tuple[str, ...]) -> tuple[Finding, ...]:
    with torch.random.fork_rng(devices=[]):
        result = diagnose.examine(trace, names)
    assert result.skipped == ()
    return result.findings


def marked(source: str, path: Path) -> str:
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "# here" in text)
    return f"{path}:{line}"


@pytest.mark.parametrize("name", NAMES)
def test_a_check_fires_on_its_sick_miniature_and_only_it_does(name: str, tmp_path: Path) -> None:
    source = plugins.module("checks", name).SICK
    trace = traced(source, tmp_path / "sick.py")
    fired = [finding for finding in findings(trace, NAMES) if finding.bug == name]
    assert [finding.where for finding in fired] == [marked(source, tmp_path / "sick.py")]
    others = findings(trace, tuple(other for other in NAMES if other != name))
    if fired[0].severity != "info":
        assert [finding.bug for finding in others if finding.severity != "info"] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_check_is_silent_on_its_healthy_miniature(name: str, tmp_path: Path) -> None:
    trace = traced(plugins.module("checks", name).HEALTHY, tmp_path / "healthy.py")
    assert trace.of(Backward)
    found = findings(trace, NAMES)
    assert [(finding.bug, finding.evidence) for finding in found if finding.severity != "info"] == []
    assert name not in [finding.bug for finding in found]


@pytest.mark.parametrize("name", NAMES)
def test_a_check_says_what_and_a_heuristic_is_no_error(name: str, tmp_path: Path) -> None:
    trace = traced(plugins.module("checks", name).SICK, tmp_path / "sick.py")
    for finding in checks.get(name)(trace):
        assert finding.evidence
        assert finding.why
        assert finding.fix
        assert finding.confidence == "exact" or finding.severity != "error"
        assert not set(finding.explains) - set(NAMES)


def complaints(check: checks.Check, sick: Trace, healthy: Trace, line: str) -> list[str]:
    """What the laws have against a check."""
    found = [] if line in [finding.where for finding in check(sick)] else ["silent on the sick"]
    return found + ["cries on the healthy"] * any(check(healthy))


def test_the_laws_catch_a_check_that_cries_always_and_one_that_never_does(tmp_path: Path) -> None:
    def always(trace: Trace) -> Iterator[Finding]:
        yield Finding(where=trace.of(Backward)[0].where, evidence="e", why="w", fix="f")

    def never(trace: Trace) -> Iterator[Finding]:
        yield from ()

    member = plugins.module("checks", "zero_grad")
    line = marked(member.SICK, tmp_path / "a.py")
    sick, healthy = traced(member.SICK, tmp_path / "a.py"), traced(member.HEALTHY, tmp_path / "b.py")
    assert complaints(member.zero_grad, sick, healthy, line) == []
    assert complaints(always, sick, healthy, line) == ["cries on the healthy"]
    assert complaints(never, sick, healthy, line) == ["silent on the sick"]


def test_at_least_thirty_bugs_are_known() -> None:
    assert len(NAMES) >= 30
