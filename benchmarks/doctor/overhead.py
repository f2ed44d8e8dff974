"""The cost of watching: the reference ViT's training loop with and without, and `doctor model` on it.

python -m benchmarks.doctor.overhead           20 interleaved pairs of blocks of 50 steps, writes the results
python -m benchmarks.doctor.overhead --quick   3 pairs of 5 steps on any machine, writes nothing

Fails if watching costs more than 1.05 times, or the check of the untrained network takes more than 3 s.
"""

import argparse
import random
import sys
import time
from statistics import median

import torch
from torch import nn

from benchmarks import record
from vitruvius import Arch, ViT
from vitruvius.core.errors import UserError
from vitruvius.doctor import diagnose
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

BLOCKS, STEPS, BATCH = 20, 50, 64
MOST, LONGEST = 1.05, 3.0


def reference() -> tuple[nn.Module, object, tuple[torch.Tensor, torch.Tensor]]:
    """The reference ViT, its loss and a batch of noise."""
    x, y = torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))
    return ViT(Arch()), nn.functional.cross_entropy, (x, y)


class Training:
    """The plain loop that is timed."""

    def __init__(self) -> None:
        self.model, _, (self.x, self.y) = reference()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def seconds(self, steps: int) -> float:
        """Time of some steps."""
        started = time.perf_counter()
        for _ in range(steps):
            self.optimiser.zero_grad()
            nn.functional.cross_entropy(self.model(self.x), self.y).backward()
            self.optimiser.step()
        return time.perf_counter() - started


def ratios(blocks: int, steps: int) -> list[float]:
    """Time watched over time alone, for pairs of neighbouring blocks in random order."""
    alone, watched, found = Training(), Training(), []
    watcher, order = Watcher(), random.Random(0)
    alone.seconds(5)
    with installed(watcher):
        watched.seconds(5)
    for _ in range(blocks):
        times = {}
        for kind in order.sample(("alone", "watched"), 2):
            if kind == "alone":
                times[kind] = alone.seconds(steps)
            else:
                with installed(watcher):
                    times[kind] = watched.seconds(steps)
        found.append(times["watched"] / times["alone"])
    return found


def interval(values: list[float], draws: int = 2000) -> list[float]:
    """95 % bootstrap interval of the median."""
    chance = random.Random(0)
    medians = sorted(median(chance.choices(values, k=len(values))) for _ in range(draws))
    return [round(medians[int(draws * share)], 4) for share in (0.025, 0.975)]


def main() -> int:
    """Measure, print and keep; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    try:
        load = 0.0 if quick else record.refuse_if_busy()
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    torch.set_num_threads(1)
    found = ratios(3, 5) if quick else ratios(BLOCKS, STEPS)
    started = time.perf_counter()
    diagnose.examine_model(reference, "reference")
    row = {
        "watched_over_alone": round(median(found), 4),
        "interval": interval(found),
        "blocks": len(found),
        "model_seconds": round(time.perf_counter() - started, 3),
    }
    print(row)
    if not quick:
        print(record.write("doctor_overhead", [row], load=load, threads=1, batch=BATCH))
    return int(row["watched_over_alone"] > MOST or row["model_seconds"] > LONGEST)  # type: ignore[operator]


if __name__ == "__main__":
    sys.exit(main())
