"""Which networks are trained next: by the prior at first, then by what is known about them."""

import math
from collections.abc import Collection, Mapping, Sequence

RANDOM_SHARE = 4
"""One of so many networks is taken at random and not by the prior: the sign of size must be learned."""


def first(
    prior: Mapping[int, float],
    count: int,
    chosen: Collection[int] = (),
    wanted: Sequence[int] = (),
    prices: Mapping[int, float] | None = None,
) -> list[int]:
    """Choose networks of which nothing is known: `wanted` ones, then by the prior, every fourth at random.

    Numbers are the order of a random draw, so that the lowest ones left are a random choice.

    >>> first({0: 0.1, 1: 0.9, 2: 0.2, 3: 0.8, 4: 0.7}, 4)
    [1, 3, 4, 0]
    """
    left = [number for number in prior if number not in chosen]
    found = [number for number in wanted if number in left]
    ordered = promoted({number: prior[number] for number in left}, len(left), prices)
    at_random = sorted(left)
    while len(found) < min(count, len(left)):
        source = at_random if len(found) % RANDOM_SHARE == RANDOM_SHARE - 1 else ordered
        found.append(next(number for number in source if number not in found))
    return found[:count]


def promoted(
    scores: Mapping[int, float],
    count: int,
    prices: Mapping[int, float] | None = None,
    ties: Mapping[int, float] | None = None,
) -> list[int]:
    """Return the numbers of the networks that go on: the best, or with prices the layers of the front.

    Of equal scores the higher one of `ties` is better.

    >>> promoted({1: 0.5, 2: 0.9, 3: 0.7}, 2)
    [2, 3]
    >>> promoted({1: 0.5, 2: 0.9, 3: 0.7}, 2, {1: 10, 2: 30, 3: 40})
    [2, 1]
    """
    second = ties or {}
    left = sorted(scores, key=lambda number: (-scores[number], -second.get(number, 0.0), number))
    if prices is None:
        return left[:count]
    chosen: list[int] = []
    while left and len(chosen) < count:
        layer, cheapest = [], math.inf
        for number in left:  # the best first: one is on the front if it is cheaper than all better ones
            if prices[number] < cheapest:
                layer.append(number)
                cheapest = prices[number]
        room = count - len(chosen)
        chosen += layer if len(layer) <= room else _spaced(layer, room)
        left = [number for number in left if number not in layer]
    return chosen


def _spaced(layer: list[int], count: int) -> list[int]:
    """Return the best of a layer and others at equal distances along it, down to the cheapest."""
    if count == 1:
        return layer[:1]
    return [layer[round(index * (len(layer) - 1) / (count - 1))] for index in range(count)]
