"""Multiply-adds of one forward pass of one image.

By the closed form for our ViT, all tokens of all layers; for any other network the products that PyTorch's
operation counter sees when a second image joins the first, so that products of weights with weights, computed
once per pass, are left out in both. Counters miss the products of fused attention, so the plain form of
attention is counted.
"""

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from vitruvius.arch import cost
from vitruvius.nn.attention import in_full
from vitruvius.nn.vit import ViT
from vitruvius.proxies import OnePass


def macs(once: OnePass) -> float:
    """Half the floating-point operations of all products."""
    if type(once.model) is ViT:
        return float(cost.cost(once.model.arch).macs)
    image = once.x[:1]
    return (_flops(once, torch.cat([image, image])) - _flops(once, image)) / 2


def _flops(once: OnePass, images: Tensor) -> int:
    counter = FlopCounterMode(display=False)
    with once.preserved(), in_full(once.model, may_fold=True), sdpa_kernel(SDPBackend.MATH), counter:
        once.class_scores(images)
    return counter.get_total_flops()
