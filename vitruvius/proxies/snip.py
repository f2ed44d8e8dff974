r"""Sum of the absolute products of weights and gradients (Lee et al. 2019).

$\sum_{i\in\theta} |\theta_i\,\partial L/\partial\theta_i|$ with the mean cross-entropy $L$ of the minibatch;
counted are all parameters. Public code multiplies every weight by a mask of ones and differentiates that, in
a second backward pass that gives the same products.
"""

from vitruvius.proxies import OnePass


def snip(once: OnePass) -> float:
    """What the loss would change, to first order, if single weights were cut."""
    products = (once.parameters[name] * gradient for name, gradient in once.gradients.items())
    return sum(product.abs_().sum().item() for product in products)
