"""Check on your GPUs what was built without any: about five minutes, exit code 1 if something is wrong.

    python -m benchmarks.gpu_check                all GPUs of this machine
    python -m benchmarks.gpu_check --device cpu   what makes sense on a CPU: tests this script

Every check prints one line: `right`, `WRONG` with what was found, or `skipped` with the reason."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from vitruvius import optimisers
from vitruvius.arch import tables
from vitruvius.core import files
from vitruvius.datasets import Dataset, Split
from vitruvius.nn.vit import build
from vitruvius.objectives import Batch, Loss
from vitruvius.objectives.classify import classify
from vitruvius.training import device, loop, memory
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Augment, Recipe

ARCH = tables.arch("mnist-slim", ("dropout=0",))
STEPS = 20
ENDS_WITHIN = 10.0  # seconds, of the other processes after one was killed


class Skipped(Exception):
    """A check that means nothing here."""


def toy(data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """Bright left halves against bright right halves: 1,000 images of the size of MNIST; 7 are left over."""
    source = torch.Generator().manual_seed(5)
    y = torch.arange(1407) % 2
    x = torch.randint(0, 120, (len(y), 1, 28, 28), generator=source, dtype=torch.uint8)
    x[y == 0, :, :, :14] += 100
    x[y == 1, :, :, 14:] += 100
    train, val, test = (Split(x[a:b], y[a:b]) for a, b in ((0, 1007), (1007, 1207), (1207, 1407)))
    return Dataset("toy", train, val, test, classes=("left", "right"), mean=(0.4,), std=(0.2,), sha256="toy")


def job(where: torch.device, dtype: torch.dtype = torch.float32, **options: object) -> Job:
    """A small training of the reference network."""
    data = toy()
    augment = Augment(shift=2, crop=0.1, flip=True)
    x, y = data.train.x, data.train.y
    scale = torch.tensor(0.4), torch.tensor(0.2)
    train = Batches(x, y, *scale, seed=1, augment=augment, dtype=dtype, device=where)
    model = build(ARCH, 0).to(where, dtype)
    optimiser = optimisers.build("adamw", model, 1e-3, 0.05)
    recipe = Recipe(**{"epochs": 1, "warmup": 10, **options})
    return Job(model, classify, train, replace(train, augment=Augment()), recipe, optimiser)


def steps(work: Job, count: int = STEPS) -> Tensor:
    """Take some steps; return all weights."""
    for index in range(count):
        loop.step(work, torch.arange(index * 32, index * 32 + 32))
    return torch.cat([parameter.detach().flatten() for parameter in work.model.parameters()]).cpu()


def compares_with_cpu(where: torch.device) -> str:
    """float64 steps on the device equal those on the CPU."""
    if where.type == "mps":
        raise Skipped("no float64 on this device")
    gap = float(
        (steps(job(where, torch.float64)) - steps(job(torch.device("cpu"), torch.float64))).abs().max()
    )
    assert gap < 1e-6, f"weights differ by {gap:.1e} after {STEPS} steps"
    return f"largest difference of a weight after {STEPS} steps: {gap:.1e}"


def never_waits(where: torch.device) -> str:
    """Steps between two readings make the host wait for the GPU nowhere."""
    if where.type != "cuda":
        raise Skipped("torch finds waits on NVIDIA GPUs only")
    work = job(where)
    work.train = work.train.placed()
    steps(work, 3)
    loop.read_numbers(work)
    torch.cuda.set_sync_debug_mode("error")
    try:
        steps(work, 10)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return "ten steps, no wait"


def same_batches(where: torch.device) -> str:
    """Images that stay on the device and images that are copied there give the same batches."""
    here = job(where).train
    resident, index = here.placed(), torch.arange(100)
    if here.is_copied:
        here.prefetch([index])
    first, second = here.batch(index, 0), resident.batch(index, 0)
    host = job(torch.device("cpu")).train.batch(index, 0)
    assert torch.equal(first.x, second.x), "they differ"
    gap = float((first.x.cpu() - host.x).abs().max())
    assert gap < 0.05, f"augmented pixels differ by {gap} from those of a CPU"
    return f"equal; largest difference to a CPU: {gap:.1e}"


def learns_in_16_bits(where: torch.device) -> str:
    """The loss falls in bfloat16 and, with its scaler, in float16."""
    said = []
    for dtype in (torch.bfloat16, torch.float16):
        work = job(where, lr=1e-3)
        work.autocast = dtype
        work.scaler = torch.amp.GradScaler(where.type) if dtype is torch.float16 else None
        before = loop.evaluate(work, work.validation)[0]
        steps(work, 30)
        after = loop.evaluate(work, work.validation)[0]
        assert after < 0.7 * before, f"{dtype}: the loss went from {before:.3f} to {after:.3f}"
        said.append(f"{str(dtype).removeprefix('torch.')} {before:.2f} to {after:.2f}")
    return ", ".join(said) + f"; auto is {device.choose_precision('auto', where)}"


def memory_as_predicted(where: torch.device) -> str:
    """A step takes the memory that the guard expects; --save-memory takes less."""
    if where.type != "cuda":
        raise Skipped("measured on NVIDIA GPUs only")
    arch, found = tables.arch("vit_tiny_patch16_224"), []
    for recomputes in (False, True):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        model = build(arch, 0).to(where).train()
        model.recomputes = recomputes
        optimiser = optimisers.build("adamw", model, 1e-3, 0.05)
        for _ in range(2):
            model(torch.randn(64, 3, 224, 224, device=where)).logsumexp(-1).mean().backward()
            optimiser.step()
            optimiser.zero_grad()
        expected = memory.need(arch, 64, where.type, save_memory=recomputes).device
        found.append((torch.cuda.max_memory_allocated(), expected))
    (plain, expected), (small, _) = found
    ratio = plain / expected
    assert 0.5 < ratio < 1.3, f"{plain / 2**20:,.0f} MiB were used, {expected / 2**20:,.0f} expected"
    assert small < 0.6 * plain, f"--save-memory used {small / plain:.0%} of the memory"
    return f"used / expected {ratio:.2f}; --save-memory needs {small / plain:.0%}"


def compiles(where: torch.device) -> str:
    """A compiled step has the loss of a plain one."""
    plain, compiled = job(where), job(where)
    forward: Any = torch.compile(compiled.model)

    def measure(_: nn.Module, batch: Batch, generator: torch.Generator | None) -> Loss:
        return classify(forward, batch, generator)

    compiled.compiled = measure
    gap = float((steps(plain, 5) - steps(compiled, 5)).abs().max())
    assert gap < 1e-2, f"weights differ by {gap:.1e} after 5 steps"
    return f"largest difference of a weight after 5 steps: {gap:.1e}"


def resumes(where: torch.device) -> str:
    """A run that is stopped and resumed ends as one that is not, and says whether to the bit."""
    with tempfile.TemporaryDirectory() as root:
        words = [*_words(root, where), "--set", "dropout=0.1"]
        _train([*words, "--name", "whole"])
        _train([*words, "--name", "cut", "--time-limit", "0.001"])
        _train(["--resume", "cut", "--runs", root, "--time-limit", "1000", "--quiet"])
        folders = [Path(root) / "train" / name for name in ("whole", "cut")]
        losses = [files.read_lines(folder / "records.jsonl")[-1]["val_loss"] for folder in folders]
        environment = files.read_json(folders[0] / "manifest.json")["environment"]
        first, second = (load_file(folder / "model.safetensors") for folder in folders)
    assert abs(losses[0] - losses[1]) < 0.02, f"validation losses {losses}"
    promised = "bits" not in environment
    same = all(torch.equal(first[name], second[name]) for name in first)
    assert same or not promised, "the bits differ although they were promised"
    return (
        f"{environment['device']}: bits {'equal' if same else 'differ'}, {'' if promised else 'not '}promised"
    )


def several_train_as_one(where: torch.device) -> str:
    """One process per GPU trains as one process does, with a last batch that has too few samples for all."""
    processes = _processes(where)
    with tempfile.TemporaryDirectory() as root:
        words = [*_words(root, where), "--precision", "float64", "--set", "dropout=0"]
        _train([*words, "--name", "one"])
        _train([*words, "--name", "several"], processes)
        states = [
            sorted((Path(root) / "train" / name / "state").glob("*.safetensors"))[-1]
            for name in ("one", "several")
        ]
        one, several = map(load_file, states)
    gap = max(float((one[name] - several[name]).abs().max()) for name in one if name.startswith("model."))
    assert gap < 1e-6, f"weights differ by {gap:.1e}"
    return f"{processes} processes, largest difference of a weight: {gap:.1e}"


def a_lost_rank_ends_the_others(where: torch.device) -> str:
    """One of the processes is killed: the others end within ten seconds, and the run resumes."""
    processes = _processes(where)
    with tempfile.TemporaryDirectory() as root:
        words = [*_words(root, where), "--name", "a", "--time-limit", "300"]
        words[words.index("--epochs") + 1] = "100000"
        command = [*_command(processes), *words]
        training = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            seconds = _killed_one(training, Path(root) / "train" / "a" / "state")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(training.pid, signal.SIGKILL)
        _train(["--resume", "a", "--runs", root, "--time-limit", "1", "--quiet"], processes)
    assert seconds < ENDS_WITHIN, f"it took {seconds:.0f} s"
    return f"after {seconds:.1f} s, and the run goes on"


def _killed_one(training: "subprocess.Popen[str]", state: Path) -> float:
    """Kill one process after the first checkpoint; return after how many seconds all have ended."""
    deadline = time.monotonic() + 240
    while not (state.is_dir() and any(state.glob("*.json"))):
        assert training.poll() is None, "the training ended by itself"
        assert time.monotonic() < deadline, "no checkpoint after four minutes"
        time.sleep(0.2)
    began = time.monotonic()
    os.kill(_children(training.pid)[-1], signal.SIGKILL)
    error = training.communicate(timeout=120)[1]
    assert "has ended: training stopped" in error, error[-500:]
    return time.monotonic() - began


CHECKS: tuple[Callable[[torch.device], str], ...] = (
    compares_with_cpu,
    never_waits,
    same_batches,
    learns_in_16_bits,
    memory_as_predicted,
    compiles,
    resumes,
    several_train_as_one,
    a_lost_rank_ends_the_others,
)


def main() -> None:
    """Run all checks; leave with 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu_check", description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=["cuda", "mps", "cpu"], default="cuda")
    parser.add_argument("--only", default="", help="names of checks, separated by commas")
    options = parser.parse_args()
    where = device.choose_device(options.device)
    about = {"device": device.describe(where), "torch": torch.__version__}
    if where.type == "cuda":
        about |= {
            "GPUs": str(torch.cuda.device_count()),
            "memory GiB": f"{memory.total_bytes(where) / 2**30:.0f}",
        }
    print(json.dumps(about))
    wrong = 0
    for check in CHECKS:
        if options.only and check.__name__ not in options.only.split(","):
            continue
        try:
            verdict, said = "right", check(where)
        except Skipped as reason:
            verdict, said = "skipped", str(reason)
        except Exception as error:
            verdict, said, wrong = "WRONG", f"{type(error).__name__}: {error}", wrong + 1
        print(f"{verdict:<8} {check.__name__:<28} {said}", flush=True)
    raise SystemExit(int(wrong > 0))


def _words(root: str, where: torch.device) -> list[str]:
    data = f"{Path(__file__).resolve()}:toy"
    words = ["--data", data, "--arch", "mnist-slim", "--epochs", "2", "--batch", "100", "--warmup", "4"]
    return [*words, "--checkpoint", "5", "--threads", "1", "--device", where.type, "--runs", root, "--quiet"]


def _processes(where: torch.device) -> int:
    if where.type == "cpu":
        return 3
    if where.type != "cuda" or torch.cuda.device_count() < 2:
        raise Skipped("there is one GPU only")
    return torch.cuda.device_count()


def _command(processes: int) -> list[str]:
    started = [sys.executable, "-m"]
    if processes > 1:
        started += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    return [*started, "vitruvius", "train"]


def _train(words: list[str], processes: int = 1) -> None:
    done = subprocess.run([*_command(processes), *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-500:]


def _children(process: int) -> list[int]:
    """The processes that one has started, in order."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


if __name__ == "__main__":
    main()
