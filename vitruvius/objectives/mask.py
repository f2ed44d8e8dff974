r"""Reconstruct masked input: entries set to zero, or patches left out (He et al. 2022).

An autoencoder of vectors sees each entry as 0 with probability `share`, and $L = \frac1B\sum_b\sum_d
c_{bd}(x_{bd} - \hat x_{bd})^2$ where $c$ counts all entries, the masked or the visible ones. A masked
autoencoder of patches never sees the hidden ones; its loss is the mean over pixels and counted patches.
"""

from typing import Literal

import torch
from torch import Generator, Tensor, nn

from vitruvius.nn.masked import MaskedAutoencoder, hide
from vitruvius.objectives import Batch, Loss, Seen, penalty, reconstruction_loss

Counted = Literal["all", "masked", "visible"]


def mask(
    model: nn.Module,
    batch: Batch,
    generator: Generator | None,
    *,
    share: float = 0.25,
    counted: Counted = "all",
    l2: float = 0.0,
) -> Loss:
    """Return the squared error of the reconstruction from a masked input; in evaluation nothing is masked."""
    if isinstance(model, MaskedAutoencoder):
        value = _patch_error(model, batch.x, generator, share, counted)
        return Loss(value + l2 * penalty(model) if l2 and generator is not None else value)
    seen = corrupt(batch.x, generator, share=share, counted=counted)
    return reconstruction_loss(model, batch.x, seen, generator, l2)


def corrupt(x: Tensor, generator: Generator | None, *, share: float = 0.25, counted: Counted = "all") -> Seen:
    """Set each entry to zero with probability `share`; the others are not scaled up."""
    if generator is None:
        return Seen(x)
    hidden = (torch.rand(x.shape, generator=generator) < share).to(x.device)
    counts = {"all": None, "masked": hidden, "visible": ~hidden}[counted]
    return Seen(x.masked_fill(hidden, 0.0), counts)


def _patch_error(
    model: MaskedAutoencoder, image_BCHW: Tensor, generator: Generator | None, share: float, counted: Counted
) -> Tensor:
    masking = hide(len(image_BCHW), model.patches, share if generator is not None else 0.0, generator)
    error_Bn = (model.predict(image_BCHW, masking) - model.target(image_BCHW)).square().mean(-1)
    hidden_Bn = masking.hidden()
    chosen = {"all": torch.ones_like(hidden_Bn), "masked": hidden_Bn, "visible": ~hidden_Bn}
    counts_Bn = chosen[counted if generator is not None else "all"].to(error_Bn)
    # All images have the same number of counted patches, so this is also the mean over images.
    return (error_Bn * counts_Bn).sum() / counts_Bn.sum()
