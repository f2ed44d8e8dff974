"""Pretraining: the time of the assignment's grid, and what probes read from MNIST.

    python -m benchmarks.pretrain grid      36 autoencoders with 11 probes each, at most 90 s on 2 cores
    python -m benchmarks.pretrain mnist     a denoising autoencoder, probed with 200 labels and with all
    python -m benchmarks.pretrain all --quick     tiny sizes on any machine, nothing written, nothing judged

Recipes are chosen on validation images; the test images are read once, with the recipe that was chosen.
"""

import argparse
import dataclasses
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks import record
from vitruvius import datasets
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.pretraining.results import Result
from vitruvius.verbs import pretrain, probe

GRID_SECONDS, MNIST_SECONDS = 90, 15 * 60
GAP = 0.005
LONG = 100
"""Epochs after which a linear autoencoder is judged on its own training samples too."""
FEW, FEW_ABOVE_RAW, ALL, ALL_ABOVE_UNTRAINED = 0.86, 0.05, 0.96, 0.02


def slice_of_mnist(**options: Any) -> Dataset:
    """A fiftieth of MNIST, to see that everything runs."""
    data = datasets.get("mnist")
    train, validation, test = (
        Split(part.x[::50], None if part.y is None else part.y[::50])
        for part in (data.train, data.validation, data.test)
    )
    return dataclasses.replace(data, name="mnist (slice)", train=train, validation=validation, test=test)


def last(records: Any) -> Any:
    """The result of a verb, its notes shown as they come."""
    result = None
    for result in records:
        if getattr(result, "text", ""):
            print(f"  {result.text}", flush=True)
    return result


def grid(root: Path, quick: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """The assignment's grid as one computation, and some of its autoencoders trained alone."""
    size: dict[str, Any] = {"latent": (5, 20), "epochs": 1, "repeats": 2} if quick else {}
    began = time.perf_counter()
    found = last(pretrain.run(pretrain.Config(**size), Flags(runs=str(root), name="grid")))
    seconds = time.perf_counter() - began
    rows = [
        {"part": "grid", "seconds": round(seconds, 1), **outcome.model_dump()} for outcome in found.outcomes
    ]
    broken = [] if seconds <= GRID_SECONDS else [f"the grid takes {seconds:.0f} s, at most {GRID_SECONDS} s"]
    long: dict[str, Any] = {"objective": ("reconstruct",), "latent": (5, 20), "epochs": 1 if quick else LONG}
    longer = last(pretrain.run(pretrain.Config(**long, probe="none"), Flags(runs=str(root), name="long")))
    near = [*above_pca(found), *above_pca(longer)]
    rows += near
    # Ten epochs do not sort nearly equal eigenvalues, which cost PCA itself as much on fresh samples.
    judged = [(row, row["validation"]) for row in near] + [
        (row, row["training"]) for row in near if row["epochs"] > 10
    ]
    broken += [f"{row}: at most {GAP:.1%} above PCA" for row, gap in judged if gap > GAP]
    for outcome in found.outcomes:
        if outcome.latent in (5, 20):
            rows.append(alone(root, outcome, size.get("epochs", 10)))
            low, high = outcome.val_loss_range
            spread = max(high - low, GAP * high)
            if not low - spread <= rows[-1]["val_loss"] <= high + spread:
                broken.append(
                    f"{outcome.objective} {outcome.latent}: {rows[-1]['val_loss']} alone, {low} to {high} "
                    f"together"
                )
    return rows, broken


def above_pca(found: Result) -> list[dict[str, Any]]:
    """How far the loss of linear autoencoders of latent 5 and 20 lies above PCA's, relatively."""
    return [
        {
            "part": "above PCA",
            "latent": c.latent,
            "repeat": c.repeat,
            "epochs": found.epochs,
            "training": c.gap,
            "validation": c.val_loss / c.val_optimum - 1,
        }
        for c in found.certificates
        if c.objective == "reconstruct" and c.latent in (5, 20) and c.val_loss and c.val_optimum
    ]


def alone(root: Path, outcome: Any, epochs: int) -> dict[str, Any]:
    """One autoencoder of the grid in a run of its own."""
    name = f"{outcome.objective}-{outcome.latent}"
    asked = {"objective": (outcome.objective,), "latent": (outcome.latent,), "repeats": 1, "epochs": epochs}
    began = time.perf_counter()
    found = last(pretrain.run(pretrain.Config(**asked, probe="none"), Flags(runs=str(root), name=name)))
    seconds = round(time.perf_counter() - began, 1)
    return {"part": "alone", "seconds": seconds, **found.outcomes[0].model_dump()}


def mnist(root: Path, quick: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """A denoising autoencoder, its latent size and the probe's penalty chosen on validation, the test read
    once.
    """
    began = time.perf_counter()
    data = f"{__file__}:slice_of_mnist" if quick else "mnist"
    recipe: dict[str, Any] = {"model": "mlp", "objective": ("denoise",), "noise": 1.0, "hidden": (512, 512)}
    recipe |= {
        "latent": (64, 512),
        "repeats": 1,
        "batch": 256,
        "schedule": "cosine",
        "epochs": 1 if quick else 30,
    }
    last(
        pretrain.run(pretrain.Config(data=data, probe="none", **recipe), Flags(runs=str(root), name="digits"))
    )
    rows: list[dict[str, Any]] = []
    broken = []
    for labels, penalties in ((200, (1e-3, 1e-2)), ("all", (1e-4, 1e-3))):
        asked = {"source": "digits", "labels": labels, "draws": 2 if quick else 10}
        tried = [(l2, best(probed(root, **asked, l2=l2, on="validation"))) for l2 in penalties]
        l2, (cell, _) = max(tried, key=lambda pair: pair[1][1]["mean"])
        test = probed(root, **asked, l2=l2)
        rows += [
            {"part": "mnist", "labels": labels, "l2": l2, "chosen": name == cell, **row}
            for name, row in test.items()
        ]
        broken += _mnist_failures(labels, test, cell)
    seconds = time.perf_counter() - began
    rows.append({"part": "mnist", "seconds": round(seconds, 1), "recipe": recipe})
    return rows, broken + ([f"mnist takes {seconds:.0f} s"] if seconds > MNIST_SECONDS else [])


def probed(root: Path, **asked: Any) -> dict[str, dict[str, Any]]:
    """The rows of a probe by name."""
    found = last(probe.run(probe.Config(**asked), Flags(runs=str(root), name=f"probe-{time.monotonic_ns()}")))
    return {row.features: row.model_dump() for row in found.rows}


def best(rows: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The pretrained encoder with the highest mean accuracy."""
    trained = {name: row for name, row in rows.items() if name.startswith("denoise")}
    return max(trained.items(), key=lambda pair: pair[1]["mean"])


def _mnist_failures(labels: int | str, rows: dict[str, dict[str, Any]], cell: str) -> list[str]:
    reached = rows[cell]["mean"]
    if labels == "all":
        before = rows[f"untrained.{rows[cell]['size']}"]["mean"]
        checks = {
            f"at least {ALL:.0%}": ALL,
            f"{before:.2%} untrained + {ALL_ABOVE_UNTRAINED:.0%}": before + ALL_ABOVE_UNTRAINED,
        }
    else:
        raw = rows["raw"]["mean"]
        checks = {f"at least {FEW:.0%}": FEW, f"{raw:.2%} raw + {FEW_ABOVE_RAW:.0%}": raw + FEW_ABOVE_RAW}
    return [
        f"{labels} labels: {cell} reaches {reached:.2%}, wanted {what}"
        for what, bar in checks.items()
        if reached < bar
    ]


PARTS = {"grid": grid, "mnist": mnist}


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.pretrain", description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=[*PARTS, "all"], nargs="?", default="all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, nothing written, nothing judged")
    options = parser.parse_args()
    names = list(PARTS) if options.part == "all" else [options.part]
    try:
        load = os.getloadavg()[0] if options.quick else record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    broken: list[str] = []
    threads = torch.get_num_threads()
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows, failures = PARTS[name](Path(folder), options.quick)
        for row in rows:
            print(row, flush=True)
        if not options.quick:
            print(record.write(f"pretrain-{name}", rows, load=load, threads=threads))
            broken += failures
    if broken:
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
