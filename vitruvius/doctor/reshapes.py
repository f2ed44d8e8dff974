"""Reshapes that tear axes apart: a view cannot swap axes, it only cuts the same row of numbers elsewhere."""

Shape = tuple[int, ...]


def lost_axis(before: Shape, after: Shape) -> int | None:
    """The size of an axis that reappears at another place although its numbers were not moved there.

    >>> lost_axis((4, 6, 8), (4, 8, 6)), lost_axis((4, 6, 8), (4, 2, 6, 4)), lost_axis((2, 5, 8), (5, 16))
    (6, 6, 5)
    >>> lost_axis((4, 6, 8), (4, 6, 2, 4)), lost_axis((4, 6, 8), (24, 8)), lost_axis((4, 6, 8), (4, 48))
    (None, None, None)
    >>> lost_axis((8, 12, 4), (8, 6, 8)) is None
    True
    """
    one, two = ([size for size in shape if size != 1] for shape in (before, after))
    if 0 in one or 0 in two:
        return None
    for old, new in _groups(one, two):
        if len(old) > 1 and len(new) > 1:
            # Inside such a run no border between axes stays: an axis that is whole again holds other numbers.
            kept = [size for size in old if size in new]
            if kept:
                return kept[0]
    return None


def _groups(one: list[int], two: list[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of axes of both shapes that hold the same number of elements."""
    found, i, j = [], 0, 0
    while i < len(one) and j < len(two):
        old, new = [one[i]], [two[j]]
        a, b, i, j = one[i], two[j], i + 1, j + 1
        while a != b and (i < len(one) if a < b else j < len(two)):
            if a < b:
                old.append(one[i])
                a, i = a * one[i], i + 1
            else:
                new.append(two[j])
                b, j = b * two[j], j + 1
        found.append((old, new))
    return found
