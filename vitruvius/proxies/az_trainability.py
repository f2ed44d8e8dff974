r"""How well residual steps pass gradients on (AZ-NAS, Lee and Ham 2024).

The mean over the residual steps after the first of $2 - s - 1/s$, at most 0, where $s$ is the spectral norm
of the step's Jacobian as probed with random signs $v_t$: of $\frac1T \sum_t (J^T v)_t v_t^T$ over all tokens
$t$ of the minibatch. A step leads from one residual output to the next, two per encoder layer; like the
authors' code, the first is left out, which begins at the embedding. Public code ranks the score within a
population of networks: `az_nas` does that.

Shapes: T tokens of all images, C channels.
"""

import torch
from torch import Generator

from vitruvius.core.errors import UserError
from vitruvius.proxies import OnePass, _activations
from vitruvius.proxies._activations import Residual


def az_trainability(once: OnePass) -> float:
    """Run one backward pass through each step; signs are drawn from the seed, step by step."""
    random = once.generator()
    steps = once.activations.residual[1:]
    if not steps:
        raise UserError("the network has no two residual steps to compare")
    with once.preserved():
        norms = [_spectral_norm(step, random) for step in steps]
    return sum(2 - s - 1 / s if s else -torch.inf for s in norms) / len(norms)


def _spectral_norm(step: Residual, random: Generator) -> float:
    signs = (torch.randint(2, step.output.shape, generator=random) * 2 - 1).to(step.output)
    (back,) = torch.autograd.grad(step.output, step.skip, signs, retain_graph=True)
    back_TC, signs_TC = _activations.token_rows(back), _activations.token_rows(signs)
    probed_CC = back_TC.T @ signs_TC / len(signs_TC)
    # The largest eigenvalue of the Gram matrix is as exact as the largest singular value, and cheaper.
    return torch.linalg.eigvalsh(probed_CC.T @ probed_CC)[-1].clamp_min(0).sqrt().item()
