"""Networks of other libraries: depth, attention and outputs are recognised by what they compute."""

import math
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.core import plugins
from vitruvius.core.errors import UserError

DEPTH, WIDTH = 3, 8

pytestmark = pytest.mark.usefixtures("few_draws")


class PlainAttention(nn.Module):
    """One map for queries, keys and values, a softmax module, an output map: as vit-pytorch has it."""

    def __init__(self, width: int, heads: int = 2, dim: int = 6) -> None:
        super().__init__()
        self.heads, self.dim = heads, dim
        self.norm, self.weigh = nn.LayerNorm(width), nn.Softmax(dim=-1)
        self.to_qkv = nn.Linear(width, 3 * heads * dim, bias=False)
        self.to_out = nn.Sequential(nn.Linear(heads * dim, width), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, self.dim)).transpose(1, 2)
            for part in self.to_qkv(self.norm(x)).chunk(3, -1)
        )
        mixed = self.weigh(q @ k.mT * self.dim**-0.5) @ v
        return self.to_out(mixed.transpose(1, 2).flatten(2))


class Plain(nn.Module):
    """Patches, encoder, mean of the tokens."""

    def __init__(self, wrap: Any = None) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, WIDTH, 4, 4)
        self.attention = nn.ModuleList(PlainAttention(WIDTH) for _ in range(DEPTH))
        mlp = (nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 12), nn.GELU(), nn.Linear(12, WIDTH))
        self.mlp = nn.Sequential(*mlp)  # shared by all layers: depth is not counted by it
        self.head = nn.Linear(WIDTH, 3)
        self.wrap = wrap

    def forward(self, x: Tensor) -> Any:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        for attention in self.attention:
            tokens = tokens + attention(tokens)
            tokens = tokens + self.mlp(tokens)
        scores = self.head(tokens.mean(1))
        return scores if self.wrap is None else self.wrap(scores)


class Output(NamedTuple):
    """A tuple of logits and something else."""

    first: Tensor
    second: None = None


class Thing:
    """An object with logits."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits


def minibatch() -> tuple[Tensor, Tensor]:
    return torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, 2] * 2)


def seeded(make: Any) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


@pytest.mark.parametrize("wrap", [Output, Thing, lambda logits: {"logits": logits, "loss": None}])
def test_scores_are_found_in_what_a_network_returns(wrap: Any) -> None:
    plain, wrapped = (proxies.one_pass(seeded(lambda w=w: Plain(w)), *minibatch()) for w in (None, wrap))
    assert proxies.get("snip")(wrapped) == proxies.get("snip")(plain)


def test_an_object_without_scores_is_refused_by_its_type() -> None:
    once = proxies.one_pass(seeded(lambda: Plain(lambda logits: Thing(None))), *minibatch())
    with pytest.raises(UserError, match=r"map 6 images to \(6, classes\) scores; this one gives NoneType"):
        proxies.get("snip")(once)


def test_depth_attention_and_projections_of_a_plain_encoder() -> None:
    model = seeded(Plain)
    once = proxies.one_pass(model, *minibatch())
    assert proxies.get("depth")(once) == DEPTH
    assert proxies.get("width_sum")(once) == DEPTH * WIDTH
    assert [weights.shape for weights in once.attention_weights] == [(6, 2, 4, 4)] * DEPTH
    assert all(torch.allclose(w.sum(-1), torch.ones(6, 2, 4)) for w in once.attention_weights)
    expected = {
        f"attention.{i}.{part}" for i in range(DEPTH) for part in ("to_qkv.weight", "to_out.0.weight")
    }
    assert set(once.flow.attention) == expected


def hugging_face() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=WIDTH,
        num_hidden_layers=DEPTH,
        num_attention_heads=2,
        intermediate_size=12,
        image_size=8,
        patch_size=4,
        num_channels=1,
        num_labels=3,
    )
    return transformers.ViTForImageClassification(config)


@pytest.mark.slow
def test_a_hugging_face_vit_is_scored_by_every_proxy() -> None:
    model = seeded(hugging_face)
    once = proxies.one_pass(model, *minibatch())
    assert proxies.get("depth")(once) == DEPTH
    assert proxies.get("width_sum")(once) == DEPTH * WIDTH
    assert [weights.shape for weights in once.attention_weights] == [(6, 2, 5, 5)] * DEPTH
    assert len(once.flow.attention) == 4 * DEPTH
    assert len(once.activations.residual) == 2 * DEPTH
    for name in plugins.members("proxies"):
        assert math.isfinite(proxies.get(name)(once)), name
