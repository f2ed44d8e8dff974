"""Many JPEGs: decoding per core against pillow alone, the second start, memory, training against memory.

    python -m benchmarks.images.decode           50,000 images of 256 pixels; writes results/images.json
    python -m benchmarks.images.decode --quick   300 images; nothing is written, no figure means anything

The images are soft random shapes of ten classes, drawn from the seed 0. Each measurement is a process of its
own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks import record

SIDE, CLASSES, SEED = 256, 10, 0
STEPS, BATCH = 200, 64  # of the training whose speed is compared
MEMORY_IMAGES = 2_000  # those of the training from memory


def make(folder: Path, count: int) -> None:
    """Write JPEGs of 256 x 256 pixels, quality 90."""
    rng = np.random.default_rng(SEED)
    for number in range(count):
        path = folder / f"class{number % CLASSES}" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        small = Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8))
        small.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path, quality=90)


def pillow(folder: str, side: str) -> dict[str, Any]:
    """Decode and resize up to 2,000 images by pillow alone, in one process."""
    paths = sorted(Path(folder).rglob("*.jpg"))[:2000]
    began = time.perf_counter()
    for path in paths:
        with Image.open(path) as image:
            np.asarray(image.convert("RGB").resize((int(side), int(side)), Image.Resampling.BILINEAR))
    return {"images_per_second": len(paths) / (time.perf_counter() - began)}


def load(folder: str, side: str) -> dict[str, Any]:
    """Load the data set, as a training does; say how long it took and how much memory was used."""
    from vitruvius.datasets import DataChoice

    began = time.perf_counter()
    choice = DataChoice(data=f"folder:{folder}@{side}")
    for _ in choice.decode():
        pass
    data = choice.load()
    seconds = time.perf_counter() - began
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds,
        "images": len(data.train) + len(data.validation) + len(data.test),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "largest_worker_mb": children.ru_maxrss / 1024,
        "worker_cpu_seconds": children.ru_utime + children.ru_stime,
    }


def train(folder: str, side: str, where: str) -> dict[str, Any]:
    """Time optimiser steps on the mapped pixels, or on a copy of them in memory."""
    from dataclasses import replace

    import torch

    from vitruvius.datasets import DataChoice, Split
    from vitruvius.training import classifier, device
    from vitruvius.training.recipe import ClassifierSettings

    data = DataChoice(data=f"folder:{folder}@{side}").load()
    if where == "memory":
        data = replace(data, train=Split(data.train.x.clone(), data.train.y))
    settings = ClassifierSettings(arch="auto", batch=BATCH, compile="off", precision="float32", workers=1)
    job = classifier.job(settings, data, settings.resolve(data), device.choose_device("cpu"))
    order = job.train.order(0)
    began = 0.0
    for step in range(STEPS + 5):
        if step == 5:
            began = time.perf_counter()
        rows = order[torch.arange(step * BATCH, (step + 1) * BATCH) % len(order)]
        loss = job.measure(job.model, job.train.batch(rows, 0), None)
        loss.value.backward()
        job.optimiser.step()
        job.optimiser.zero_grad()
    return {"images_per_second": STEPS * BATCH / (time.perf_counter() - began)}


def measured(name: str, *words: str, cache: Path) -> dict[str, Any]:
    """Run one of the functions above in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.images.decode", "--measure", name, *words]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result = json.loads(found.stdout)
    assert isinstance(result, dict)
    return result


def rows(folder: Path, side: str, cores: int) -> list[dict[str, Any]]:
    """Measure everything on the images of a folder."""
    cache = folder.parent / "cache"
    alone = measured("pillow", str(folder), side, cache=cache)
    first = measured("load", str(folder), side, cache=cache)
    second = measured("load", str(folder), side, cache=cache)
    mapped = measured("train", str(folder), side, "cache", cache=cache)
    memory = measured("train", str(folder), side, "memory", cache=cache)
    per_core = first["images"] / first["seconds"] / cores
    return [
        {"what": "pillow alone, one process", **alone},
        {"what": "first start", **first, "images_per_second_per_core": per_core},
        {"what": "second start", **second},
        {"what": "training from the cache", **mapped},
        {"what": "training from memory", **memory},
        {"what": "cache / memory", "ratio": mapped["images_per_second"] / memory["images_per_second"]},
    ]


def main() -> None:
    """Make the images, measure, and write the result unless it is a quick try."""
    if sys.argv[1:2] == ["--measure"]:
        name, *words = sys.argv[2:]
        functions: dict[str, Callable[..., dict[str, Any]]] = {"pillow": pillow, "load": load, "train": train}
        print(json.dumps(functions[name](*words)))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--side", default="64")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    load_average = 0.0 if asked.quick else record.refuse_if_busy()
    count, cores = (300 if asked.quick else asked.images), len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as root:
        make(Path(root) / "photos", count)
        if asked.quick:
            global STEPS
            STEPS = 3
        found = rows(Path(root) / "photos", asked.side, cores)
    for row in found:
        print(json.dumps(row))
    if not asked.quick:
        about = {"images": count, "side": int(asked.side), "cores": cores, "load": load_average}
        print(record.write("images", found, **about))


if __name__ == "__main__":
    main()
