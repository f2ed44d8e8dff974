"""The layer that is to blame for units that do not work, and the line of the source to look at."""

from vitruvius.checks import Trace, Units, holding


def layer_of(trace: Trace, units: Units, bias_first: bool = False) -> tuple[str | None, str]:
    """The module whose weights feed some units, and the line that set these, or that applies the activation.

    The line is empty if neither stands in the user's code.
    """
    known = trace.parameters.get(units.weights)
    if known is None or not known.name:
        return None, units.where
    module = holding([known.name])
    beside = [p for p in trace.parameters.values() if p.name and holding([p.name]) == module]
    set_here = [p for p in beside if p.initialised and p.network == known.network]
    lines = [p.initialised for p in sorted(set_here, key=lambda p: (len(p.shape) > 1) == bias_first)]
    return module, next(iter(lines), "") or units.where
