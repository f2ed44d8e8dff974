"""The fifty: fifty ViTs drawn by a stated seed, trained by `vitruvius train` on Fashion-MNIST, twice each.

    python -m benchmarks.fifty --data-dir DIR      train what is missing, two processes of one thread
    python -m benchmarks.fifty --write             write vitruvius/arch/fifty.json from the results so far

Every finished training is appended to benchmarks/results/fifty.jsonl at once, so the job may be stopped and
continued anywhere. About four core-hours in all."""

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files, runs
from vitruvius.core.config import Flags

RESULTS = Path(__file__).parent / "results" / "fifty.jsonl"
TABLE = Path(__file__).parent.parent / "vitruvius" / "arch" / "fifty.json"

SEED = 2026
SIZES = 10
"""Sizes, log-uniform from 10,000 to 1.5 million parameters, each with a group of nearly equal networks."""
GROUP = 5
CLOSE = 0.045
"""Largest relative distance of a network from the size of its group: any two of a group are within 10 %.
"""
SPACE: dict[str, Any] = {
    "depth": list(range(1, 11)),
    "width": list(range(24, 257, 8)),
    "heads": [1, 2, 3, 4, 6, 8],
    "head_dim": [8, 16, 32, 64],
    "mlp_ratio": [0.5, 4.0],  # uniform between the two
    "patch": [4, 7, 14],
    "kernel": ["softmax"],
}
SEEDS = (0, 1)
RECIPE: dict[str, Any] = {
    "data": "fashion_mnist:full",
    "validation": 0,  # all 60,000 images; the weights of the last epoch are judged
    "epochs": 3,
    "batch": 64,
    "lr": 1e-3,
    "warmup": 200,
    "weight_decay": 0.05,
    "clip": 1.0,
    "shift": 0,
    "compile": "off",
    "threads": 1,
    "device": "cpu",
    "precision": "float32",
}


def sizes() -> list[int]:
    """The groups' sizes in parameters."""
    return [round(10_000 * 150 ** (index / (SIZES - 1))) for index in range(SIZES)]


def draw() -> list[tuple[int, Arch]]:
    """The fifty architectures with their group, drawn uniformly from the space until each group is full."""
    source = random.Random(SEED)
    found: list[tuple[int, Arch]] = []
    for group, size in enumerate(sizes()):
        members: list[Arch] = []
        while len(members) < GROUP:
            arch = _one(source)
            if abs(cost.cost(arch).params / size - 1) <= CLOSE and arch not in members:
                members.append(arch)
        found += [(group, arch) for arch in members]
    return found


def _one(source: random.Random) -> Arch:
    width = source.choice(SPACE["width"])
    return Arch(
        width=width,
        depth=source.choice(SPACE["depth"]),
        heads=source.choice(SPACE["heads"]),
        head_dim=source.choice(SPACE["head_dim"]),
        mlp=round(width * source.uniform(*SPACE["mlp_ratio"])),
        patch=source.choice(SPACE["patch"]),
    )


def names() -> list[str]:
    """n01 to n50, from small to large groups."""
    return [f"n{index:02d}" for index in range(1, SIZES * GROUP + 1)]


def train(name: str, arch: Arch, seed: int, data_dir: str | None) -> dict[str, Any]:
    """Train one network by the product's own verb and return what is recorded of it."""
    from vitruvius.training.results import Result
    from vitruvius.verbs import train as verb

    started, busy = time.process_time(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / f"{name}.json"
        files.write_json(described, arch.model_dump(mode="json"))
        config = verb.Config(arch=str(described), seed=seed, data_dir=data_dir, **RECIPE)
        *_, result = verb.run(config, Flags(runs=folder, name="net"))
        weights = files.sha256(Path(folder) / "train" / "net" / "model.safetensors")
    assert isinstance(result, Result)
    return {
        "name": name,
        "seed": seed,
        "accuracy": result.test_accuracy,
        "loss": result.test_loss,
        "cpu_seconds": round(time.process_time() - started, 1),
        "weights_sha256": weights,
        "load": round(busy, 2),
        "date": date.today().isoformat(),
        "versions": runs.environment(),
    }


def missing() -> list[tuple[str, Arch, int]]:
    """The trainings without a result yet, small networks first."""
    done = {(line["name"], line["seed"]) for line in files.read_lines(RESULTS)}
    jobs = [(name, arch, seed) for name, (_, arch) in zip(names(), draw(), strict=True) for seed in SEEDS]
    return [job for job in jobs if (job[0], job[2]) not in done]


def _work(job: tuple[str, Arch, int, str | None]) -> dict[str, Any]:
    return train(*job)


def table() -> dict[str, Any]:
    """The table as it ships: architectures, accuracies where they are known, recipe and noise ceiling."""
    from vitruvius.ranking.statistics import noise_ceiling

    lines = files.read_lines(RESULTS)
    by_name = {name: sorted((line for line in lines if line["name"] == name), key=_seed) for name in names()}
    rows: list[dict[str, Any]] = []
    for name, (group, arch) in zip(names(), draw(), strict=True):
        found = by_name[name]
        accuracies = [line["accuracy"] for line in found]
        rows.append(
            {
                "name": name,
                "group": group,
                "params": cost.cost(arch).params,
                "arch": arch.model_dump(mode="json", exclude_unset=True),
                "accuracy": sum(accuracies) / len(SEEDS) if len(accuracies) == len(SEEDS) else None,
                "accuracies": accuracies,
                "cpu_seconds": [line["cpu_seconds"] for line in found],
            }
        )
    complete = [row for row in rows if row["accuracy"] is not None]
    about = {
        "what": "fifty ViTs trained by `vitruvius train` on the 60,000 training images of Fashion-MNIST and "
        "judged on its 10,000 test images; make fifty reproduces it",
        "seed": SEED,
        "space": SPACE,
        "sizes": sizes(),
        "recipe": RECIPE,
        "seeds": list(SEEDS),
        "finished": len(complete),
        "core_hours": round(sum(line["cpu_seconds"] for line in lines) / 3600, 2),
        "versions": lines[0]["versions"] if lines else None,
        "dates": sorted({line["date"] for line in lines}),
    }
    pairs = [tuple(row["accuracies"]) for row in complete]
    noise = noise_ceiling(pairs, [row["params"] for row in complete]).model_dump() if len(pairs) > 2 else None
    return {"about": about, "data": "fashion_mnist", "noise_ceiling": noise, "archs": rows}


def _seed(line: dict[str, Any]) -> int:
    return line["seed"]


def main() -> None:
    """Train what is missing, or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="the folder that holds the Fashion-MNIST files")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="only write the table")
    options = parser.parse_args()
    jobs = [] if options.write else [(*job, options.data_dir) for job in missing()]
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=20) as pool:
        for line in pool.imap_unordered(_work, jobs):
            files.append_line(RESULTS, line)
            print(
                json.dumps({key: line[key] for key in ("name", "seed", "accuracy", "cpu_seconds")}),
                flush=True,
            )
    files.write_json(TABLE, table())


if __name__ == "__main__":
    main()
