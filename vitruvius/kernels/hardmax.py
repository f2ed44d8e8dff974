r"""Hard attention: the value of the one key with the largest product with the query.

$w_{ij} = 1$ for $j = \arg\max_l (q_i \cdot k_l / \sqrt{D} + m_{il})$, the first such key in a tie, and 0 for
others. The choice is piecewise constant, so no gradient reaches queries and keys, and only the chosen values
receive one. With `straight_through` (Bengio et al. 2013) the backward pass pretends that the weights were
those of softmax.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width.
"""

import torch
from torch import Tensor
from torch.nn import functional

from vitruvius.kernels import Mask, _inputs, softmax


@_inputs.in_full_precision
def weights(q: Tensor, k: Tensor, mask: Mask = None, *, straight_through: bool = False) -> Tensor:
    """One 1 per row (B, H, N, M), at the best visible key; all 0 where no key is visible."""
    _inputs.check(q, k)
    best_BHN1, seen_BHN1 = _best(q, k, mask)
    hard_BHNM = functional.one_hot(best_BHN1.squeeze(-1), k.shape[2]).to(q.dtype) * seen_BHN1
    if not straight_through:
        return hard_BHNM
    soft_BHNM = softmax.weights(q, k, mask)
    return hard_BHNM + (soft_BHNM - soft_BHNM.detach())


@_inputs.in_full_precision
def attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, straight_through: bool = False) -> Tensor:
    """The chosen value of every query (B, H, N, E).

    >>> key, value = torch.eye(3).view(1, 1, 3, 3), torch.tensor([5.0, 6.0, 7.0]).view(1, 1, 3, 1)
    >>> attend(key[:, :, 1:], key, value).flatten().tolist()
    [6.0, 7.0]
    """
    _inputs.check(q, k, v)
    if straight_through:
        return weights(q, k, mask, straight_through=True) @ v
    best_BHN1, seen_BHN1 = _best(q, k, mask)
    return v.gather(2, best_BHN1.expand(-1, -1, -1, v.shape[3])) * seen_BHN1


@torch.no_grad()
def _best(q: Tensor, k: Tensor, mask: Mask) -> tuple[Tensor, Tensor]:
    """The index of the best key of each query, and whether the query has a visible key; both (B, H, N, 1)."""
    score_BHNM = (q * q.shape[-1] ** -0.5) @ k.mT
    keep = _inputs.dense(mask, q, k)
    if keep is not None:
        score_BHNM = score_BHNM if keep.dtype == torch.bool else score_BHNM + keep
        score_BHNM = score_BHNM.masked_fill(_inputs.hidden(keep), -torch.inf)
    best_BHN1 = score_BHNM.argmax(-1, keepdim=True)
    return best_BHN1, score_BHNM.gather(-1, best_BHN1) > -torch.inf
