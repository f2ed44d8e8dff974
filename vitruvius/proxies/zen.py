r"""Sensitivity of the features to a perturbed image under Gaussian weights (Zen-NAS, Lin et al. 2021).

The mean over 32 draws of $\log \mathrm{E}_x \|f(x) - f(x + 0.01\,\epsilon)\|_1$ with Gaussian images $x$ and
$\epsilon \sim N(0, 1)$, 16 in each draw, and $f$ the features before pooling: the tokens or pixels after the
last residual step, or the input of the last linear map where there is none. Weights of linear maps,
convolutions and attention projections are drawn from $N(0, 1)$, their biases are 0, normalisations are 1 and
0; class token and positions stay. The authors' correction for BatchNorm, the logarithm of its deviations, has
no counterpart for LayerNorm and is left out. Only the shape of the minibatch matters.
"""

import torch
from torch import Generator, Tensor, nn

from vitruvius.nn.attention import in_full
from vitruvius.proxies import OnePass, _activations, _layers, _passes, _preserve
from vitruvius.proxies._activations import Activations

STEP = 0.01
DRAWS, IMAGES = 32, 16


def zen(once: OnePass) -> float:
    """One forward pass per draw on a copy; weights, images and perturbation are drawn from the seed."""
    random = once.generator()
    copy = once.fresh_copy()
    shape = (IMAGES, *once.x.shape[1:])
    with _preserve.preserved(copy, once.seed):
        return sum(_draw(copy, shape, random, like=once.x) for _ in range(DRAWS)) / DRAWS


def _draw(copy: nn.Module, shape: tuple[int, ...], random: Generator, like: Tensor) -> float:
    _draw_weights(copy, random)
    x, step = (torch.randn(shape, generator=random, dtype=like.dtype).to(like) for _ in range(2))
    # Images do not see one another: both kinds share a pass, which reads the weights once.
    features = _features(copy, torch.cat([x, x + STEP * step]))
    change = features[: len(x)] - features[len(x) :]
    return change.flatten(1).abs().sum(1).mean().log().item()


@torch.no_grad()
def _draw_weights(copy: nn.Module, random: Generator) -> None:
    for module in copy.modules():
        if isinstance(module, _layers.NORM):
            module.reset_parameters()
        for name, parameter in module.named_parameters(recurse=False):
            if isinstance(module, _layers.WITH_MATRICES) and "bias" in name:
                parameter.zero_()
    for weight in _layers.matrices(copy).values():
        if weight.device == random.device:
            weight.normal_(generator=random)
        else:
            weight.copy_(torch.randn(weight.shape, generator=random, dtype=weight.dtype))


def _features(copy: nn.Module, x: Tensor) -> Tensor:
    # Residual steps are recognised by their graph, so that gradients stay on.
    with in_full(copy, may_fold=True), Activations() as seen:
        _passes.class_scores(copy, x)
    features = seen.all_residual[-1].output if seen.all_residual else seen.features
    return _activations.by_image(features.detach(), len(x))
