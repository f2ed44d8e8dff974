r"""Synaptic flow with damped gradients: LogSynFlow (Cavagnero et al. 2023) with absolute gradients.

$\sum_W |w| \log(1 + |\partial R/\partial w|)$ with $R$ and $W$ as in synflow. This is not the authors' score,
$\sum_W |w \log(1 + \partial R/\partial w)|$: behind a LayerNorm gradients may be below -1, where their
logarithm is not defined. Where no gradient is negative both are equal.
"""

from vitruvius.proxies import OnePass


def logsynflow_abs(once: OnePass) -> float:
    """Absolute weights times the damped size of their gradients, summed."""
    flow = once.flow
    sizes = {name: gradient.abs().log1p() for name, gradient in flow.gradients.items()}
    return sum((weight * sizes[name]).sum().item() for name, weight in flow.weights.items())
