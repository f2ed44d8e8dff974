"""Watching changes nothing: same weights, same output, same torch afterwards; a report always comes."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import vitruvius
from vitruvius.core.errors import UserError
from vitruvius.doctor import diagnose, hooks
from vitruvius.doctor.results import Skipped
from vitruvius.doctor.script import run_script

TRAINING = """
import random
import numpy
import torch
from torch import nn
torch.manual_seed(3)
x = torch.randn(96, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(144, 2)
)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
for epoch in range(10):
    for rows in torch.randperm(96).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item(), random.random() * 0, torch.rand(1).item())
print(sum(p.double().sum().item() for p in net.state_dict().values()))
"""
FORGETFUL = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(9):
    net(torch.randn(8, 3)).square().mean().backward()
    optimizer.step(){}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def test_a_watched_script_prints_and_ends_bit_for_bit_as_without(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script.write_text(TRAINING)
    alone = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    threads = torch.get_num_threads()
    result = run_script(str(script), [])
    assert torch.get_num_threads() == threads
    assert capfd.readouterr().out == alone
    assert (result.steps, result.script_exit) == (30, 0)
    assert [finding.bug for finding in result.findings if finding.severity != "info"] == []
    assert 0 < result.overhead < 1


def test_torch_is_as_it_was_even_after_an_error() -> None:
    owners = [(owner, name) for owner, name, _ in hooks._replacements()]
    before = [getattr(owner, name) for owner, name in owners]
    with pytest.raises(ZeroDivisionError), vitruvius.watch():
        raise ZeroDivisionError
    assert all(getattr(owner, name) is old for (owner, name), old in zip(owners, before, strict=True))
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks


def test_gradients_and_random_state_are_not_touched() -> None:
    torch.manual_seed(0)
    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    net(x).sum().backward()
    plain = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    state = torch.get_rng_state()
    net.zero_grad()
    with vitruvius.watch():
        net(x).sum().backward()
    assert torch.equal(state, torch.get_rng_state())
    assert all(
        torch.equal(p.grad, old) for p, old in zip(net.parameters(), plain, strict=True) if p.grad is not None
    )


def test_an_allowed_line_is_silent(script: Path) -> None:
    script.write_text(FORGETFUL.format(""))
    found = run_script(str(script), []).findings
    assert [(finding.bug, finding.where) for finding in found] == [("zero_grad", f"{script}:6")]
    script.write_text(FORGETFUL.format("  # vitruvius: allow zero_grad"))
    assert run_script(str(script), []).findings == ()
    script.write_text(FORGETFUL.format("  # vitruvius: allow frozen"))
    assert len(run_script(str(script), []).findings) == 1


def test_watching_ends_after_the_wanted_steps(script: Path) -> None:
    script.write_text(FORGETFUL.format("") + "raise SystemExit(7)\n")
    assert run_script(str(script), [], steps=4).steps == 4
    assert run_script(str(script), []).script_exit == 7


def test_a_consequence_is_not_reported_beside_its_cause() -> None:
    with vitruvius.watch() as report:
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
        for _ in range(40):
            x = torch.randn(8, 3)
            nn.functional.mse_loss(net(x), x[:, :1]).backward()
            optimizer.step()
    assert [finding.bug for finding in report.findings] == ["zero_grad"]


def test_a_network_that_cannot_be_copied_is_said_so() -> None:
    class Stubborn(nn.Linear):
        def __deepcopy__(self, memo: object) -> None:
            raise TypeError("no copies")

    result = diagnose.examine_model(lambda: (Stubborn(2, 2), torch.mean, (torch.ones(2, 2),)), "mine")
    assert Skipped(check="mixed_rows", why="TypeError: no copies") in result.skipped
    assert "zero_grad" in result.checked


def test_what_a_factory_must_return_is_said() -> None:
    with pytest.raises(UserError, match="mine: must return"):
        diagnose.examine_model(lambda: 3, "mine")


def test_no_hook_is_left_behind() -> None:
    from torch.nn.modules import module

    with diagnose.watch():
        pass
    assert not module._has_any_global_hook()
