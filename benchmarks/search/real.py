"""Does a search pay on real images? Winner, largest network that fits, random candidate and a preset.

    python -m benchmarks.search.real --seed 0       Fashion-MNIST, 45 minutes of search and three trainings
    python -m benchmarks.search.real                seeds 0, 1 and 2 one after the other
    python -m benchmarks.images.make images
    python -m benchmarks.search.real --images tiles --data folder:images/tiles
    python -m benchmarks.search.real --quick        minutes: says only that the script works

For every seed: `vitruvius search` with --hours on all cores, begun when nothing else runs; then the largest
network that fits, a random candidate within the budget and `mnist-slim`, whatever its size, are trained fully
with the recipe of the winner. Every network's test images are read once. Everything is kept below --runs: a
command that was stopped (Ctrl-C, or `timeout 30m` in front of it) goes on when it is given again, and hours
count those of all its starts. A seed that is finished is kept in results/search_real_IMAGES.json and not made
again. The table has the mean over these seeds with a t interval, and the gain of the winner, paired by seed.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

import vitruvius
from benchmarks import record
from vitruvius.arch import choice, cost, spaces, tables
from vitruvius.core import files
from vitruvius.core.errors import VitruviusError
from vitruvius.core.records import Note
from vitruvius.searching import sampling, trials
from vitruvius.searching.results import Result, Stage, Trained
from vitruvius.searching.settings import Budget, Config

SEEDS = 3
PRESET, ITS_PATCH = "mnist-slim", 7
OTHERS = ("largest", "random", PRESET)
SETS: dict[str, dict[str, Any]] = {
    "fashion_mnist": {"data": "fashion_mnist:full", "epochs": 5},
    "tiles": {"data": "folder:images/tiles", "epochs": 60},
}
"""What is searched on, and how long a full training is."""
QUICK: dict[str, Any] = {"data": "fashion_mnist:mini", "epochs": 1, "seed": 0}


def one_seed(options: argparse.Namespace, seed: int) -> None:
    """Search and train the networks to compare with, or go on with what was begun."""
    spent = {"trainings": 4} if options.quick else {"hours": options.hours}
    asked: dict[str, Any] = {"data": options.data, "data_dir": options.data_dir, "epochs": options.epochs}
    asked |= {"max_params": options.max_params, "seed": seed, "batch": 64, "spread": "processes", **spent}
    result = begun("search", options.runs, f"seed{seed}", asked)
    assert isinstance(result, Result)
    recipe = files.read_json(Path(result.run) / "config.json")
    recipe = {key: value for key, value in recipe.items() if key not in ("arch", "set", "seed")}
    for what, network in others(result.config).items():
        begun("train", options.runs, f"{what}-{seed}", {**recipe, **network, "seed": seed})


def begun(verb: str, runs: Path, name: str, asked: dict[str, Any]) -> Any:
    """Start a run, or go on with the one of that name; return its result."""
    exists = (runs / verb / name / "config.json").is_file()
    words: dict[str, Any] = {"resume": name} if exists else {**asked, "name": name}
    last: Any = None
    for last in vitruvius.stream(verb, **words, runs=str(runs)):
        if isinstance(last, Stage | Trained | Note):
            print(f"{verb} {name}:", *(getattr(block, "text", "") for block in last.view()), flush=True)
    return last


def others(config: Config) -> dict[str, dict[str, Any]]:
    """Return the options --arch and --set of the networks to compare with, the same as the search drew."""
    sizes = choice.sizes(config.load())
    space = spaces.drawable(spaces.default_for(sizes["image"]), sizes["image"])
    limits = sampling.Limits(Budget(max_params=config.max_params), config.batch)
    drawn = sampling.draw(sampling.Rule(space, sizes, config.seed), limits, 1000, config.candidates)
    assert drawn.largest is not None
    at_random = drawn.candidates[np.random.default_rng(config.seed).integers(len(drawn.candidates))]
    sides = [side for side in range(1, sizes["image"]) if sizes["image"] % side == 0]
    patch = min(sides, key=lambda side: (abs(side - ITS_PATCH), side))
    slim = {"arch": PRESET, "set": () if patch == ITS_PATCH else (f"patch={patch}",)}
    return {
        "largest": trials.options(drawn.largest.arch),
        "random": trials.options(at_random.arch),
        PRESET: slim,
    }


def networks(runs: Path, seed: int) -> dict[str, dict[str, Any]]:
    """Return parameters and test accuracy of the networks of a seed that is finished."""
    search = files.read_as(runs / "search" / f"seed{seed}" / "result.json", Result)
    found = {"winner": {"params": search.winner.params, "accuracy": search.test_accuracy.value}}
    sizes = {name: getattr(search.winner.arch, name) for name in ("image", "channels", "classes")}
    for what in OTHERS:
        folder = runs / "train" / f"{what}-{seed}"
        about, result = (files.read_json(folder / name) for name in ("config.json", "result.json"))
        params = cost.cost(tables.arch(about["arch"], about["set"], **sizes)).params
        found[what] = {"params": params, "accuracy": result["test_accuracy"]}
    return found


def table(seeds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per network: parameters and accuracies by seed, mean, and the winner's gain over it."""
    winner = np.array([found["winner"]["accuracy"] for found in seeds])
    rows = []
    for what in ("winner", *OTHERS):
        values = np.array([found[what]["accuracy"] for found in seeds])
        row: dict[str, Any] = {"network": what, "params": [found[what]["params"] for found in seeds]}
        row |= {"accuracies": values.tolist(), "mean": float(values.mean()), "half_width": half(values)}
        if what != "winner":
            gain = 100 * (winner - values)
            row |= {"gain_of_the_winner": float(gain.mean()), "gain_half_width": half(gain)}
        rows.append(row)
    return rows


def half(values: Any) -> float | None:
    """Return half the width of the 95 % t interval of a mean; None with fewer than two values."""
    if len(values) < 2:
        return None
    return float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table."""
    count = len(rows[0]["accuracies"])
    print(f"test accuracy in %, mean of {count} seed{'s' * (count > 1)} +- 95 %, and the gain of the winner")
    for row in rows:
        around = "" if row["half_width"] is None else f" +- {100 * row['half_width']:.2f}"
        gain = row.get("gain_of_the_winner")
        gained = "" if gain is None else f"   {gain:+.2f} points"
        if row.get("gain_half_width") is not None:
            gained += f" +- {row['gain_half_width']:.2f}"
        sizes = " ".join(f"{count:,}" for count in row["params"])
        print(f"{row['network']:>10}: {100 * row['mean']:.2f}{around}{gained}   ({sizes} parameters)")


def main() -> None:
    """Read the options and work."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", choices=tuple(SETS), default="fashion_mnist")
    parser.add_argument("--data", help="where these images are, as --data of a search")
    parser.add_argument("--data-dir")
    parser.add_argument("--seed", type=int, help="this one alone; default: 0, 1 and 2")
    parser.add_argument("--max-params", type=int, default=100_000)
    parser.add_argument("--hours", type=float, default=0.75)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--runs", type=Path, help="where runs are kept; default: runs/real/IMAGES")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name, value in (QUICK if options.quick else SETS[options.images]).items():
        if options.quick or getattr(options, name) is None:
            setattr(options, name, value)
    with tempfile.TemporaryDirectory() as folder:
        if options.quick:
            options.runs = Path(folder)
        options.runs = options.runs or Path("runs/real") / options.images
        work(options)


def work(options: argparse.Namespace) -> None:
    """Work on one seed or on all that are missing, keep what is finished, print the table."""
    path = record.RESULTS / f"search_real_{options.images}.json"
    reads = path.is_file() and not options.quick
    known: list[dict[str, Any]] = files.read_json(path)["rows"] if reads else []
    for seed in range(SEEDS) if options.seed is None else [options.seed]:
        if any(row["seed"] == seed for row in known):
            continue
        load = os.getloadavg()[0] if options.quick else record.wait_until_quiet()
        try:
            one_seed(options, seed)
        except VitruviusError as error:
            raise SystemExit(f"{error} (the same command goes on)") from None
        asked = {name: getattr(options, name) for name in ("max_params", "hours", "epochs")}
        known.append({"seed": seed, **asked, "load": load, **record.today(), **networks(options.runs, seed)})
        if not options.quick:
            print(record.write(path.stem, known, data=SETS[options.images]["data"]))
    show(table(known))


if __name__ == "__main__":
    main()
