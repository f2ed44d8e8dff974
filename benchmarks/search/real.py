"""Does a search pay on real images? Winner, largest network that fits, random candidate and a preset.

    python -m benchmarks.search.real                         Fashion-MNIST, 45 minutes, three seeds
    python -m benchmarks.search.real --data folder:tiles     the same on other images
    python -m benchmarks.search.real --quick                 minutes: says only that the script works

For every seed: `vitruvius search` with --hours on all cores; then the largest network that fits, a random
candidate within the budget and `mnist-slim` are trained fully with the recipe of the winner. Every network's
test images are read once. The table has the mean over the seeds with a t interval.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

import vitruvius
from benchmarks import record
from vitruvius.arch import choice, spaces
from vitruvius.core import files
from vitruvius.searching import sampling, trials
from vitruvius.searching.results import Result
from vitruvius.searching.settings import Budget, Config


def one_seed(options: argparse.Namespace, seed: int, runs: Path) -> dict[str, float]:
    """Search once and train the networks to compare with; return the test accuracies by what they are of."""
    spent = {"trainings": 4} if options.quick else {"hours": options.hours}
    asked: dict[str, Any] = {"data": options.data, "max_params": options.max_params, "seed": seed}
    asked |= {"epochs": options.epochs, "batch": 64, "spread": "processes", **spent}
    result: Any = vitruvius.search(**asked, name=f"seed{seed}", runs=str(runs))
    assert isinstance(result, Result)
    recipe = files.read_json(Path(result.run) / "config.json")
    recipe = {key: value for key, value in recipe.items() if key not in ("arch", "set", "seed")}
    found = {"winner": result.test_accuracy.value or 0.0}
    for what, network in others(result.config, seed).items():
        trained: Any = vitruvius.train(**recipe, **network, seed=seed, name=f"{what}{seed}", runs=str(runs))
        found[what] = trained.test_accuracy
    return found


def others(config: Config, seed: int) -> dict[str, dict[str, Any]]:
    """Return the options --arch and --set of the networks to compare with."""
    data = config.load()
    sizes = choice.sizes(data)
    space = spaces.drawable(spaces.default_for(sizes["image"]), sizes["image"])
    rule = sampling.Rule(space, sizes, config.seed)
    budget = Budget(max_params=config.max_params)
    drawn = sampling.draw(rule, sampling.Limits(budget, config.batch), 1000, config.candidates)
    assert drawn.largest is not None
    at_random = drawn.candidates[np.random.default_rng(seed).integers(len(drawn.candidates))]
    found = {"largest": trials.options(drawn.largest.arch), "random": trials.options(at_random.arch)}
    return found | {
        "mnist-slim": {"arch": "mnist-slim", "set": () if sizes["image"] % 7 == 0 else ("patch=4",)}
    }


def main() -> None:
    """Run all seeds, print and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="fashion_mnist:full")
    parser.add_argument("--max-params", type=int, default=100_000)
    parser.add_argument("--hours", type=float, default=0.75)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.epochs, options.data = 1, 1, "fashion_mnist:mini"
    with tempfile.TemporaryDirectory() as folder:
        seeds = [one_seed(options, seed, Path(folder)) for seed in range(options.seeds)]
    rows = []
    for what in seeds[0]:
        values = np.array([found[what] for found in seeds])
        half = (
            t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
            if len(values) > 1
            else 0.0
        )
        rows.append({"network": what, "mean": float(values.mean()), "half_width": float(half)})
        print(f"{what:>12}: {100 * values.mean():.2f} % +- {100 * half:.2f}")
    if not options.quick:
        settings = {key: value for key, value in vars(options).items() if key != "quick"}
        record.write("search_real", rows, settings=settings, accuracies=seeds)


if __name__ == "__main__":
    main()
