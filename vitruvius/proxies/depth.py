"""Number of encoder layers.

One per attention module; a network without any counts its linear maps and convolutions.
"""

from vitruvius.proxies import OnePass, _layers


def depth(once: OnePass) -> float:
    """The number of layers."""
    return float(len(_layers.layer_widths(once.model)))
