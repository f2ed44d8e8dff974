"""The memory of any module's training step is what the closed form says of the same ViT."""

from pathlib import Path

import pytest
import torch
from torch import nn

from vitruvius import proxies
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import build
from vitruvius.ranking import memory, score, session
from vitruvius.ranking.settings import Config


@pytest.mark.parametrize("head_dim", [8, 64])
def test_a_vit_needs_what_its_closed_form_says(head_dim: int) -> None:
    arch = Arch(image=28, patch=7, width=64, depth=2, heads=2, head_dim=head_dim, mlp=96)
    x, y = torch.randn(16, 1, 28, 28), torch.zeros(16, dtype=torch.long)
    found = memory.training_bytes(proxies.one_pass(build(arch, 0), x, y))
    assert found == pytest.approx(cost.cost(arch).training_bytes(16), rel=0.02)


def test_a_network_that_cannot_run_has_none() -> None:
    once = proxies.one_pass(nn.Linear(3, 2), torch.ones(1, 1, 2, 2), torch.tensor([0]))
    assert memory.training_bytes(once) is None


def test_minibatches_of_many_seeds_are_refused_before_one_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "minibatch", lambda *_: pytest.fail("a minibatch was drawn"))
    monkeypatch.setattr(cost, "memory_bytes", lambda: 2**30)
    networks = tmp_path / "table.json"
    sizes = {"patch": 4, "width": 8, "depth": 1, "heads": 1, "mlp": 8}
    files.write_json(networks, [{"arch": sizes}])
    many = Config(archs=(str(networks),), data="noise", batch=200, seeds=1000)
    with pytest.raises(UserError, match="1,000 seeds with minibatches of 200 images would take 2.3 GiB"):
        session.prepare(many)
    few = many.model_copy(update={"seeds": 300, "spread": "processes", "workers": 4})
    with pytest.raises(UserError, match="in each of 5 processes would take 3.4 GiB"):
        session.prepare(few)
