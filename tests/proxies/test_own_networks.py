"""Users' networks are scored by role: a ViT of PyTorch's modules, a convolutional one, a plain MLP."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from vitruvius import proxies
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import EncoderLayer, ViT, patches

pytestmark = pytest.mark.usefixtures("few_draws")


class Twin(nn.Module):
    """The same network as a ViT of ours, put together from PyTorch's own encoder layers."""

    def __init__(self, ours: ViT, batch_first: bool = True) -> None:
        super().__init__()
        self.batch_first = batch_first
        self.embedding = nn.Linear(32, 6)
        self.cls = nn.Parameter(torch.empty(1, 1, 6))
        self.places = nn.Parameter(torch.empty(1, 5, 6))
        block = partial(
            nn.TransformerEncoderLayer, 6, 2, norm_first=True, activation="gelu", layer_norm_eps=1e-6
        )
        self.blocks = nn.ModuleList(block(dim_feedforward=mlp, batch_first=batch_first) for mlp in (7, 9))
        self.last_norm = nn.LayerNorm(6, eps=1e-6)
        self.classes = nn.Linear(6, 3)
        self.double()
        self.copy(ours)

    @torch.no_grad()
    def copy(self, ours: ViT) -> None:
        assert ours.class_token is not None
        assert ours.positions is not None
        self.cls.copy_(ours.class_token)
        self.places.copy_(ours.positions)
        pairs: list[tuple[nn.Module, nn.Module]] = [
            (self.embedding, ours.patch_map),
            (self.last_norm, ours.norm),
            (self.classes, ours.head),
        ]
        for block, layer in zip(self.blocks, ours.layers, strict=True):
            assert isinstance(block, nn.TransformerEncoderLayer)
            assert isinstance(layer, EncoderLayer)
            block.self_attn.in_proj_weight.copy_(layer.attention.qkv.weight)
            block.self_attn.in_proj_bias.copy_(layer.attention.qkv.bias)
            pairs += [(block.self_attn.out_proj, layer.attention.out), (block.norm1, layer.norm1)]
            pairs += [
                (block.norm2, layer.norm2),
                (block.linear1, layer.mlp[0]),
                (block.linear2, layer.mlp[3]),
            ]
        for theirs, mine in pairs:
            theirs.load_state_dict(mine.state_dict())

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.embedding(patches(x, 4))
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), tokens], 1) + self.places
        tokens = tokens if self.batch_first else tokens.transpose(0, 1)
        for block in self.blocks:
            tokens = block(tokens)
        first = tokens[:, 0] if self.batch_first else tokens[0]
        return self.classes(self.last_norm(first))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("name", sorted(plugins.members("proxies").keys() - {"fisher", "az_trainability"}))
def test_a_network_scores_the_same_whoever_wrote_its_modules(
    model: ViT, x: Tensor, y: Tensor, name: str, batch_first: bool
) -> None:
    x, y = x[:4], y[:4]  # images are not as many as tokens, which would make their order ambiguous
    ours = proxies.get(name)(proxies.one_pass(model, x, y))
    theirs = proxies.get(name)(proxies.one_pass(Twin(model, batch_first), x, y))
    assert theirs == pytest.approx(ours, rel=1e-8)


def test_signs_of_trainability_are_drawn_in_the_order_of_tokens(model: ViT, x: Tensor, y: Tensor) -> None:
    ours, theirs = (proxies.one_pass(network, x, y) for network in (model, Twin(model)))
    az_trainability = proxies.get("az_trainability")
    assert az_trainability(theirs) == pytest.approx(az_trainability(ours), rel=1e-8)


def test_fisher_misses_only_the_projections_inside_attention(model: ViT, x: Tensor, y: Tensor) -> None:
    whole = proxies.get("fisher")(proxies.one_pass(model, x[:4], y[:4]))
    parts = [
        proxies.get("fisher")(proxies.one_pass(Twin(model, first), x[:4], y[:4])) for first in (True, False)
    ]
    assert parts[0] == pytest.approx(parts[1], rel=1e-10)
    assert 0 < parts[0] < whole


def test_hooks_on_their_attention_are_removed(model: ViT, x: Tensor, y: Tensor) -> None:
    twin = Twin(model)
    proxies.get("head_confidence")(proxies.one_pass(twin, x, y))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in twin.modules())


class ConvNet(nn.Module):
    """Convolutions, BatchNorm, activations in place and one residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.block = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return self.head(functional.relu(x + self.block(x)).mean((2, 3)))


class Perceptron(nn.Module):
    """Linear maps with functional activations."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(128, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(functional.gelu(self.first(x.flatten(1))))


LACKING = {
    ConvNet: {"dss", "head_confidence", "key_confidence", "az_progressivity", "az_trainability"},
    Perceptron: {"dss", "head_confidence", "key_confidence"}
    | {"az_expressivity", "az_progressivity", "az_trainability"},
}


@pytest.mark.parametrize("network", LACKING)
@pytest.mark.parametrize("name", plugins.members("proxies"))
def test_any_network_is_scored_or_told_what_it_lacks(
    network: type[nn.Module], name: str, x: Tensor, y: Tensor
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        once = proxies.one_pass(network().double(), x, y)
    if name in LACKING[network]:
        with pytest.raises(UserError, match="the network has no"):
            proxies.get(name)(once)
    else:
        assert math.isfinite(proxies.get(name)(once))
