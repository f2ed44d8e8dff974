"""Accuracy of the reference ViT on MNIST: recipes compared on the validation set, one judged on the test set.

    python -m benchmarks.accuracy --recipe NAME           one seed, validation accuracy only
    python -m benchmarks.accuracy --recipe NAME --final   three seeds, the test images read once per seed
    python -m benchmarks.accuracy --final --again --seed 2

Every recipe tried stays in results/accuracy.json with its validation accuracy; a seed that was tested is not
trained again, unless --again says that the code has changed.
"""

import argparse
import os
import tempfile
import time
from typing import Any

from benchmarks import record
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.training.results import Epoch, Result
from vitruvius.verbs import train

RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "lr 5e-4": {"lr": 5e-4},
    "lr 2e-3": {"lr": 2e-3},
    "smoothing 0.1": {"label_smoothing": 0.1},
    "shift 3": {"shift": 3},
    "dropout 0": {"set": ("dropout=0",)},
    "dropout 0, averaged": {"set": ("dropout=0",), "ema": 0.999},
    "dropout 0, shift 3, averaged": {"set": ("dropout=0",), "shift": 3, "ema": 0.999},
    "dropout 0, averaged, lr 2e-3": {"set": ("dropout=0",), "ema": 0.999, "lr": 2e-3},
    "dropout 0, averaged, lr 3e-3": {"set": ("dropout=0",), "ema": 0.999, "lr": 3e-3},
    "dropout 0, averaged, smoothing 0.1": {"set": ("dropout=0",), "ema": 0.999, "label_smoothing": 0.1},
    "dropout 0, averaged, decay 0.2": {"set": ("dropout=0",), "ema": 0.999, "weight_decay": 0.2},
    "dropout 0, crop 0.2, averaged": {"set": ("dropout=0",), "crop": 0.2, "ema": 0.999},
    "dropout 0, rotate 10, crop 0.1, averaged": {
        "set": ("dropout=0",),
        "rotate": 10.0,
        "crop": 0.1,
        "ema": 0.999,
    },
    "dropout 0, rotate 10, crop 0.1, averaged, lr 2e-3": {
        "set": ("dropout=0",),
        "rotate": 10.0,
        "crop": 0.1,
        "ema": 0.999,
        "lr": 2e-3,
    },
    "dropout 0, rotate 10, crop 0.1, averaged, decay 0.2": {
        "set": ("dropout=0",),
        "rotate": 10.0,
        "crop": 0.1,
        "ema": 0.999,
        "weight_decay": 0.2,
    },
    "public init": {"set": ("init=public",)},
    "30 epochs, dropout 0, rotate 10, crop 0.1, averaged, lr 2e-3": {
        "epochs": 30,
        "set": ("dropout=0",),
        "rotate": 10.0,
        "crop": 0.1,
        "ema": 0.999,
        "lr": 2e-3,
    },
}
RESULT = record.RESULTS / "accuracy.json"


def trained(recipe: str, seed: int, final: bool, threads: int) -> dict[str, Any]:
    """One training; only `final` goes on to read the test images."""
    load, started = os.getloadavg()[0], time.perf_counter()
    config = train.Config(seed=seed, threads=threads, **RECIPES[recipe])
    epochs: list[Epoch] = []
    with tempfile.TemporaryDirectory() as folder:
        for found in train.run(config, Flags(runs=folder, name="net")):
            if isinstance(found, Epoch):
                epochs.append(found)
                print(found.line(), flush=True)
                if len(epochs) == config.epochs and not final:
                    break
    best = max(epochs, key=lambda epoch: epoch.val_accuracy or 0)
    row: dict[str, Any] = {
        "recipe": recipe,
        "settings": RECIPES[recipe],
        "seed": seed,
        "threads": threads or os.cpu_count(),
        "val_accuracy": best.val_accuracy,
        "best_epoch": best.epoch,
        "train_loss": epochs[-1].train_loss,
        "seconds": round(time.perf_counter() - started, 1),
        "images_per_second": round(epochs[-1].timing.images_per_second),
        "load": round(load, 2),
        **record.today(),
    }
    if final:
        assert isinstance(found, Result)
        row |= {"test_accuracy": found.test_accuracy, "test_loss": found.test_loss, "compile": found.compile}
    return row


def main() -> None:
    """Train, append, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", choices=list(RECIPES), default="default")
    parser.add_argument("--seed", type=int, help="this one alone; default: 0, with --final 0, 1 and 2")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--final", action="store_true")
    parser.add_argument(
        "--again", action="store_true", help="train seeds again that were tested, with new code"
    )
    options = parser.parse_args()
    if options.final:
        record.refuse_if_busy()  # the seconds of the chosen recipe are part of the result
    tested = [row["seed"] for row in known() if row["recipe"] == options.recipe and "test_accuracy" in row]
    seeds = [0, 1, 2] if options.final else [0]
    for seed in seeds if options.seed is None else [options.seed]:
        if options.final and seed in tested and not options.again:
            continue
        row = trained(options.recipe, seed, options.final, options.threads)
        print(row, flush=True)
        files.write_json(RESULT, [*known(), row])  # another recipe may have ended meanwhile


def known() -> list[dict[str, Any]]:
    """Every training so far."""
    return files.read_json(RESULT) if RESULT.exists() else []


if __name__ == "__main__":
    main()
