r"""Sensitivity of the features to a perturbed image under Gaussian weights (Zen-NAS, Lin et al. 2021).

$\log \mathrm{E}_x \|f(x) - f(x + 0.01\,\epsilon)\|_1$ with $\epsilon \sim N(0, 1)$ and $f$ the input of the
last linear map (the head). Weights of linear maps, convolutions and attention projections are drawn from
$N(0, 1)$, their biases are 0, normalisations are 1 and 0; class token and positions stay. Public code resets
BatchNorm and forgets LayerNorm.
"""

import torch
from torch import Generator, Tensor, nn

from vitruvius.proxies import OnePass, _layers, _passes, _preserve
from vitruvius.proxies._activations import Activations

STEP = 0.01


def zen(once: OnePass) -> float:
    """Two forward passes on a copy; its weights and then the perturbation are drawn from the seed."""
    random = once.generator()
    copy = once.fresh_copy()
    with _preserve.preserved(copy, once.seed), torch.no_grad():
        _draw(copy, random)
        step = torch.randn(once.x.shape, generator=random, dtype=once.x.dtype).to(once.x)
        change = _features(copy, once.x) - _features(copy, once.x + STEP * step)
    return change.flatten(1).abs().sum(1).mean().log().item()


def _draw(copy: nn.Module, random: Generator) -> None:
    for module in copy.modules():
        if isinstance(module, _layers.NORM):
            module.reset_parameters()
        for name, parameter in module.named_parameters(recurse=False):
            if isinstance(module, _layers.WITH_MATRICES) and "bias" in name:
                parameter.zero_()
    for weight in _layers.matrices(copy).values():
        weight.copy_(torch.randn(weight.shape, generator=random, dtype=weight.dtype))


def _features(copy: nn.Module, x: Tensor) -> Tensor:
    with Activations() as seen:
        _passes.class_scores(copy, x)
    return seen.features
