"""Accuracy of the reference ViT on MNIST: recipes compared on the validation set, one judged on the test set.

    python -m benchmarks.accuracy --recipe NAME         one recipe, one seed, validation accuracy only (appended)
    python -m benchmarks.accuracy --final               the chosen recipe, three seeds, test set read once per seed

Every recipe tried stays in results/accuracy.json with its validation accuracy.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import record
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.verbs import train

RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "lr 5e-4": {"lr": 5e-4},
    "lr 2e-3": {"lr": 2e-3},
    "smoothing 0.1": {"label_smoothing": 0.1},
    "shift 3": {"shift": 3},
    "dropout 0": {"set": ("dropout=0",)},
    "public init": {"set": ("init=public",)},
}
RESULT = record.RESULTS / "accuracy.json"


def trained(recipe: str, seed: int, final: bool) -> dict[str, Any]:
    """One training of ten epochs; without `final` the test accuracy is neither shown nor kept."""
    load, started = os.getloadavg()[0], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        config = train.Config(seed=seed, **RECIPES[recipe])
        *_, result = train.run(config, Flags(runs=folder, name="net"))
        epochs = files.read_lines(Path(folder) / "train" / "net" / "records.jsonl")
    assert isinstance(result, train.Result)
    row: dict[str, Any] = {
        "recipe": recipe,
        "settings": RECIPES[recipe],
        "seed": seed,
        "val_accuracy": result.val_accuracy,
        "best_epoch": result.best_epoch,
        "train_loss": epochs[-1]["train_loss"],
        "seconds": round(time.perf_counter() - started, 1),
        "images_per_second": round(result.images_per_second),
        "load": round(load, 2),
    }
    return {**row, "test_accuracy": result.test_accuracy, "test_loss": result.test_loss} if final else row


def main() -> None:
    """Train, append, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", choices=list(RECIPES), default="default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--final", action="store_true")
    options = parser.parse_args()
    rows = files.read_json(RESULT)["rows"] if RESULT.exists() else []
    for seed in (0, 1, 2) if options.final else (options.seed,):
        rows.append(trained(options.recipe, seed, options.final))
        print(rows[-1], flush=True)
        record.write("accuracy", rows, command="python -m benchmarks.accuracy")


if __name__ == "__main__":
    main()
