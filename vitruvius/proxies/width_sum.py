"""Sum of the widths of all layers: depth times width for a plain ViT.

The token width at every attention operation; a network without any counts the outputs of its linear maps and
convolutions.
"""

from vitruvius.proxies import OnePass


def width_sum(once: OnePass) -> float:
    """The widths of all layers, summed."""
    return float(sum(once.layer_widths))
