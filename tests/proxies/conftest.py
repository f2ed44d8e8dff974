"""A small ViT and a minibatch in float64, and derivatives in forward mode, which no proxy uses."""

import warnings
from collections.abc import Callable
from typing import TypeAlias

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, jacfwd

from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import ViT, build

with warnings.catch_warnings():  # torch warns of itself when forward mode is first used
    warnings.simplefilter("ignore", DeprecationWarning)
    import torch._decomp.decompositions_for_jvp

Values: TypeAlias = dict[str, Tensor]


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds for zen's 32 draws holds for two."""
    monkeypatch.setattr("vitruvius.proxies.zen.DRAWS", 2)


@pytest.fixture
def model() -> ViT:
    arch = Arch(image=8, channels=2, classes=3, patch=4, width=6, depth=2, heads=2, mlp=(7, 9), qkv_bias=True)
    return build(arch, seed=5).double()


@pytest.fixture
def x() -> Tensor:
    return torch.randn(5, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def y() -> Tensor:
    return torch.tensor([0, 2, 1, 1, 0])


@pytest.fixture
def values(model: ViT) -> Values:
    """The parameters of the model as plain tensors."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


@pytest.fixture
def matrices(values: Values) -> list[str]:
    """The names of the model's linear weights."""
    return [name for name, value in values.items() if value.dim() == 2]


@pytest.fixture
def loss(model: ViT) -> Callable[[Values, Tensor, Tensor], Tensor]:
    """The mean cross-entropy, written out, as a function of parameters, images and labels."""

    def compute(values: Values, x: Tensor, y: Tensor) -> Tensor:
        scores = functional_call(model, values, (x,))
        chosen = torch.stack([row[label] for row, label in zip(scores, y.tolist(), strict=True)])
        return (scores.exp().sum(1).log() - chosen).mean()

    return compute


@pytest.fixture
def slopes() -> Callable[[Callable[[Values], Tensor], Values], Values]:
    """The derivatives of a function in every number of its arguments, one direction at a time, forwards."""

    def compute(function: Callable[[Values], Tensor], at: Values) -> Values:
        return jacfwd(function)(at)

    return compute


@pytest.fixture
def gradient(
    values: Values,
    x: Tensor,
    y: Tensor,
    loss: Callable[[Values, Tensor, Tensor], Tensor],
    slopes: Callable[[Callable[[Values], Tensor], Values], Values],
) -> Values:
    """The slope of the minibatch's loss in every parameter."""
    return slopes(lambda at: loss(at, x, y), values)


@pytest.fixture
def flow(
    model: ViT,
    values: Values,
    matrices: list[str],
    slopes: Callable[[Callable[[Values], Tensor], Values], Values],
) -> tuple[Values, Values]:
    """Absolute linear weights, and the slopes in them of the sum of the scores of an image of ones."""
    absolute = {name: value.abs() for name, value in values.items()}
    ones = torch.ones(1, 2, 8, 8, dtype=torch.float64)
    linear = {name: absolute[name] for name in matrices}
    return linear, slopes(lambda at: functional_call(model, {**absolute, **at}, (ones,)).sum(), linear)
