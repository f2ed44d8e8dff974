"""Which networks are trained next: by the prior at first, then by what is known about them."""

import math
from collections.abc import Collection, Mapping, Sequence

RANDOM_SHARE = 8
"""One of so many networks is taken at random and not by the prior."""
LOWEST = 1
"""The second network of all is the lowest by the prior: beside the largest it shows the sign of size."""


def first(
    prior: Mapping[int, float],
    count: int,
    known: Mapping[int, float] | None = None,
    chosen: Collection[int] = (),
    wanted: Sequence[int] = (),
    prices: Mapping[int, float] | None = None,
) -> list[int]:
    """Choose `count` networks beside `chosen`: `wanted` ones, then by the prior, every eighth at random.

    Where the `known` accuracies fall with the prior, it is followed downwards: that larger is better is
    learned and not assumed. Numbers are the order of a random draw, so that the lowest ones left are a random
    choice.

    >>> first({0: 0.1, 1: 0.9, 2: 0.2, 3: 0.8, 4: 0.7, 5: 0.3}, 4)
    [1, 0, 3, 4]
    >>> first({0: 0.1, 1: 0.9, 2: 0.2, 3: 0.8, 4: 0.7}, 1, known={0: 0.6, 1: 0.5}, chosen=[0, 1])
    [2]
    """
    left = [number for number in prior if number not in chosen]
    sign = -1.0 if falls(prior, known or {}) else 1.0
    ordered = promoted({number: sign * prior[number] for number in left}, len(left), prices)
    found = [number for number in wanted if number in left][:count]
    while len(found) < min(count, len(left)):
        position = len(chosen) + len(found)
        source = sorted(left) if position % RANDOM_SHARE == RANDOM_SHARE - 1 else ordered
        if position == LOWEST:
            source = sorted(left, key=lambda number: (prior[number], number))
        found.append(next(number for number in source if number not in found))
    return found


def falls(prior: Mapping[int, float], known: Mapping[int, float]) -> bool:
    """Whether accuracies fall as the prior rises: their covariance is negative.

    >>> falls({0: 0.0, 1: 0.5, 2: 1.0}, {0: 0.8, 2: 0.7}), falls({0: 0.0, 1: 0.5}, {0: 0.8})
    (True, False)
    """
    pairs = [(prior[number], value) for number, value in known.items() if number in prior]
    if len(pairs) < 2:
        return False
    middle = sum(rank for rank, _ in pairs) / len(pairs)
    return sum((rank - middle) * value for rank, value in pairs) < 0


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
