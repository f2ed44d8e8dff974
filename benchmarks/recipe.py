"""What each ingredient of a recipe brings, and how good the recipes are: chosen on validation, tested once.

    python -m benchmarks.images.make images        the folders images/digits and images/tiles
    python -m benchmarks.recipe --ablation DATA    validation: the recipe, without each part, without all
    python -m benchmarks.recipe --final DATA       the recipe, three seeds, the test images read once per seed
    python -m benchmarks.recipe --quick            four steps of each: only shows that it runs

DATA is fashion_mnist, cifar, a folder of images or, for --ablation, few_clothes: 10,000 training images of
Fashion-MNIST, of which 20 epochs take four minutes. The peers of --final are vit-pytorch's network
for small data sets, trained as its examples are for as long as ours took, and an SVM on the pixels, on the
same split. Each row is added to results/recipe.json when it is known; rows that are there are not made again.
"""

import argparse
import dataclasses
import math
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import peers, record
from vitruvius import datasets
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.datasets import Dataset, Split
from vitruvius.training import classifier, recipes
from vitruvius.training.results import Epoch, Result
from vitruvius.verbs import train

RESULT = record.RESULTS / "recipe.json"
SEEDS = (0, 1, 2)
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
    "flip": False,
    "layer_decay": 1.0,
}
"""Each ingredient and the value that switches it off."""
GOALS = {"digits": 0.985, "tiles": 0.94, "fashion_mnist": 0.925, "cifar": 0.80}
"""The test accuracy that is aimed at."""
LIMITS = {"fashion_mnist": 30 * 60.0, "cifar": 60 * 60.0}
"""Seconds that a training may take on two cores. None is stopped by them: half a cosine is no training."""
SHORT: dict[str, Any] = {"batch": 64, "precision": "bfloat16", "compile": "on"}
"""For trainings with a limit: a step of the network for CIFAR-10 takes 259 ms with 32 bits, compiled or not,
172 with 16, compiled 138 (one core of an AMD EPYC, 17 November 2026)."""
PLANS: dict[str, dict[str, Any]] = {
    "fashion_mnist": {
        **SHORT,
        "epochs": 30,
        "set": ("depth=2", "dropout=0", "stem=32,64,128", "class_token=false", "pooling=mean"),
        "flip": True,
        "shift": 0.0,
        "crop": 0.0,
        "erase": 0.25,
        "ema": 0.999,
    },
    "cifar": {
        **SHORT,
        "epochs": 34,
        "set": ("depth=4", "dropout=0", "stem=32,64,128", "class_token=false", "pooling=mean"),
        "crop": 0.0,
        "drop_path": 0.0,  # cost 0.4 points, within chance, in the ablation of Fashion-MNIST
        "ema": 0.999,
    },
}
"""What is fixed beside `--arch auto` and the recipe, so that the cosine ends within the limit.

A training multiplies and adds six times the multiply-adds of an image's forward pass: 22 million x 6 x 55,000
x 30 epochs are 2.2e14, 49 million x 6 x 45,000 x 34 are 4.5e14. Two cores did 140 billion a second for
Fashion-MNIST, evaluation included: that is 26 and 54 minutes.
"""
PLANS["few_clothes"] = {**PLANS["fashion_mnist"], "epochs": 20}


def few_clothes(**options: Any) -> Dataset:
    """Fashion-MNIST with 10,000 of its training images, as many as people have of their own."""
    data = datasets.get("fashion_mnist", **options)
    assert data.train.y is not None
    few = Split(data.train.x[:10_000], data.train.y[:10_000])
    return dataclasses.replace(data, name="few_clothes", train=few)


def settings(data: str, recipe: str, seed: int, **changes: Any) -> train.Config:
    """The training of one row."""
    plan = PLANS.get(data, {})
    data = f"{Path(__file__)}:{data}" if data == few_clothes.__name__ else data
    return train.Config(**{"data": data, "arch": "auto", "recipe": recipe, "seed": seed, **plan, **changes})


def planned(data: str) -> str:
    """The plan of a data set in words: rows of another plan do not count as this one's."""
    return " ".join(f"{name}={value}" for name, value in PLANS[data].items() if name not in SHORT)


def decided(config: train.Config) -> tuple[train.Config, int]:
    """The settings with what recipe and data decide, and the epochs that the training takes."""
    prepared = classifier.prepare(config)
    chosen, images = prepared.settings, len(prepared.data.train)
    return chosen, math.ceil(chosen.total_steps(images) / math.ceil(images / chosen.batch))


def trained(config: train.Config, final: bool) -> dict[str, Any]:
    """Train once, to the last epoch; only `final` goes on to read the test images."""
    _, last = decided(config)
    load, started = os.getloadavg()[0], time.perf_counter()
    epochs: list[Epoch] = []
    result: Result | None = None
    with tempfile.TemporaryDirectory() as folder:
        work: Any = train.run(config, Flags(runs=folder, name="net"))
        for found in work:
            if isinstance(found, Epoch):
                epochs.append(found)
            if isinstance(found, Result):
                result = found
            if len(epochs) == last and not final:
                work.close()
    row: dict[str, Any] = {
        "val_accuracy": max(epoch.val_accuracy or 0.0 for epoch in epochs),
        "epochs": len(epochs),
        "seconds": round(time.perf_counter() - started, 1),
        "load": round(load, 2),
    }
    if final and result is not None:
        row |= {"test_accuracy": result.test_accuracy, "test_interval": result.test_interval}
    return row


def ablation(data: str, recipe: str, seeds: int, **changes: Any) -> None:
    """The whole recipe, then without each of its ingredients and without all: validation accuracy."""
    chosen, _ = decided(settings(data, recipe, SEEDS[0], **changes))
    used = {name: off for name, off in OFF.items() if getattr(chosen, name) != off}
    parts: dict[str | None, dict[str, Any]] = {None: {}, **{name: {name: off} for name, off in used.items()}}
    for seed in SEEDS[:seeds]:  # outermost, so that a part of the table has all ingredients
        for left_out, off in {**parts, "all": used}.items():
            config = settings(data, recipe, seed, **{**changes, **off})
            keep(partial(trained, config, final=False), data, recipe, without=left_out, seed=seed)


def final(data: str, recipe: str, seeds: int) -> None:
    """Our recipe with three seeds and then its peers, on the test images; with fewer seeds without peers."""
    which: dict[str, Any] = {"final": True, **({"plan": planned(data)} if data in PLANS else {})}
    rows = [
        keep(partial(trained, settings(data, recipe, seed), final=True), data, recipe, seed=seed, **which)
        for seed in SEEDS[:seeds]
    ]
    mean = sum(row["test_accuracy"] for row in rows) / len(rows)
    print(f"mean of {len(rows)} seeds: {mean:.2%}; aimed at {GOALS.get(Path(data).name, 0):.1%}")
    if data in LIMITS:
        print(f"longest: {max(row['seconds'] for row in rows):,.0f} s; the limit is {LIMITS[data]:,.0f} s")
    if seeds < len(SEEDS):
        return
    keep(partial(svm, data), data, "SVM on pixels", seed=0, final=True)
    seconds = sum(row["seconds"] for row in rows) / len(rows)
    keep(partial(vit_pytorch, data, seconds), data, "vit-pytorch", seed=0, final=True)


def svm(data: str) -> dict[str, Any]:
    """An SVM with a radial kernel on the pixels, its C and width chosen on the validation images."""
    from sklearn.svm import SVC

    found = settings(data, "plain", 0).load()
    (x, y), (vx, vy) = (_rows(part) for part in (found.train, found.validation))
    fitted = [SVC(C=c, gamma=g).fit(x, y) for c in (1, 10) for g in ("scale", 0.01)]
    best = max(fitted, key=lambda one: float(one.score(vx, vy)))
    return {"images": len(x), "test_accuracy": float(best.score(*_rows(found.test)))}


def vit_pytorch(data: str, seconds: float) -> dict[str, Any]:
    """The network of vit-pytorch for small data sets, with the sizes and the training of its examples.

    Width 1,024, 6 layers, 16 heads, dropout 0.1; Adam with 3e-5, batches of 64, mirrored images; the patch is
    ours. It trains for as long as ours took; the best epoch on validation is tested.
    """
    import copy

    import torch
    from torch.nn.functional import cross_entropy

    from vitruvius.training.batches import batches_of
    from vitruvius.training.recipe import Augment

    config = settings(data, "plain", 0)
    found = config.load()
    ours = config.resolve(found)
    shape = {"image_size": ours.image, "channels": ours.channels, "num_classes": ours.classes}
    sizes = {"dim": 1024, "depth": 6, "heads": 16, "mlp_dim": 2048, "dropout": 0.1, "emb_dropout": 0.1}
    torch.manual_seed(0)
    model = peers.vit_pytorch_file("vit_for_small_dataset").ViT(patch_size=ours.patch, **shape, **sizes)
    adam, started = torch.optim.Adam(model.parameters(), lr=3e-5), time.perf_counter()
    batches = batches_of(found, found.train, augment=Augment(flip=True))

    def accuracy(part: Any) -> float:
        model.eval()
        given = batches_of(found, part)
        with torch.no_grad():
            right = [
                (model(batch.x).argmax(1) == batch.y).sum().item()
                for batch in (given.batch(rows) for rows in torch.arange(len(part)).split(500))
            ]
        model.train()
        return float(sum(right) / len(part))

    best, kept, epoch = -1.0, copy.deepcopy(model.state_dict()), 0
    while time.perf_counter() - started < seconds:
        for rows in batches.order(epoch).split(64):
            batch = batches.batch(rows, epoch)
            adam.zero_grad()
            assert batch.y is not None
            cross_entropy(model(batch.x), batch.y).backward()
            adam.step()
            if time.perf_counter() - started > seconds:
                break
        epoch, value = epoch + 1, accuracy(found.validation)
        if value > best:
            best, kept = value, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return {
        "val_accuracy": best,
        "epochs": epoch,
        "seconds": round(time.perf_counter() - started, 1),
        "test_accuracy": accuracy(found.test),
    }


def _rows(part: Any) -> tuple[Any, Any]:
    """The first 10,000 images of a part as rows of numbers in 0..1, and their labels."""
    return part.x[:10_000].flatten(1).double().numpy() / 255, part.y[:10_000].numpy()


def keep(make: Callable[[], dict[str, Any]], data: str, recipe: str, **which: Any) -> dict[str, Any]:
    """Return a row of the file of results; make and add it if it is not there."""
    known: list[dict[str, Any]] = files.read_json(RESULT) if RESULT.is_file() else []
    key = {"data": Path(data).name, "recipe": recipe, **which}
    row = next((row for row in known if key.items() <= row.items()), None)
    if row is None:
        row = {**key, **make(), **record.today()}
        known = files.read_json(RESULT) if RESULT.is_file() else []  # another process may have added some
        files.write_json(RESULT, [*known, row])
    print({name: value for name, value in row.items() if name not in ("machine", "versions")}, flush=True)
    return row


def main() -> None:
    """Run what was asked for; --quick keeps nothing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ablation", metavar="DATA")
    parser.add_argument("--final", metavar="DATA")
    parser.add_argument("--recipe", default="auto", choices=["auto", *sorted(recipes.RECIPES)])
    parser.add_argument("--seeds", type=int, default=len(SEEDS), choices=range(1, len(SEEDS) + 1))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        short = settings("mnist", "small-data", 0, steps=4, batch=16)
        print(trained(short, final=False))
        return
    if given.ablation:
        ablation(given.ablation, given.recipe, given.seeds)
    if given.final:
        final(given.final, given.recipe, given.seeds)


if __name__ == "__main__":
    main()
