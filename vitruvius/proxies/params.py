"""Number of parameters, shared ones counted once.

Public counters that go by module type miss free parameters such as the class token and the positions.
"""

from vitruvius.proxies import OnePass


def params(once: OnePass) -> float:
    """All parameters, trainable or not."""
    return float(sum(parameter.numel() for parameter in once.model.parameters()))
