"""Padding among the targets of a regression: places behind the ends of rows that the loss counts too.

B rows, T places. Where rows end is told by what the network is given: their lengths, a mask, or inputs that
end in runs of one value.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.doctor.passes import Compared, LastForward

LEAST, MOST = 0.05, 0.95  # fraction of the places that are padding
SHORTEST, LARGEST = 3, 4_000_000
NAMES = (
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)


def facts(compared: Compared, last: LastForward) -> dict[str, Any] | None:
    """The facts of `Targets`, if the loss of a training pass counts padding; otherwise None."""
    target, scores = compared.target, compared.scores
    if compared.name not in NAMES or not last.grad or scores is None or not compared.counts:
        return None
    if scores.shape != target.shape or target.dim() not in (2, 3) or not target.is_floating_point():
        return None
    if min(target.shape[:2]) < SHORTEST or target.numel() > LARGEST:
        return None
    given = [v for v in (last.x, *last.args, *last.words) if isinstance(v, Tensor)]
    for pad, declared in sorted(_padding(given, target, last.model), key=lambda found: not found[1]):
        share, filled, said = float(pad.float().mean()), target[pad], scores[pad]
        if not LEAST < share < MOST or pad.all(1).any():
            continue
        constant = bool((filled == filled[:1]).all())
        answered = bool((said != filled).any())  # a mask on both leaves no difference
        others = float((target[~pad] == filled.flatten()[0]).float().mean())
        if constant and answered and (declared or others < LEAST):
            value = float(filled.flatten()[0])
            known: dict[str, Any] = {"shift": None, "padding": value, "padded": share, "declared": declared}
            return {**known, "numbers": True, "length": target.shape[1]}
    return None


def _padding(given: list[Tensor], target: Tensor, model: nn.Module | None) -> Iterator[tuple[Tensor, bool]]:
    """Which places may be padding, (B, T), by each input, and whether the input is there to say so."""
    rows, steps = target.shape[:2]
    places = torch.arange(steps, device=target.device)
    layers = list(model.modules()) if model is not None else []
    fills = {layer.padding_idx for layer in layers if isinstance(layer, nn.Embedding)} - {None}
    for x in given:
        whole = not x.is_floating_point() and not x.is_complex()
        if whole and x.dim() == 1 and len(x) == rows and 0 < int(x.max()) <= steps:
            yield places >= x[:, None], True
        elif x.shape == (rows, steps) and whole and bool(((x == 0) | (x == 1)).all()):
            yield x == 0, True
            yield x != 0, True
        elif x.shape[:2] == (rows, steps) and x.dim() in (2, 3):
            fill = x[:, -1].flatten(1).min() if x.dim() == 3 else x[:, -1].mode().values
            is_fill = (x == fill).flatten(2).all(2) if x.dim() == 3 else x == fill
            ends = is_fill.flip(1).long().cumprod(1).flip(1).bool()
            if bool((is_fill == ends).all()):
                yield ends, whole and int(fill) in fills
