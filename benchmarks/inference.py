"""Evaluating and predicting 10,000 images, against the same networks of other libraries.

    pip install --no-deps vit-pytorch einops
    python -m benchmarks.inference             40 minutes on two idle cores, writes the results
    python -m benchmarks.inference --only mnist --only mnist-slim     eight minutes
    python -m benchmarks.inference --quick     few images of a tiny network on any machine, writes nothing

Ours is what `train` does after an epoch (`evaluate`: bytes to scores, loss and accuracy) and what `predict`
does with pictures that are read (`predict`: normalised, probabilities, the best classes by name). Peers only
compute the scores of normalised images, in batches of the same size, eagerly and compiled. All take turns in
one process, which keeps freed memory for all of them, as evaluation and `predict` do.

Fails if either is less than 1.5 times as fast as the best peer."""

import argparse
from typing import Any

import torch
from torch import nn

from benchmarks import peers, record, turns
from benchmarks.turns import Contestant
from vitruvius.arch import tables
from vitruvius.arch.arch import Arch
from vitruvius.core import allocator, files
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import build
from vitruvius.objectives.classify import classify
from vitruvius.training import loop, predictor
from vitruvius.training.batches import Batches
from vitruvius.training.loop import EVALUATION_BATCH, Job
from vitruvius.training.predictor import Predictor
from vitruvius.training.recipe import Recipe

IMAGES = 10_000
PRESETS = ("mnist", "mnist-slim", "cifar")
ASKED = 1.5


def contestants(arch: Arch, images: int, compiles: bool) -> dict[str, Contestant]:
    """Ours and the peers; each call looks at all images."""
    source = torch.Generator().manual_seed(0)
    x = torch.randint(
        0, 256, (images, arch.channels, arch.image, arch.image), generator=source, dtype=torch.uint8
    )
    y = torch.randint(0, arch.classes, (images,), generator=source)
    batches, model = Batches(x, y, torch.tensor(0.5), torch.tensor(0.25)), build(arch, 0)
    job = Job(model, classify, batches, batches, Recipe(), torch.optim.SGD(model.parameters(), lr=0.1))
    names = tuple(str(number) for number in range(arch.classes))
    about = Predictor(
        build(arch, 0).eval(), names, *predictor.scale_tensors([0.5] * arch.channels, [0.25] * arch.channels)
    )
    pictures = list(x.float() / 255)
    found: dict[str, Contestant] = {
        "vitruvius, evaluate": lambda count: _times(count, lambda: loop.evaluate(job, batches)),
        "vitruvius, predict": lambda count: _times(
            count, lambda: list(predictor.classify(about, pictures, 5))
        ),
    }
    normal = (x.float() / 255 - 0.5) / 0.25
    for name, make in peers.makers(arch).items():
        found[f"{name}, eager"] = _scores(make().eval(), normal)
        if compiles:
            compiled: Any = torch.compile(make().eval(), dynamic=False)
            found[f"{name}, compiled"] = _scores(compiled, normal)
    return found


def measure(preset: str, images: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one preset, printed as they are found."""
    arch = tables.arch(preset, ("depth=1",) if options.quick else ())
    found = contestants(arch, images, not options.quick)
    for take in found.values():
        take(1)  # compiles, and fills the caches
    times = turns.seconds(found, options.blocks, 1)
    rows = []
    for name, values in times.items():
        row: dict[str, Any] = {
            "preset": preset,
            "who": name,
            "seconds": round(sorted(values)[len(values) // 2], 4),
        }
        for way in ("evaluate", "predict"):
            row[f"{way}_is_faster_by"] = [
                round(value, 3) for value in turns.ratio(values, times[f"vitruvius, {way}"])
            ]
        rows.append(row)
        ratios = "  ".join(f"{way} x{row[f'{way}_is_faster_by'][0]:.2f}" for way in ("evaluate", "predict"))
        print(f"{preset:<12} {name:<24} {row['seconds']:>8} s  {ratios}", flush=True)
    return rows


def others(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of earlier runs whose presets were not measured now; each has its date and load."""
    path, now = record.RESULTS / "inference.json", {row["preset"] for row in rows}
    known = files.read_json(path)["rows"] if path.exists() else []
    return [row for row in known if row["preset"] not in now]


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """What the measured ratios break of what is asked."""
    found = []
    for preset in dict.fromkeys(row["preset"] for row in rows):
        for way in ("evaluate", "predict"):
            ratios = [
                row[f"{way}_is_faster_by"][0]
                for row in rows
                if row["preset"] == preset and not row["who"].startswith("vitruvius")
            ]
            if min(ratios) < ASKED:
                found.append(f"{preset}, {way}: {min(ratios)} times the best peer, not {ASKED}")
    return found


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.inference", description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", action="append", choices=PRESETS, help="this preset; may be repeated")
    parser.add_argument(
        "--quick", action="store_true", help="few images, tiny network, nothing written or judged"
    )
    options = parser.parse_args()
    if options.quick:
        options.blocks = 2
        measure("mnist-slim", 600, options)
        return
    try:
        load = record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    if missing := peers.missing():
        raise SystemExit(f"{', '.join(missing)} missing: pip install --no-deps vit-pytorch einops; '.[slow]'")
    torch.set_num_threads(options.threads)
    run = {"date": record.today()["date"], "load": load}
    with allocator.keeping_freed_memory():
        rows = [row | run for preset in options.only or PRESETS for row in measure(preset, IMAGES, options)]
    print(record.write("inference", [*others(rows), *rows], threads=options.threads, images=IMAGES))
    if broken := failures(rows):
        raise SystemExit("\n".join(broken))


def _times(count: int, work: Any) -> None:
    for _ in range(count):
        work()


def _scores(model: nn.Module, images: torch.Tensor) -> Contestant:
    def take(count: int) -> None:
        with torch.no_grad():
            for _ in range(count):
                for part in images.split(EVALUATION_BATCH):
                    model(part)

    return take


if __name__ == "__main__":
    main()
