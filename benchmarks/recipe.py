"""What each ingredient of a recipe brings, and how good the recipes are: chosen on validation, tested once.

    python -m benchmarks.recipe --ablation DATA    the recipe, and without each ingredient: validation
    python -m benchmarks.recipe --final DATA       the recipe, three seeds, the test images read once per seed
    python -m benchmarks.recipe --quick            four steps of each: only shows that it runs

DATA is digits (scikit-learn's 1,797 digits of 8 x 8), fashion_mnist, cifar or a folder of images. An SVM on
the pixels is the peer of --final, under the same split. Rows are appended to results/recipe.json.
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
from vitruvius.training import recipes
from vitruvius.training.results import Epoch, Result
from vitruvius.verbs import train

RESULT = record.RESULTS / "recipe.json"
SEEDS = (0, 1, 2)
DIGITS = "./benchmarks/recipe.py:digits"
OFF: dict[str, Any] = {
    "label_smoothing": 0.0,
    "drop_path": 0.0,
    "ema": 0.0,
    "mixup": 0.0,
    "cutmix": 0.0,
    "randaugment": 0.0,
    "erase": 0.0,
    "repeat": 1,
    "crop": 0.0,
    "shift": 0,
    "layer_decay": 1.0,
}
"""Each ingredient and the value that switches it off."""
GOALS = {"digits": 0.985, "fashion_mnist": 0.925, "cifar": 0.80}
"""The test accuracy that is aimed at."""
LIMITS = {"fashion_mnist": 30 * 60.0, "cifar": 60 * 60.0}
"""Seconds that a training may take on two cores."""


def digits(*, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Any:
    """Scikit-learn's digits, divided into 60 % training, 20 % validation and 20 % test images by a seed."""
    import numpy as np
    import torch
    from sklearn.datasets import load_digits

    from vitruvius.datasets import Dataset, Split, stratified_order

    found = load_digits()
    x = torch.from_numpy(np.round(found.images * (255 / 16)).astype(np.uint8))[:, None]
    y = torch.from_numpy(found.target.astype(np.int64))
    order = torch.tensor(stratified_order(y.tolist(), seed))
    test, held = len(order) // 5, len(order) // 5 if validation is None else validation
    cuts = order[:test], order[test : test + held], order[test + held :]
    first, second, rest = (Split(x[part], y[part]) for part in cuts)
    pixels = rest.x.double() / 255
    names = tuple(map(str, range(10)))
    mean, std = (float(pixels.mean()),), (float(pixels.std()),)
    return Dataset("digits", rest, second, first, names, mean, std, "scikit-learn's digits", "")


def settings(data: str, recipe: str, seed: int, quick: bool, **changes: Any) -> train.Config:
    """The training of one row; `auto` chooses the network where the data are no built-in set."""
    name = DIGITS if data == "digits" else data
    arch = {"fashion_mnist": "mnist", "cifar": "cifar"}.get(data, "auto")
    limit = {"time_limit": LIMITS[data]} if data in LIMITS else {}
    short = {"steps": 4, "batch": 16} if quick else {}
    return train.Config(
        **{"data": name, "arch": arch, "recipe": recipe, "seed": seed, **limit, **short, **changes}
    )


def trained(config: train.Config, final: bool) -> dict[str, Any]:
    """Train once; only `final` goes on to read the test images."""
    load, started = os.getloadavg()[0], time.perf_counter()
    epochs: list[Epoch] = []
    result: Result | None = None
    with tempfile.TemporaryDirectory() as folder:
        for found in train.run(config, Flags(runs=folder, name="net")):
            if isinstance(found, Epoch):
                epochs.append(found)
            if isinstance(found, Result):
                result = found
            if epochs and len(epochs) == config.epochs and not final:
                break
    row: dict[str, Any] = {
        "data": config.data,
        "seed": config.seed,
        "val_accuracy": max(epoch.val_accuracy or 0.0 for epoch in epochs),
        "epochs": len(epochs),
        "seconds": round(time.perf_counter() - started, 1),
        "load": round(load, 2),
    }
    if final and result is not None:
        row |= {"test_accuracy": result.test_accuracy, "test_interval": result.test_interval}
    return row


def ablation(data: str, recipe: str, quick: bool) -> list[dict[str, Any]]:
    """The whole recipe, then without each of its ingredients, three seeds each: validation accuracy."""
    resolved = recipes.RECIPES[recipe]
    without = [name for name in OFF if name in resolved and resolved[name] != OFF[name]]
    rows = []
    for left_out in (None, *without[: 1 if quick else None]):
        for seed in SEEDS[: 1 if quick else None]:
            changes = {} if left_out is None else {left_out: OFF[left_out]}
            found = trained(settings(data, recipe, seed, quick, **changes), final=False)
            rows.append({"recipe": recipe, "without": left_out, **found})
            print(rows[-1], flush=True)
    return rows


def svm(data: str) -> dict[str, Any]:
    """An SVM with a radial kernel on the pixels, its C and width chosen on the validation images."""
    from sklearn.svm import SVC

    found = settings(data, "plain", 0, False).load()
    (x, y), (vx, vy) = (_rows(part) for part in (found.train, found.validation))
    fitted = [SVC(C=c, gamma=g).fit(x, y) for c in (1, 10) for g in ("scale", 0.01)]
    best = max(fitted, key=lambda one: float(one.score(vx, vy)))
    accuracy = float(best.score(*_rows(found.test)))
    return {"recipe": "SVM on pixels", "data": data, "images": len(x), "test_accuracy": accuracy}


def _rows(part: Any) -> tuple[Any, Any]:
    """The first 10,000 images of a part as rows of numbers in 0..1, and their labels."""
    return part.x[:10_000].flatten(1).double().numpy() / 255, part.y[:10_000].numpy()


def keep(rows: list[dict[str, Any]]) -> None:
    """Append rows to the file of results, with the machine they were measured on."""
    known = files.read_json(RESULT) if RESULT.is_file() else []
    files.write_json(RESULT, [*known, *({**row, "machine": record.machine()} for row in rows)])


def main() -> None:
    """Run what was asked for; --quick keeps nothing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ablation", metavar="DATA")
    parser.add_argument("--final", metavar="DATA")
    parser.add_argument("--recipe", default="small-data", choices=sorted(recipes.RECIPES))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    os.chdir(Path(__file__).parent.parent)
    if given.quick:
        ablation("digits", given.recipe, quick=True)
        print(trained(settings("digits", given.recipe, 0, True), final=True), svm("digits"))
        return
    if given.ablation:
        keep(ablation(given.ablation, given.recipe, quick=False))
    if given.final:
        rows = [trained(settings(given.final, given.recipe, seed, False), final=True) for seed in SEEDS]
        rows = [{"recipe": given.recipe, **row} for row in rows]
        mean = sum(row["test_accuracy"] or 0.0 for row in rows) / len(rows)
        print(f"mean of {len(rows)} seeds: {mean:.2%}; aimed at {GOALS.get(given.final, 0):.1%}")
        keep([*rows, svm(given.final)])


if __name__ == "__main__":
    main()
