"""What masked pretraining is worth: a ViT with 1,000 labels of MNIST, fine-tuned after it and from scratch.

    python -m benchmarks.masked               train what is missing, about half an hour a seed on one core
    python -m benchmarks.masked --seed 2      one seed alone, so that several may run side by side
    python -m benchmarks.masked --quick       tiny sizes, nothing written

Each finished seed is appended to benchmarks/results/masked.jsonl at once. No time is measured, so the machine
may be busy; the table is printed whatever it says."""

import argparse
import dataclasses
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from benchmarks import record
from benchmarks.pretrain import last, slice_of_mnist
from vitruvius import datasets
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.datasets import Dataset, Split
from vitruvius.verbs import pretrain, train

RESULTS = record.RESULTS / "masked.jsonl"
SEEDS = (0, 1, 2)
LABELS = 1000
VIT = ("patch=4", "depth=4", "dropout=0")
"""Changes of mnist-slim: 49 patches, of which a masked autoencoder sees 12."""
PRETRAINING: dict[str, Any] = {
    "model": "vit",
    "arch": "mnist-slim",
    "set": VIT,
    "epochs": 20,
    "normalise": True,
}
TRAINING: dict[str, Any] = {
    "arch": "mnist-slim",
    "set": VIT,
    "epochs": 60,
    "warmup": 100,
    "batch": 32,
    "compile": "off",
}
KINDS = ("fine-tuned", "from scratch")

__all__ = ["slice_of_mnist", "thousand"]


def thousand(*, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """MNIST with 100 training images of each digit, drawn from the seed; validation and test as they are."""
    from vitruvius.pretraining.probe import draw

    data = datasets.get("mnist", data_dir=data_dir, validation=validation)
    assert data.train.y is not None
    kept = draw(data.train.y, LABELS, seed)
    return dataclasses.replace(
        data, name=f"mnist ({LABELS:,} labels)", train=Split(data.train.x[kept], data.train.y[kept])
    )


def measured(seed: int, root: Path, quick: bool = False) -> list[dict[str, Any]]:
    """Both trainings of one seed; the test images are read once by each, with the weights of its best
    validation.
    """
    short = {"epochs": 1} if quick else {}
    images = f"{__file__}:slice_of_mnist" if quick else "mnist"
    asked = PRETRAINING | short | {"data": images, "seed": seed, "probe": "none"}
    last(pretrain.run(pretrain.Config(**asked), Flags(runs=str(root), name="masked")))
    rows = []
    for kind, init in zip(KINDS, (str(root / "pretrain" / "masked"), None), strict=True):
        config = train.Config(**TRAINING | short, data=f"{__file__}:thousand", init=init, seed=seed)
        found = last(train.run(config, Flags(runs=str(root), name=kind.replace(" ", "-"))))
        rows.append({"kind": kind, "seed": seed, "accuracy": found.test_accuracy})
        print(f"{kind}, seed {seed}: {found.test_accuracy:.2%}", flush=True)
    return rows


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.masked", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, choices=SEEDS)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, nothing written")
    options = parser.parse_args()
    done = set() if options.quick else {line["seed"] for line in files.read_lines(RESULTS)}
    wanted = SEEDS if options.seed is None else (options.seed,)
    how = {
        "threads": torch.get_num_threads(),
        "pretraining": PRETRAINING,
        "training": TRAINING | {"labels": LABELS},
    }
    for seed in [seed for seed in wanted if seed not in done][: 1 if options.quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(seed, Path(folder), options.quick)
        for row in rows if not options.quick else ():
            files.append_line(RESULTS, {**row, **record.today(), **how})
    for kind in KINDS:
        found = [line["accuracy"] for line in files.read_lines(RESULTS) if line["kind"] == kind]
        if found:
            print(
                f"{kind}: {fmean(found):.2%} over {len(found)} seeds ({', '.join(f'{a:.2%}' for a in found)})"
            )


if __name__ == "__main__":
    main()
