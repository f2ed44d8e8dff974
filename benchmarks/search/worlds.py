"""What the order of the first trainings is worth in made-up worlds, where the value of size is known.

    python -m benchmarks.search.worlds            a minute, writes the results
    python -m benchmarks.search.worlds --quick    few worlds

A world has 24 to 40 networks. The accuracy of a network is r times its size plus noise, both of standard
deviation 1, and its prior is its size plus other noise (correlation 0.9); r goes from -0.6, where larger is
worse, to 0.9. Each way of choosing trains k of them and loses the distance between the best network of the
world and the best it has trained, in standard deviations. Before there are enough accuracies for the
surrogate, `search` can only follow its prior up or down, and this is where it is compared:

- `search`: the largest, the lowest by the prior, then up or down the prior, every eighth at random;
- `expected gain`: the largest, then always the network with the greatest expected improvement under the model
  that made the world, with r and the scale of accuracies unknown: a rule that knows the kind of world it is
  in, which no search does, and so says how much a better order could bring;
- `largest first`: down from the largest, its sign never learned; `random`.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks import record
from vitruvius.searching import promotion

KS = (5, 8)
"""From eight accuracies on the surrogate may decide."""
VALUES_OF_SIZE = (-0.6, -0.3, 0.0, 0.3, 0.5, 0.7, 0.9)
WORLDS = 150
CORRELATION = 0.9
"""Of the prior with size."""
NEVER = 10**9
Floats = NDArray[np.float64]


class World(NamedTuple):
    """The networks of a world."""

    prior: Floats
    """Standard normal by rank."""
    accuracy: Floats
    largest: int


Way = Callable[[World, int], list[int]]


def world(value_of_size: float, seed: int) -> World:
    """Return the world of a seed."""
    random = np.random.default_rng(seed)
    count = int(random.integers(24, 41))
    size, off, noise = random.normal(size=(3, count))
    accuracy = value_of_size * size + (1 - value_of_size**2) ** 0.5 * noise
    rank = np.argsort(np.argsort(CORRELATION * size + (1 - CORRELATION**2) ** 0.5 * off))
    return World(norm.ppf((rank + 0.5) / count), accuracy, int(size.argmax()))


def by_search(random_share: int) -> Way:
    """Return the way of `search`, with one network of so many at random."""

    def choose(found: World, k: int) -> list[int]:
        order, chosen = dict(enumerate(found.prior.tolist())), list[int]()
        with patch.object(promotion, "RANDOM_SHARE", random_share):
            while len(chosen) < k:
                known = {number: float(found.accuracy[number]) for number in chosen}
                chosen += promotion.first(order, 1, known, chosen, wanted=[found.largest])
        return chosen

    return choose


def by_expected_gain(found: World, k: int) -> list[int]:
    """Choose the largest network, then the one with the greatest expected improvement until there are k."""
    chosen = [found.largest]
    while len(chosen) < k:
        gain = expected_gain(found.prior, found.prior[chosen], found.accuracy[chosen])
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
    return chosen


def expected_gain(prior_n: Floats, prior_k: Floats, accuracy_k: Floats) -> Floats:
    r"""Return the expected improvement on the best known accuracy, for each network.

    Accuracies are $\mu + s(rz + \sqrt{1 - r^2}\,\varepsilon)$ for a prior z; $\mu$ is integrated out, r and s
    are summed over grids, evenly in r and in $\log s$.
    """
    known = len(prior_k)
    r_R11 = np.linspace(-0.9, 0.9, 19)[:, None, None]
    scale_S = np.exp(np.linspace(-1.0, 1.6, 9)) * (accuracy_k.std() if known > 1 else 1.0)
    slope_RS1 = scale_S[:, None] * r_R11
    noise_RS1 = scale_S[:, None] * np.sqrt(1 - r_R11**2)
    rest_RSk = accuracy_k - slope_RS1 * prior_k
    level_RS1 = rest_RSk.mean(-1, keepdims=True)
    squares_RS1 = ((rest_RSk - level_RS1) ** 2).sum(-1, keepdims=True)
    log_RS1 = -(known - 1) * np.log(noise_RS1) - squares_RS1 / (2 * noise_RS1**2)
    weight_RS1 = np.exp(log_RS1 - log_RS1.max())
    above_RSn = level_RS1 + slope_RS1 * prior_n - accuracy_k.max()
    error_RS1 = noise_RS1 * (1 + 1 / known) ** 0.5
    ratio_RSn = above_RSn / error_RS1
    gain_RSn = above_RSn * norm.cdf(ratio_RSn) + error_RS1 * norm.pdf(ratio_RSn)
    mean_n: Floats = (weight_RS1 * gain_RSn).sum((0, 1)) / weight_RS1.sum()
    return mean_n


def largest_first(found: World, k: int) -> list[int]:
    """Choose the largest network, then the highest by the prior."""
    order = np.argsort(-found.prior).tolist()
    return [found.largest, *(number for number in order if number != found.largest)][:k]


WAYS: dict[str, Way] = {
    "search": by_search(promotion.RANDOM_SHARE),
    "search, every fourth at random": by_search(4),
    "search, none at random": by_search(NEVER),
    "expected gain": by_expected_gain,
    "largest first": largest_first,
    "random": lambda found, k: list(range(k)),
}


def lost(worlds: int) -> list[dict[str, Any]]:
    """Return the mean and median loss of every way, for every k and every value of size."""
    rows = []
    for k in KS:
        for value in VALUES_OF_SIZE:
            made = [world(value, seed) for seed in range(worlds)]
            for way, choose in WAYS.items():
                losses = [one.accuracy.max() - one.accuracy[choose(one, k)].max() for one in made]
                row = {"k": k, "value_of_size": value, "way": way}
                rows.append(row | {"mean": float(np.mean(losses)), "median": float(np.median(losses))})
    return rows


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print a line per k and way: the means by value of size, and the mean of these."""
    print("standard deviations lost on average, r =", *VALUES_OF_SIZE, "| all")
    for k in KS:
        for way in WAYS:
            means = [row["mean"] for row in rows if (row["k"], row["way"]) == (k, way)]
            values = "  ".join(f"{mean:.2f}" for mean in means)
            print(f"k {k}  {way:<31} {values}  | {np.mean(means):.2f}")


def main() -> None:
    """Judge, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = lost(5 if quick else WORLDS)
    show(rows)
    if not quick:
        print(record.write("search_worlds", rows, worlds=WORLDS))


if __name__ == "__main__":
    main()
