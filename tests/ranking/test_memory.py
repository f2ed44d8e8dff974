"""The memory of any module's training step is what the closed form says of the same ViT."""

import pytest
import torch
from torch import nn

from vitruvius import proxies
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import build
from vitruvius.ranking import memory


@pytest.mark.parametrize("head_dim", [8, 64])
def test_a_vit_needs_what_its_closed_form_says(head_dim: int) -> None:
    arch = Arch(image=28, patch=7, width=64, depth=2, heads=2, head_dim=head_dim, mlp=96)
    x, y = torch.randn(16, 1, 28, 28), torch.zeros(16, dtype=torch.long)
    found = memory.training_bytes(proxies.one_pass(build(arch, 0), x, y))
    assert found == pytest.approx(cost.cost(arch).training_bytes(16), rel=0.02)


def test_a_network_that_cannot_run_has_none() -> None:
    once = proxies.one_pass(nn.Linear(3, 2), torch.ones(1, 1, 2, 2), torch.tensor([0]))
    assert memory.training_bytes(once) is None
