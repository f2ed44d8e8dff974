r"""Synaptic flow with damped gradients (Cavagnero et al. 2023).

$\sum_W |w|\,\bigl|\log(|\partial R/\partial w| + \epsilon)\bigr|$ with $R$ and $W$ as in synflow and
$\epsilon = 10^{-8}$. Public code takes the logarithm of gradients that are exactly zero, and one of them
makes the score infinite.
"""

from vitruvius.proxies import OnePass

EPSILON = 1e-8


def logsynflow(once: OnePass) -> float:
    """Absolute weights times the size of their gradients' logarithm, summed."""
    flow = once.flow
    sizes = {name: (gradient.abs() + EPSILON).log().abs() for name, gradient in flow.gradients.items()}
    return sum((weight * sizes[name]).sum().item() for name, weight in flow.weights.items())
