"""The cost of watching: training loops of many kinds with and without it, its memory, and `doctor model`.

python -m benchmarks.doctor.overhead           interleaved pairs of blocks of steps, writes the results
python -m benchmarks.doctor.overhead --quick   two pairs of three steps on any machine, writes nothing
python -m benchmarks.doctor.overhead --loops rnn gan

A training's first 128 steps are all watched, later ones in windows of five. Each loop makes 1,005 steps; the
hand-written ones, whose steps take a millisecond or less, make 4,005 and 10,005 to train for seconds too.
`whole` compares the sums of all steps but five at the start, the median of three trainings;
`watched_over_alone` is the median of the pairs after the first 128 steps. The Trainer of transformers makes
600 steps at once, six times.

Fails if the weights differ from those without watching, if `whole` or that median is above 1.05 (reference)
or 1.10 (any other loop), if 40 networks one after the other need more than 1.3 times the memory, or if the
check of the untrained network takes more than 3 s. What is timed is in `loops.py`, the memory in `memory.py`;
the Trainer of transformers is timed where it is installed.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median
from typing import Any

import torch
from torch import nn

from benchmarks import record
from benchmarks.doctor import loops, memory
from vitruvius import Arch, ViT
from vitruvius.core.errors import UserError
from vitruvius.doctor import diagnose
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher
from vitruvius.doctor.windows import WHOLE

TRAININGS, BLOCKS, STEPS, WARM = 3, 20, 50, 5
LONG = {"by_hand": 200, "by_hand_small": 500}  # steps in a block of loops whose steps are short
Pair = tuple[float, float]  # seconds of the same steps, watched and alone
TRAINER_RUNS, TRAINER_STEPS = 6, 600
MOST = {"reference": 1.05}  # the bound of every other loop is OTHERS
OTHERS, LONGEST, MEMORY = 1.10, 3.0, 1.3


class Timed:
    """One training that goes on block by block, watched or not; its random numbers are its own."""

    def __init__(self, loop: Callable[[], loops.Loop], watcher: Watcher | None) -> None:
        torch.manual_seed(0)
        self.watcher, self.steps = watcher, loop()
        self.random = torch.get_rng_state()
        self.model: nn.Module = nn.Identity()

    def seconds(self, steps: int) -> float:
        """Time of some steps."""
        torch.set_rng_state(self.random)
        if self.watcher:
            with installed(self.watcher):
                spent = self._steps(steps)
        else:
            spent = self._steps(steps)
        self.random = torch.get_rng_state()
        return spent

    def _steps(self, steps: int) -> float:
        started = time.perf_counter()
        for _ in range(steps):
            self.model = next(self.steps)
        return time.perf_counter() - started


def compared(loop: Callable[[], loops.Loop], blocks: int, steps: int) -> tuple[list[Pair], bool]:
    """Seconds of blocks of steps, watched and alone, and whether the weights are the same bits."""
    kinds = {"alone": Timed(loop, None), "watched": Timed(loop, Watcher())}
    order, found = random.Random(0), []
    for timed in kinds.values():
        timed.seconds(WARM)
    for _ in range(blocks):
        times = {kind: kinds[kind].seconds(steps) for kind in order.sample(sorted(kinds), 2)}
        found.append((times["watched"], times["alone"]))
    return found, same_bits(*(timed.model for timed in kinds.values()))


def same_bits(one: nn.Module, other: nn.Module) -> bool:
    """Whether two networks hold equal numbers."""
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def trainer(steps: int) -> tuple[list[Pair], bool]:
    """The same for the Trainer of transformers, which makes all its steps at once."""
    times, models = {}, []
    for kind in ("alone", "watched"):
        torch.manual_seed(0)
        model, train = loops.trainer(steps)
        models.append(model)
        started = time.perf_counter()
        with installed(Watcher()) if kind == "watched" else nullcontext():
            train()
        times[kind] = time.perf_counter() - started
    return [(times["watched"], times["alone"])], same_bits(*models)


def interval(values: list[float], draws: int = 2000) -> list[float]:
    """95 % bootstrap interval of the median."""
    chance = random.Random(0)
    medians = sorted(median(chance.choices(values, k=len(values))) for _ in range(draws))
    return [round(medians[int(draws * share)], 4) for share in (0.025, 0.975)]


def row(name: str, steps: int, trainings: list[tuple[list[Pair], bool]], first: int) -> dict[str, Any]:
    """What is printed and kept of trainings of so many steps, of which the first blocks are watched whole."""
    later = [watched / alone for pairs, _ in trainings for watched, alone in pairs[first:]]
    sums = [[sum(times) for times in zip(*pairs, strict=True)] for pairs, _ in trainings]
    wholes = sorted(round(watched / alone, 4) for watched, alone in sums)
    figures = {
        "steps": steps,
        "watched_over_alone": round(median(later), 4),
        "interval": interval(later),
        "blocks": len(later),
        "whole": median(wholes),
        "wholes": wholes,
    }
    same = all(same for _, same in trainings)
    return {"loop": name, **figures, "same_bits": same, "bound": MOST.get(name, OTHERS)}


def model_seconds() -> float:
    """Time of `doctor model` on the reference ViT."""
    x, y = torch.randn(loops.BATCH, 1, 28, 28), torch.randint(0, 10, (loops.BATCH,))
    started = time.perf_counter()
    diagnose.examine_model(lambda: (ViT(Arch()), nn.functional.cross_entropy, (x, y)), "reference")
    return round(time.perf_counter() - started, 3)


def main() -> int:
    """Measure, print and keep; 1 if a bound is missed or a weight differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = (*loops.LOOPS, "trainer")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--loops", nargs="+", choices=names, default=names, metavar="LOOP")
    asked = parser.parse_args()
    try:
        load = 0.0 if asked.quick else record.refuse_if_busy()
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    torch.set_num_threads(1)
    rows = []
    for name in asked.loops:
        if name == "trainer" and not loops.has_trainer():
            print("trainer: not measured, transformers or accelerate is not installed")
            continue
        blocks, steps = (2, 3) if asked.quick else (BLOCKS, LONG.get(name, STEPS))
        if name == "trainer":
            runs, steps = (1, 3) if asked.quick else (TRAINER_RUNS, TRAINER_STEPS)
            rows.append(row(name, steps, [trainer(steps) for _ in range(runs)], 0))
        else:
            first = 0 if asked.quick else math.ceil((WHOLE - WARM) / steps)
            trainings = [compared(loops.LOOPS[name], blocks, steps) for _ in range(TRAININGS)]
            rows.append(row(name, blocks * steps + WARM, trainings, first))
        print(rows[-1], flush=True)
    seconds = model_seconds()
    print({"model_seconds": seconds})
    held = memory.figures(3 if asked.quick else memory.NETWORKS)
    print({"memory": held})
    changed = not all(each["same_bits"] for each in rows)
    if asked.quick:
        return int(changed)
    whole = set(asked.loops) == set(names)
    if whole:
        print(record.write("doctor_overhead", rows, load=load, threads=1, model_seconds=seconds, memory=held))
    slow = any(max(each["watched_over_alone"], each["whole"]) > each["bound"] for each in rows)
    return int(changed or slow or seconds > LONGEST or held["watched_over_alone"] > MEMORY)


if __name__ == "__main__":
    sys.exit(main())
