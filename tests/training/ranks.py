"""Experiments with several processes: forked from one program, which imports torch once and prints JSON."""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import distributed as torch_distributed

from vitruvius.arch.arch import Arch
from vitruvius.core.errors import VitruviusError
from vitruvius.nn.vit import build
from vitruvius.objectives.classify import classify
from vitruvius.training import checkpoint, distributed, liveness, loop
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Augment, Recipe
from vitruvius.training.results import Epoch

ARCH = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8, classes=2)
BATCH = 6


def job(samples: int, dropout: float = 0.0, **recipe: Any) -> Job:
    source = torch.Generator().manual_seed(0)
    x = torch.randint(0, 255, (samples, 1, 8, 8), generator=source, dtype=torch.uint8)
    y = torch.arange(samples) % 2
    model = build(ARCH.model_copy(update={"dropout": dropout}), seed=0).double()
    train = Batches(x, y, dtype=torch.float64, augment=Augment(shift=1), seed=3)
    settings = Recipe(**{"epochs": 1, "batch": BATCH, "lr": 0.01, "warmup": 2, "clip": 0.1, **recipe})
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    return Job(model, classify, train, Batches(x[:7], y[:7], dtype=torch.float64), settings, optimiser)


def forked(processes: int, work: Callable[[int], Any]) -> tuple[list[int], list[Path], Path]:
    """Start processes that join one group, do the work and write its result, or their error, to a file."""
    folder = Path(tempfile.mkdtemp())
    outputs, children = [folder / f"{rank}.json" for rank in range(processes)], []
    for rank, output in enumerate(outputs):
        child = os.fork()
        if not child:
            code = 1
            try:
                path = str(folder / "store")
                store = torch_distributed.FileStore(path, processes)  # type: ignore[attr-defined]
                with distributed.group(store, rank, processes):
                    output.write_text(json.dumps(work(rank)))
                code = 0
            except VitruviusError as error:
                output.write_text(json.dumps(str(error)))
            except BaseException as error:
                print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr)
            finally:
                os._exit(code)
        children.append(child)
    return children, outputs, folder


def waited(children: list[int]) -> list[int]:
    """The exit codes of the processes; one that never ends is killed."""
    codes: dict[int, int] = {}
    deadline = time.monotonic() + 120
    while len(codes) < len(children):
        for child in children:
            if child not in codes and (found := os.waitpid(child, os.WNOHANG))[0]:
                codes[child] = os.waitstatus_to_exitcode(found[1])
            elif child not in codes and time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    return [codes[child] for child in children]


def trained(samples: int) -> list[float]:
    """Weights, then losses, accuracies and norm of the epoch, as one list of numbers."""
    work = job(samples)
    (record,) = [record for record in loop.run(work) if isinstance(record, Epoch)]
    weights = torch.cat([parameter.detach().flatten() for parameter in work.model.parameters()]).tolist()
    numbers = [record.train_loss, record.train_accuracy, record.val_loss, record.val_accuracy]
    return [*weights, *(float(number or 0) for number in numbers), record.grad_norm]


def remainders() -> dict[str, float]:
    """The largest difference to one process, over all ranks, by processes and samples left over."""
    alone = {left: trained(BATCH + left) for left in range(BATCH)}
    found: dict[str, float] = {}
    for processes in (2, 3, 4):
        children, outputs, _ = forked(
            processes, lambda rank: {left: trained(BATCH + left) for left in range(BATCH)}
        )
        waited(children)
        for output in outputs:
            for left, numbers in json.loads(output.read_text()).items():
                gaps = [abs(a - b) for a, b in zip(numbers, alone[int(left)], strict=True)]
                found[f"{processes} {left}"] = max(gaps + [found.get(f"{processes} {left}", 0.0)])
    return found


def rng() -> dict[str, Any]:
    """Every rank draws its own dropout, and gets its own state back from a checkpoint."""
    state = Path(tempfile.mkdtemp()) / "state"

    def work(rank: int) -> Any:
        torch.manual_seed(rank)
        training = job(12, dropout=0.5)
        checkpoint.write(state, training, {})
        distributed.all_reduce_sum(torch.zeros(1))  # rank 0 has written
        draws = torch.rand(3).tolist()
        checkpoint.read(state, training)
        return [draws, torch.rand(3).tolist()]

    children, outputs, _ = forked(3, work)
    waited(children)
    pairs = [json.loads(output.read_text()) for output in outputs]
    differ = len({str(before) for before, _ in pairs}) == len(pairs)
    return {"differ": differ, "restored": [before == after for before, after in pairs]}


def endless() -> None:
    for _ in loop.run(job(30, epochs=100_000)):
        pass


def killed(victim: int) -> list[str]:
    """What the survivors say when a rank is killed in the middle of a training."""
    started = Path(tempfile.mkdtemp())

    def work(rank: int) -> None:
        (started / str(rank)).touch()
        endless()

    children, outputs, _ = forked(3, work)
    while len(list(started.iterdir())) < 3:
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(children[victim], signal.SIGKILL)
    waited(children)
    return [json.loads(output.read_text()) for rank, output in enumerate(outputs) if rank != victim]


def stuck() -> dict[str, int]:
    """The exit codes of processes whose main threads notice nothing."""
    started = Path(tempfile.mkdtemp())
    liveness.PATIENCE = 0.2

    def work(rank: int) -> None:
        (started / str(rank)).touch()
        time.sleep(1000)

    children, _, _ = forked(3, work)
    while len(list(started.iterdir())) < 3:
        time.sleep(0.01)
    os.kill(children[1], signal.SIGKILL)
    codes = waited(children)
    return {str(rank): code for rank, code in enumerate(codes) if rank != 1}


def stopped() -> list[str]:
    """What all ranks say when one of them is asked to stop."""

    def work(rank: int) -> None:
        training = job(30, epochs=100_000)
        for record in loop.run(training):
            if rank == 1 and training.cursor.step == 7:
                training.stop.signal = int(signal.SIGTERM)
            del record

    children, outputs, _ = forked(3, work)
    waited(children)
    return [json.loads(output.read_text()) for output in outputs]


def main() -> None:
    torch.set_num_threads(1)
    found = {"remainders": remainders(), "rng": rng(), "stopped": stopped()}
    found["killed"] = {str(victim): killed(victim) for victim in range(3)}
    print(json.dumps({**found, "stuck": stuck()}))


if __name__ == "__main__":
    main()
