"""Law over all checks: the module that a finding names stands in a network that was trained."""

from pathlib import Path

import pytest
import torch

from vitruvius import checks
from vitruvius.checks import Finding, Trace, holding, named
from vitruvius.core import plugins
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

KNOWN = {
    "accumulation_norm": "1",
    "eval_mode_in_train": "1",
    "train_mode_in_eval": "1",
    "symmetric_init": "0",
    "vanishing": "",
}
"""What some checks must say of their sick miniature; empty: any module."""


def traced(name: str, folder: Path) -> Trace:
    """What the sick miniature of a check does."""
    source, watcher = plugins.module("checks", name).SICK, Watcher()
    (folder / "sick.py").write_text(source)
    with torch.random.fork_rng(devices=[]), installed(watcher):
        torch.manual_seed(1)
        exec(compile(source, str(folder / "sick.py"), "exec"), {"__name__": "__main__"})
    return watcher.finish()


def is_lost(finding: Finding, trace: Trace) -> bool:
    names = {name for example in trace.examples for name, _ in example.model.named_modules() if name}
    return finding.module is not None and finding.module not in names


@pytest.mark.parametrize("name", plugins.members("checks"))
def test_a_named_module_stands_in_a_network(name: str, tmp_path: Path) -> None:
    trace = traced(name, tmp_path)
    findings = list(checks.get(name)(trace))
    assert not any(is_lost(finding, trace) for finding in findings)
    if name in KNOWN:
        assert findings[0].module
        assert findings[0].module.startswith(KNOWN[name])
    assert is_lost(findings[0].model_copy(update={"module": "nowhere"}), trace)


def test_a_class_or_a_phrase_is_no_module(tmp_path: Path) -> None:
    trace = traced("accumulation_norm", tmp_path)
    assert [named(trace, path) for path in ("1", "BatchNorm1d", "the input", "")] == ["1", None, None, None]


def test_parameters_of_no_network_are_held_by_no_module() -> None:
    assert holding(["head.weight", "head.bias"]) == "head"
    assert holding(["head.weight", ""]) is None
    assert holding([]) is None
