"""Pleasant numbers for exercises: small whole ones and short fractions."""

from fractions import Fraction
from random import Random
from typing import Any


def whole(random: Random, low: int, high: int, *shape: int) -> Any:
    """Whole numbers from low to high, as nested lists of a shape.

    >>> whole(Random(0), -2, 2, 2, 3)
    [[1, 1, -2], [0, 2, 1]]
    """
    if not shape:
        return random.randint(low, high)
    return [whole(random, low, high, *shape[1:]) for _ in range(shape[0])]


def fraction(random: Random, *denominators: int, below: int = 1) -> str:
    """A fraction between 0 and `below`, with one of these denominators, as a text.

    >>> fraction(Random(1), 4, 5)
    '3/4'
    """
    denominator = random.choice(denominators)
    return f"{random.randint(1, below * denominator - 1)}/{denominator}"


def different(random: Random, low: int, high: int, count: int) -> list[int]:
    """Different whole numbers in random order.

    >>> sorted(different(Random(0), 1, 3, 3))
    [1, 2, 3]
    """
    return random.sample(range(low, high + 1), count)


def shares(random: Random, count: int, total: int) -> list[Fraction]:
    """Positive parts of 1 with a common denominator.

    >>> sum(shares(Random(0), 3, 8))
    Fraction(1, 1)
    """
    cuts = sorted(random.sample(range(1, total), count - 1))
    return [Fraction(b - a, total) for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def principal(random: Random) -> list[list[int]]:
    """Three features of four samples with mean 0 whose second moment has three different square eigenvalues.

    Small whole numbers: orthogonal columns (2, 2, -1) / 3, ... times three lengths times orthogonal signs.
    """
    turn = ((2, 2, -1), (-1, 2, 2), (2, -1, 2))
    signs = ((1, 1, -1, -1), (1, -1, 1, -1), (1, -1, -1, 1))
    lengths, order = random.sample(range(1, 6), 3), random.sample(range(4), 4)
    rows = [
        [
            sum(size * axis[i] * sign[j] for size, axis, sign in zip(lengths, turn, signs, strict=True))
            for j in order
        ]
        for i in random.sample(range(3), 3)
    ]
    flips = [random.choice((-1, 1)) for _ in rows]
    return [[flip * x for x in row] for flip, row in zip(flips, rows, strict=True)]
