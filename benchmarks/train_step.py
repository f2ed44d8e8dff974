"""A training step of ours against vit-pytorch and torch's own encoder: same sizes, tensors, dropout,
optimiser class.

    pip install --no-deps vit-pytorch einops
    python -m benchmarks.train_step

Dropout stands in the same places for all: after the embedding, after attention, inside the MLP and after it;
the peers' dropout of attention weights is taken out, since ours has none. All contestants live in one process
and take turns, block by block, so that a change of the machine's mood meets all of them. Peers run eagerly
with the default optimiser, as people use them, and compiled with the fused one. The time to compile is left
out and stated. The share of the matmul peak is the step's arithmetic (three forward passes) over what one
large product reaches in the same process."""

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks import record
from vitruvius import optimisers
from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import build

Step = Callable[[], None]


class TorchEncoder(nn.Module):
    """The same ViT from torch's own layers."""

    def __init__(self, arch: Arch) -> None:
        super().__init__()
        heads = arch.layers[0].heads
        self.patch = nn.Conv2d(arch.channels, arch.width, arch.patch, arch.patch)
        self.token = nn.Parameter(torch.randn(1, 1, arch.width))
        self.positions = nn.Parameter(torch.randn(1, arch.tokens, arch.width))
        self.dropout = nn.Dropout(arch.dropout)
        layer = nn.TransformerEncoderLayer(
            arch.width, heads, arch.layers[0].mlp, arch.dropout, "gelu", batch_first=True, norm_first=True
        )
        layer.self_attn.dropout = 0.0
        self.encoder = nn.TransformerEncoder(
            layer, arch.depth, nn.LayerNorm(arch.width), enable_nested_tensor=False
        )
        self.head = nn.Linear(arch.width, arch.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores."""
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.encoder(self.dropout(x))[:, 0])


def vit_pytorch(arch: Arch) -> nn.Module:
    """vit-pytorch's ViT, loaded by file: importing its package needs torchvision."""
    spec = importlib.util.find_spec("vit_pytorch")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps vit-pytorch einops, then run this again")
    found = importlib.util.spec_from_file_location("vit_pytorch_vit", Path(spec.origin).parent / "vit.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    layer = arch.layers[0]
    model = module.ViT(
        image_size=arch.image,
        patch_size=arch.patch,
        num_classes=arch.classes,
        dim=arch.width,
        depth=arch.depth,
        heads=layer.heads,
        mlp_dim=layer.mlp,
        channels=arch.channels,
        dim_head=layer.head_dim,
        dropout=arch.dropout,
        emb_dropout=arch.dropout,
    )
    for part in model.modules():
        if isinstance(part, module.Attention):
            part.dropout = nn.Identity()
    return model


def stepper(model: nn.Module, batch: int, arch: Arch, fused: bool, compiled: bool) -> tuple[Step, float]:
    """A function that takes one training step, and the seconds its first call took."""
    torch.manual_seed(0)
    x, y = torch.randn(batch, arch.channels, arch.image, arch.image), torch.randint(0, arch.classes, (batch,))
    optimiser: torch.optim.Optimizer
    optimiser = (
        optimisers.build("adamw", model, 1e-3, 0.05)
        if fused
        else torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    )
    model.train()
    forward: Any = torch.compile(model) if compiled else model

    def step() -> None:
        cross_entropy(forward(x), y).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    started = time.perf_counter()
    step()
    return step, time.perf_counter() - started


def contestants(arch: Arch, batch: int) -> dict[str, tuple[Step, float]]:
    """Ours and the peers, eager and compiled."""
    makers: dict[str, Callable[[], nn.Module]] = {"vit-pytorch": lambda: vit_pytorch(arch)}
    if arch.layers[0].heads * arch.layers[0].head_dim == arch.width:
        makers["torch encoder"] = lambda: TorchEncoder(arch)
    found = {}
    for name, make in makers.items():
        found[f"{name}, eager"] = stepper(make(), batch, arch, fused=False, compiled=False)
        found[f"{name}, compiled, fused AdamW"] = stepper(make(), batch, arch, fused=True, compiled=True)
    found["vitruvius, eager"] = stepper(build(arch, 0), batch, arch, fused=True, compiled=False)
    found["vitruvius, compiled"] = stepper(build(arch, 0), batch, arch, fused=True, compiled=True)
    return found


def timed(steps: dict[str, Step], blocks: int, length: int) -> dict[str, list[float]]:
    """Seconds per step of each contestant, block by block in turn."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(blocks):
        for name, step in steps.items():
            started = time.perf_counter()
            for _ in range(length):
                step()
            times[name].append((time.perf_counter() - started) / length)
    return times


def matmul_peak() -> float:
    """Floating-point operations per second of a large product, best of several."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    best = min(_seconds(a, b) for _ in range(8))
    return 2 * 2048**3 / best


def _seconds(a: Tensor, b: Tensor) -> float:
    started = time.perf_counter()
    a @ b
    return time.perf_counter() - started


def flops(who: str, arch: Arch, batch: int) -> int:
    """Floating-point operations of a step; peers never multiply their projections with one another."""
    found = cost.cost(arch)
    if who.startswith("vitruvius"):
        return 6 * (batch * found.macs + found.pass_macs)
    macs = sum(part.macs for part in cost.parts(arch) if not part.name.endswith("attention"))
    for layer in arch.layers:
        macs += 4 * arch.tokens * arch.width * layer.heads * layer.head_dim
        macs += cost.attention_macs(arch.kernel, arch.tokens, layer)
    return 6 * batch * macs


def measure(preset: str, batch: int, blocks: int, length: int) -> list[dict[str, Any]]:
    """The rows of one preset."""
    arch = tables.arch(preset)
    found = contestants(arch, batch)
    times = timed({name: step for name, (step, _) in found.items()}, blocks, length)
    peak = matmul_peak()
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours = min(medians["vitruvius, eager"], medians["vitruvius, compiled"])
    return [
        {
            "preset": preset,
            "batch": batch,
            "who": name,
            "ms": round(1e3 * medians[name], 2),
            "ms_low": round(1e3 * min(times[name]), 2),
            "ms_high": round(1e3 * max(times[name]), 2),
            "ours_is_faster_by": round(medians[name] / ours, 2),
            "first_call_s": round(found[name][1], 1),
            "share_of_matmul_peak": round(flops(name, arch, batch) / medians[name] / peak, 3),
            "images_per_second": round(batch / medians[name]),
        }
        for name in medians
    ]


def main() -> None:
    """Measure both readings of the reference ViT and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    load = record.refuse_if_busy()
    torch.set_num_threads(options.threads)
    torch.compiler.config.force_disable_caches = (
        True  # the first call is stated: it must not find last week's code
    )
    rows = [
        row
        for preset in ("mnist", "mnist-slim")
        for row in measure(preset, 32, options.blocks, options.length)
    ]
    for row in rows:
        print(f"{row['preset']:<11} {row['who']:<38} {row['ms']:>7} ms   ours x{row['ours_is_faster_by']}")
    print(
        record.write(
            "train_step", rows, load=load, threads=options.threads, command="python -m benchmarks.train_step"
        )
    )


if __name__ == "__main__":
    main()
