r"""Reconstruct the input: squared error, summed over the entries of a sample, mean over the batch.

$L = \frac1B\sum_b \lVert x_b - g(f(x_b))\rVert^2 + \lambda\sum_i\lVert W_i\rVert_F^2$, the vanilla
autoencoder. The penalty is part of the loss: AdamW's decoupled decay minimises something else.
"""

from torch import Generator, Tensor, nn

from vitruvius.objectives import Batch, Loss, Seen, reconstruction_loss


def reconstruct(model: nn.Module, batch: Batch, generator: Generator | None, *, l2: float = 0.0) -> Loss:
    """Return the squared error of the reconstruction; in evaluation without the penalty."""
    return reconstruction_loss(model, batch.x, corrupt(batch.x, generator), generator, l2)


def corrupt(x: Tensor, generator: Generator | None) -> Seen:
    """Leave the input as it is."""
    return Seen(x)
