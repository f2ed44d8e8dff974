"""Which samples an epoch consists of, and how much each class counts: balanced classes, repeated images."""

import torch
from torch import Generator, Tensor


def balanced(labels: Tensor, order: Tensor, generator: Generator) -> Tensor:
    """Return as many samples as there are, every class equally often, in random order.

    Within a class every sample is taken equally often, give or take one; which class is taken once more where
    the division leaves a rest is drawn. `order` is the random order of the epoch.
    """
    present = torch.unique(labels)
    wanted = torch.full((len(present),), len(labels) // len(present))
    wanted[torch.randperm(len(present), generator=generator)[: len(labels) % len(present)]] += 1
    chosen = []
    for label, count in zip(present.tolist(), wanted.tolist(), strict=True):
        members = order[labels[order] == label]
        chosen.append(members.repeat(-(-count // len(members)))[:count])
    found = torch.cat(chosen)
    return found[torch.randperm(len(found), generator=generator)]


def repeated(order: Tensor, times: int) -> Tensor:
    """Return the first samples of an epoch `times` in a row each, as many as before (Hoffer et al. 2020)."""
    return order[: -(-len(order) // times)].repeat_interleave(times)[: len(order)]


def class_weights(labels: Tensor, classes: int) -> Tensor:
    r"""Return $w_c = n / (K n_c)$, the weights with which all K present classes count equally.

    Their mean over the samples is 1, so that the learning rate keeps its meaning; absent classes have 0.

    >>> class_weights(torch.tensor([0, 0, 0, 2]), 3).tolist()
    [0.6666666865348816, 0.0, 2.0]
    """
    counts = labels.bincount(minlength=classes).float()
    return torch.where(counts > 0, len(labels) / (counts > 0).sum() / counts.clamp(min=1), 0.0)
