"""Number of encoder layers.

One per attention operation (`layer_widths`); a network without any counts its linear maps and convolutions.
"""

from vitruvius.proxies import OnePass


def depth(once: OnePass) -> float:
    """The number of layers."""
    return float(len(once.layer_widths))
