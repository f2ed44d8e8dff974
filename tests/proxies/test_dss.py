"""dss multiplies nuclear norms for attention and adds the synaptic flow of all other weights."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.core.errors import UserError


def test_it_is_nuclear_norms_and_flow_by_role(
    model: nn.Module, x: Tensor, y: Tensor, flow: tuple[dict[str, Tensor], dict[str, Tensor]]
) -> None:
    weights, slopes = flow
    diversity, saliency = 0.0, 0.0
    for layer in range(2):
        for part in ("attention.qkv", "attention.out"):
            name = f"layers.{layer}.{part}.weight"
            diversity += float(np.linalg.norm(weights[name], "nuc") * np.linalg.norm(slopes[name], "nuc"))
        for part in ("mlp.0", "mlp.3"):
            name = f"layers.{layer}.{part}.weight"
            saliency += float(np.abs(weights[name].numpy() * slopes[name].numpy()).sum())
    for name in ("patch_map.weight", "head.weight"):
        saliency += float(np.abs(weights[name].numpy() * slopes[name].numpy()).sum())
    assert proxies.get("dss")(proxies.one_pass(model, x, y)) == pytest.approx(diversity + saliency, rel=1e-10)


def test_a_network_without_attention_is_refused() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    once = proxies.one_pass(model, torch.ones(1, 1, 2, 2), torch.tensor([0]))
    with pytest.raises(UserError, match="no attention"):
        proxies.get("dss")(once)
