"""Experiments with the future: does the output at a place depend on inputs that come later?"""

from torch import Tensor

from vitruvius.checks._experiment import Specimen, moved


def leak(specimen: Specimen) -> int | None:
    """A position before which the output changes with the input from there on; None if there is none."""
    steps = specimen.x.shape[specimen.example.time_axis]
    for position in sorted({steps // 2, steps - 1}):
        early = before(specimen, position, specimen.output(specimen.x))
        after = before(specimen, position, specimen.output(changed(specimen, position)))
        if early is not None and after is not None and moved(early, after):
            return position
    return None


def changed(specimen: Specimen, position: int) -> Tensor:
    """The input with other values from a position on."""
    axis, x = specimen.example.time_axis, specimen.x
    other_x = x.clone()
    rest = x.narrow(axis, position, x.shape[axis] - position)
    other = rest + 1.0 if x.is_floating_point() else rest.flip(1 - axis).roll(1, axis)
    other_x.narrow(axis, position, x.shape[axis] - position).copy_(other)
    return other_x


def looks_back(specimen: Specimen) -> bool:
    """Whether the output at later places depends on the input at the first one."""
    axis, x = specimen.example.time_axis, specimen.x
    other = x.clone()
    other.narrow(axis, 0, 1).copy_(x.narrow(axis, 0, 1).flip(1 - axis).roll(1, 1 - axis))
    one, two = (_by_place(specimen, specimen.output(given)) for given in (x, other))
    if one is None or two is None:
        return False
    (first, at), (second, _) = one, two
    return moved(*(out.narrow(at, 1, out.shape[at] - 1) for out in (first, second)))


def before(specimen: Specimen, position: int, output: Tensor) -> Tensor | None:
    """The part of an output that belongs to the positions before one; None if it has no such axis."""
    found = _by_place(specimen, output)
    return found[0].narrow(found[1], 0, position) if found is not None else None


def _by_place(specimen: Specimen, output: Tensor) -> tuple[Tensor, int] | None:
    """An output with an axis of positions, and that axis; None if it has none."""
    axis, x = specimen.example.time_axis, specimen.x
    if output.dim() == 2 and len(output) == x.shape[0] * x.shape[1]:  # rows and positions in one axis
        output = output.reshape(x.shape[0], x.shape[1], -1)
    axes = [one for one in (axis, 2) if output.dim() > one and output.shape[one] == x.shape[axis]]
    return (output, axes[0]) if axes else None
