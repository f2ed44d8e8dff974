"""key_confidence is the mean largest attention weight, summed over layers."""

import numpy as np
import pytest
from torch import Tensor

from vitruvius import proxies
from vitruvius.nn.vit import EncoderLayer, ViT


def test_it_is_the_mean_of_each_rows_largest_weight(model: ViT, x: Tensor, y: Tensor) -> None:
    expected = 0.0
    tokens = model.embed(x)
    for layer in model.layers:
        assert isinstance(layer, EncoderLayer)
        normed = layer.norm1(tokens).detach().numpy()
        weight, bias = layer.attention.qkv.weight.detach().numpy(), layer.attention.qkv.bias.detach().numpy()
        largest = []
        for image in normed:
            queries, keys = (image @ weight[part].T + bias[part] for part in (slice(0, 6), slice(6, 12)))
            for head in (slice(0, 3), slice(3, 6)):
                for query in queries[:, head]:
                    likes = np.exp(keys[:, head] @ query / np.sqrt(3))
                    largest.append((likes / likes.sum()).max())
        expected += float(np.mean(largest))
        tokens = layer(tokens)
    assert proxies.get("key_confidence")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)
