"""Numbers drawn from a seed are always the same and leave every generator alone."""

from typing import Any

import pytest
import torch
from torch import nn

from vitruvius.arch.arch import Arch
from vitruvius.checks import Example
from vitruvius.checks._experiment import Specimen
from vitruvius.nn import autoencoder, vit
from vitruvius.nn.seeding import torch_seeded

X = torch.ones(2, 2)


def test_the_same_seed_draws_what_torch_would_and_the_callers_numbers_go_on() -> None:
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    with torch_seeded(3):
        assert torch.equal(torch.rand(5), expected)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_generators_are_restored_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), torch_seeded(3):
        torch.rand(5).view(7)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_device_that_is_in_use_is_seeded_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: ("state of", device))
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: calls.append((state, device)))
    monkeypatch.setattr(torch.cuda, "manual_seed_all", calls.append)
    with torch_seeded(3):
        assert calls == [3]
    assert len(calls) == 2
    assert calls[1][0][0] == "state of"


@pytest.mark.parametrize(
    "draw",
    [
        lambda: vit.build(Arch(depth=1), seed=1),
        lambda: autoencoder.build(4, (2,), "relu", seed=1),
        lambda: Specimen(Example(nn.Linear(2, 1), (X,), {}, "a.py:1")).output(X),
    ],
    ids=["network", "autoencoder", "experiment of the doctor"],
)
def test_nothing_seeds_the_devices_of_the_user(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(seed: int) -> None:
        raise AssertionError("a device was seeded and is not restored")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", refuse)
    draw()
