"""az_expressivity is the entropy of the tokens' principal components, over all residual outputs."""

import numpy as np
import pytest
import torch
from torch import Tensor

from vitruvius import proxies
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import EncoderLayer, ViT


def entropy(tokens_BND: Tensor) -> float:
    values = np.linalg.eigvalsh(np.cov(tokens_BND.detach().reshape(-1, tokens_BND.shape[-1]).numpy().T))
    shares = values / values.sum()
    return -sum(share * np.log(share) for share in shares)


def test_it_is_the_sum_of_entropies_over_two_steps_per_layer(model: ViT, x: Tensor, y: Tensor) -> None:
    expected = 0.0
    tokens = model.embed(x)
    for layer in model.layers:
        assert isinstance(layer, EncoderLayer)
        tokens = tokens + layer.attention(layer.norm1(tokens))
        expected += entropy(tokens)
        tokens = tokens + layer.mlp(layer.norm2(tokens))
        expected += entropy(tokens)
    assert proxies.get("az_expressivity")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)


def test_fewer_tokens_than_channels_have_the_same_components(model: ViT, x: Tensor, y: Tensor) -> None:
    once = proxies.one_pass(model, x[:1], y[:1])
    outputs = [step.output.detach().reshape(-1, 6) for step in once.activations.residual]
    expected = 0.0
    for tokens in outputs:
        values = (torch.linalg.svdvals(tokens - tokens.mean(0)) ** 2)[:-1]
        expected += torch.special.entr(values / values.sum()).sum().item()
    assert len(outputs) == 4
    assert proxies.get("az_expressivity")(once) == pytest.approx(expected, rel=1e-8)


def test_a_network_without_residual_steps_is_refused() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
    with pytest.raises(UserError, match="no residual steps"):
        proxies.get("az_expressivity")(proxies.one_pass(model, torch.ones(1, 1, 2, 2), torch.tensor([0])))
