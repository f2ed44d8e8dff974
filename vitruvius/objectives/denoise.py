r"""Reconstruct the clean input from a noisy one (Vincent et al. 2008).

$L = \frac1B\sum_b \lVert x_b - g(f(x_b + \sigma\epsilon))\rVert^2 + \lambda\sum_i\lVert W_i\rVert_F^2$ with
$\epsilon \sim N(0, I)$.
"""

import torch
from torch import Generator, Tensor, nn

from vitruvius.objectives import Batch, Loss, Seen, reconstruction_loss


def denoise(
    model: nn.Module, batch: Batch, generator: Generator | None, *, noise: float = 0.5, l2: float = 0.0
) -> Loss:
    """Return the squared error of the reconstruction from a noisy input; in evaluation the input is clean."""
    return reconstruction_loss(model, batch.x, corrupt(batch.x, generator, noise=noise), generator, l2)


def corrupt(x: Tensor, generator: Generator | None, *, noise: float = 0.5) -> Seen:
    """Add Gaussian noise with standard deviation `noise` to every entry."""
    if generator is None:
        return Seen(x)
    return Seen(x + noise * torch.randn(x.shape, generator=generator).to(x))
