"""The training step that `train` really takes, against vit-pytorch, transformers and torch's own encoder.

    pip install --no-deps vit-pytorch einops
    python -m benchmarks.train_step             every case, about an hour on idle cores, writes the results
    python -m benchmarks.train_step --quick     one tiny case on any machine, writes nothing
    python -m benchmarks.train_step --only mnist,32 --keep-memory

Ours is `loop.prepare` and `loop.step`: batch assembly, augmentation, schedule, clipping and metrics included,
which the peers do not do; `bare` is our network's forward, backward and optimiser alone. Peers run eagerly
with torch's default optimiser, as people use them, and compiled for this size with its fused one. All live in
one process and take turns; ratios are medians over paired blocks with an interval of 95 %. The time to
compile is left out and stated. The share of the matmul peak is the step's arithmetic (three forward passes)
over what one large product reaches in the same process, by the faster library.

All share one memory allocator: glibc's as a script finds it or, with --keep-memory, one that keeps freed
memory, as `train` does.

Fails if, without dropout and against the best compiled peer, a step is less than 1.7 times as fast with 64
dimensions per head, 1.4 times with 8, 1.0 times for `cifar` and ViT-Ti/16, or if `loop.step` takes more than
5 % longer than `bare`."""

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import peers, record, turns
from benchmarks.turns import Contestant
from vitruvius import optimisers
from vitruvius.arch import tables
from vitruvius.arch.arch import Arch
from vitruvius.core import allocator, files
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import build
from vitruvius.objectives import Batch
from vitruvius.objectives.classify import classify
from vitruvius.training import compiling, device, distributed, loop
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Augment, Recipe

IMAGES = 2048  # in memory, of which the batches are taken
LONG = 10**15  # multiply-adds of a run that is long enough for everything
ASKED = {"mnist": 1.7, "mnist-slim": 1.4, "cifar": 1.0, "vit_tiny_patch16_224": 1.0}
OVERHEAD = 1.05


class Case(NamedTuple):
    """One row of the comparison."""

    preset: str
    batch: int
    dropout: float
    depth: int = 0  # 0: the preset's

    @property
    def arch(self) -> Arch:
        changed = (f"dropout={self.dropout}", *((f"depth={self.depth}",) if self.depth else ()))
        return tables.arch(self.preset, changed)

    @property
    def name(self) -> str:
        return f"{self.preset},{self.batch},dropout {self.dropout}"


CASES = [
    Case(preset, batch, dropout)
    for preset in ("mnist", "mnist-slim", "cifar")
    for batch in (32, 256)
    for dropout in (0.0, 0.1)
] + [Case("vit_tiny_patch16_224", 8, dropout) for dropout in (0.0, 0.1)]


def job(case: Case, compiled: bool) -> Job:
    """A training as the verb builds it, on random images."""
    arch = case.arch
    source = torch.Generator().manual_seed(0)
    shape = (IMAGES, arch.channels, arch.image, arch.image)
    x = torch.randint(0, 256, shape, generator=source, dtype=torch.uint8)
    y = torch.randint(0, arch.classes, (IMAGES,), generator=source)
    train = Batches(x, y, torch.tensor(0.5), torch.tensor(0.25), 0, Augment(shift=2))
    model = build(arch, 0).train()
    optimiser = optimisers.build("adamw", model, 1e-3, 0.05)
    recipe = Recipe(batch=case.batch, epochs=1000)
    found = Job(model, classify, train, train, recipe, optimiser)
    if compiled:
        found.compiled = compiling.compiled(model, classify, train.device)
    return found


def ours(case: Case, compiled: bool) -> Contestant:
    """Our whole step."""
    work = job(case, compiled)
    order, position = work.train.order(0), itertools.count()
    steps = len(order) // case.batch

    def take(count: int) -> None:
        for _ in range(count):
            begin = next(position) % steps * case.batch
            loop.prepare(work, order, begin)
            loop.step(work, order[begin : begin + case.batch])

    return take


def network(model: nn.Module, case: Case, compiled: bool) -> Contestant:
    """Forward, backward and optimiser of a peer, on one batch of normalised images."""
    parameters = model.train().parameters()
    optimiser = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.05, fused=compiled or None)
    forward: Any = torch.compile(model, dynamic=False) if compiled else model
    return _steps(lambda x, y: cross_entropy(forward(x), y), optimiser, case)


def bare(case: Case, compiled: bool) -> Contestant:
    """The same of our network, compiled as `train` compiles it."""
    work = job(case, compiled)
    measure, source = work.compiled or work.measure, torch.Generator()
    return _steps(lambda x, y: measure(work.model, Batch(x, y), source).value, work.optimiser, case)


def _steps(
    loss: Callable[[Tensor, Tensor], Tensor], optimiser: torch.optim.Optimizer, case: Case
) -> Contestant:
    x, y = _batch(case.arch, case.batch)

    def take(count: int) -> None:
        for _ in range(count):
            loss(x, y).backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return take


def contestants(case: Case, compiles: bool) -> dict[str, Contestant]:
    """Ours and the peers, eager and compiled."""
    found = {"vitruvius, eager": ours(case, False), "bare, eager": bare(case, False)}
    for name, make in peers.makers(case.arch).items():
        found[f"{name}, eager"] = network(make(), case, compiled=False)
    if compiles:
        found |= {"vitruvius, compiled": ours(case, True), "bare, compiled": bare(case, True)}
        for name, make in peers.makers(case.arch).items():
            found[f"{name}, compiled"] = network(make(), case, compiled=True)
    return found


@contextmanager
def workers(case: Case, count: int, keeps: bool) -> Iterator[Contestant]:
    """Our step shared by processes, which wait for their turn."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.train_step",
        "--share",
        f"{CASES.index(case)},{count},{int(keeps)}",
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def take(steps: int) -> None:
            print(steps, file=process.stdin, flush=True)
            if process.stdout is not None and process.stdout.readline().strip() != "done":
                raise SystemExit("the processes that share a step have ended")

        yield take
        process.stdin.close()


def share(described: str) -> None:
    """Be one of the processes that share a step; rank 0 is told how many steps to take."""
    number, count, keeps = map(int, described.split(","))
    again = [sys.executable, "-m", "benchmarks.train_step", "--share", described]
    with distributed.init(), distributed.start(count, again), memory(bool(keeps)):
        torch.set_num_threads(1)
        take = ours(CASES[number], compiled=True)
        while True:
            told = distributed.broadcast_string(sys.stdin.readline().strip() or "0")
            if told == "0":
                return
            take(int(told))
            if distributed.rank() == 0:
                print("done", flush=True)


def memory(keeps: bool) -> AbstractContextManager[None]:
    """The memory allocator of a process: glibc's own, or one that keeps what is freed."""
    return allocator.keeping_freed_memory() if keeps else nullcontext()


def measure(case: Case, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one case."""
    arch = case.arch
    count = device.choose_workers(0, arch, case.batch, LONG, torch.device("cpu"), options.threads)
    with ExitStack() as stack:
        found = contestants(case, not options.quick)
        if count > 1 and not options.quick:
            found["vitruvius, workers"] = stack.enter_context(workers(case, count, options.keep_memory))
        first = {name: _first(take) for name, take in found.items()}
        # A block of large steps is as long as one of small ones, about a second: more would take hours.
        length = min(options.length, max(2, round(1 / _first(found["vitruvius, eager"]))))
        times = turns.seconds(found, options.blocks, length)
        peak = turns.matmul_peak(256 if options.quick else 2048)
    best = _fastest(times, "vitruvius")
    rows = []
    for name, values in times.items():
        median, low, high = turns.ratio(values, times[best])
        step = sorted(values)[len(values) // 2]
        macs = computed_macs(arch) if name.startswith(("vitruvius", "bare")) else peers.macs(arch)
        rows.append(
            {
                "preset": case.preset,
                "batch": case.batch,
                "dropout": case.dropout,
                "memory_kept": options.keep_memory,
                "who": name,
                "ms": round(1e3 * step, 2),
                "ours_is_faster_by": round(median, 3),
                "interval": [round(low, 3), round(high, 3)],
                "first_call_s": round(first[name], 1),
                "share_of_matmul_peak": round(6 * case.batch * macs / step / peak, 3),
                "images_per_second": round(case.batch / step),
            }
        )
        print(
            f"{case.name:<36} {name:<22} {rows[-1]['ms']:>8} ms ours x{median:.2f} ({low:.2f} to {high:.2f})",
            flush=True,
        )
    return rows


def computed_macs(arch: Arch) -> float:
    """Return the multiply-adds per image that our forward pass really computes, counted by torch."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        build(arch, 0).eval()(_batch(arch, 8)[0])
    return counter.get_total_flops() / 16


def others(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of earlier runs whose cases were not measured now; each has its date, load and command."""
    path = record.RESULTS / "train_step.json"
    case = itemgetter("preset", "batch", "dropout", "memory_kept")
    now = set(map(case, rows))
    known = files.read_json(path)["rows"] if path.exists() else []
    return [row for row in known if case(row) not in now]


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """What the measured ratios break of what is asked."""
    found = []
    for preset, batch in dict.fromkeys((row["preset"], row["batch"]) for row in rows if not row["dropout"]):
        case = {
            row["who"]: row
            for row in rows
            if (row["preset"], row["batch"], row["dropout"]) == (preset, batch, 0.0)
        }
        compiled = [
            row["ours_is_faster_by"] for name, row in case.items() if _is_peer(name) and "compiled" in name
        ]
        if compiled and min(compiled) < ASKED[preset]:
            found.append(
                f"{preset}, batch {batch}: {min(compiled)} times the best compiled peer, not {ASKED[preset]}"
            )
        for way in ("eager", "compiled"):
            if f"bare, {way}" in case:
                overhead = case[f"vitruvius, {way}"]["ms"] / case[f"bare, {way}"]["ms"]
                if overhead > OVERHEAD:
                    found.append(
                        f"{preset}, batch {batch}, {way}: the step takes {overhead:.2f} of the bare network"
                    )
    return found


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--only",
        action="append",
        metavar="CASE",
        help="cases whose name begins with this: PRESET[,BATCH[,dropout RATE]]; may be repeated",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one tiny case, not compiled; nothing written or judged"
    )
    parser.add_argument("--keep-memory", action="store_true", help="freed memory stays with the process")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share:
        share(options.share)
        return
    if options.quick:
        options.blocks, options.length = 3, 2
        measure(Case("mnist-slim", 8, 0.0, depth=1), options)
        return
    try:
        load = record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    if missing := peers.missing():
        raise SystemExit(f"{', '.join(missing)} missing: pip install --no-deps vit-pytorch einops; '.[slow]'")
    torch.set_num_threads(options.threads)
    # The first call is stated: it must not find last week's code.
    torch.compiler.config.force_disable_caches = True
    asked = tuple(options.only or ("",))
    words = ["--keep-memory"] * options.keep_memory + [f"--only '{case}'" for case in asked if case]
    command = " ".join(["python -m benchmarks.train_step", *words])
    run = {"date": record.today()["date"], "load": load, "command": command}
    rows: list[dict[str, Any]] = []
    with memory(options.keep_memory):
        for case in (one for one in CASES if one.name.startswith(asked)):
            rows += [row | run for row in measure(case, options)]
            # After every case: a run that is stopped keeps what it has measured.
            print(record.write("train_step", [*others(rows), *rows], threads=options.threads), flush=True)
    if broken := failures(rows):
        raise SystemExit("\n".join(broken))


def _batch(arch: Arch, batch: int) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(0)
    x = torch.randn(batch, arch.channels, arch.image, arch.image, generator=source)
    return x, torch.randint(0, arch.classes, (batch,), generator=source)


def _first(take: Contestant) -> float:
    started = time.perf_counter()
    take(1)
    return time.perf_counter() - started


def _fastest(times: dict[str, list[float]], whose: str) -> str:
    return min(
        (name for name in times if name.startswith(whose)),
        key=lambda name: sorted(times[name])[len(times[name]) // 2],
    )


def _is_peer(name: str) -> bool:
    return not name.startswith(("vitruvius", "bare"))


if __name__ == "__main__":
    main()
