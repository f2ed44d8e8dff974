"""Time calls of several networks in random order, so that what slows the machine slows all of them alike."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch._dynamo.config
from torch import Tensor
from torch.nn.functional import cross_entropy

from vitruvius.arch import cost
from vitruvius.arch.tables import Named
from vitruvius.core import allocator
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.core.records import Progress
from vitruvius.exporting import onnx_file
from vitruvius.exporting.settings import ExportSettings
from vitruvius.measuring.energy import Meter
from vitruvius.measuring.results import Measurement, summarise
from vitruvius.measuring.settings import MeasureSettings
from vitruvius.nn.vit import ViT, build
from vitruvius.training import device as devices
from vitruvius.training import onednn

WARM_UP = 3
Call = Callable[[], Any]


@dataclass
class Item:
    """One network in one runtime with one batch size, ready to be called."""

    named: Named
    runtime: str
    batch: int
    call: Call | None = None
    startup_ms: float | None = None
    peak_bytes: int | None = None
    failed: str | None = None
    calls_ms: list[float] = field(default_factory=list)
    joules: float | None = None

    def row(self, is_busy: bool) -> Measurement:
        """Return the measurements of one network as a row."""
        found = cost.cost(self.named.arch)
        row = Measurement(
            name=self.named.name,
            runtime=self.runtime,
            batch=self.batch,
            params=found.params,
            macs=found.macs,
            startup_ms=self.startup_ms,
            peak_bytes=self.peak_bytes,
            failed=self.failed,
        )
        if not self.calls_ms:
            return row
        median, low, high = summarise(self.calls_ms, is_busy)
        speed = 1000 * self.batch / median
        joules = None if self.joules is None else self.joules / (self.batch * len(self.calls_ms))
        times = {"median_ms": median, "low_ms": low, "high_ms": high}
        return row.model_copy(update={**times, "images_per_second": speed, "joules_per_image": joules})


def measure(
    networks: list[Named], settings: MeasureSettings, where: torch.device, items: list[Item]
) -> Iterator[Progress]:
    """Prepare every network, warm it up, then time the calls in random order; fills `items`."""
    yield from prepare(networks, settings, where, items)
    yield from time_calls(items, settings, where)


def prepare(
    networks: list[Named], settings: MeasureSettings, where: torch.device, items: list[Item]
) -> Iterator[Progress]:
    """Build every network in every runtime and warm it up; fills `items`."""
    items += [Item(*chosen) for chosen in product(networks, settings.runtime, settings.batch)]
    for index, item in enumerate(items):
        yield Progress(done=index, total=len(items), label="preparing")
        _prepare(item, settings, where)


def time_calls(items: list[Item], settings: MeasureSettings, where: torch.device) -> Iterator[Progress]:
    """Time calls of the networks that are ready, in random order, with memory kept as `train` keeps it."""
    ready = [item for item in items if item.call]
    order, meter = random.Random(settings.seed), Meter()
    with allocator.keeping_freed_memory():
        for index in range(settings.repeats):
            yield Progress(done=index, total=settings.repeats, label="calls")
            for item in order.sample(ready, len(ready)):
                _time(item, meter, where)


def _prepare(item: Item, settings: MeasureSettings, where: torch.device) -> None:
    """Build a network and call it; one that fails says why and is left out."""
    try:
        began = time.perf_counter()
        call = _call(item, settings, where)
        with _any_number_of_graphs():
            call()
        _finish(where)
        item.startup_ms = 1000 * (time.perf_counter() - began)
        for _ in range(WARM_UP - 1):
            call()
        item.peak_bytes = _peak(call, item, settings, where)
        item.call = call
    except VitruviusError as error:
        item.failed = str(error)
    except (RuntimeError, MemoryError) as error:  # out of memory, or torch cannot compile
        item.failed = (str(error).strip() or type(error).__name__).splitlines()[0]


def _any_number_of_graphs() -> AbstractContextManager[Any]:
    """Let torch compile as many networks as are measured: after eight it would run the others uncompiled."""
    limits: dict[str, Any] = {"recompile_limit": 10**6, "accumulated_recompile_limit": 10**6}
    return torch._dynamo.config.patch(**limits, fail_on_recompile_limit_hit=True)


def _time(item: Item, meter: Meter, where: torch.device) -> None:
    assert item.call is not None
    before, began = meter.read(), time.perf_counter()
    item.call()
    _finish(where)
    item.calls_ms.append(1000 * (time.perf_counter() - began))
    joules = meter.joules(before, meter.read())
    if joules is not None:
        item.joules = (item.joules or 0.0) + joules


def _call(item: Item, settings: MeasureSettings, where: torch.device) -> Call:
    """Return a function that does the work of one call."""
    arch = item.named.arch
    random_images = torch.Generator().manual_seed(settings.seed)
    x = torch.randn(item.batch, arch.channels, arch.image, arch.image, generator=random_images)
    net = build(arch, settings.seed)
    if item.runtime == "onnx":
        return _onnx(net.eval(), x)
    net, x = net.to(where), x.to(where)
    forward: Any = net
    if item.runtime == "compiled":
        if where.type == "cpu" and devices.compiler() is None:
            raise UserError("torch.compile needs a C++ compiler, and none was found")
        # For this batch size only: else the second size is compiled for any, which is slower.
        options = onednn.compiler_options() if where.type == "cpu" else {}
        forward = torch.compile(net, dynamic=False, options=options)
    if settings.training:
        return _training_step(net, forward, x)
    net.eval()
    return _inference(forward, x, as_evaluated=item.runtime == "torch" and where.type == "cpu")


def _inference(forward: Any, x: Tensor, as_evaluated: bool) -> Call:
    def call() -> None:
        with torch.inference_mode(), onednn.in_evaluation() if as_evaluated else nullcontext():
            forward(x)

    return call


def _training_step(net: ViT, forward: Any, x: Tensor) -> Call:
    net.train()
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)
    y = torch.arange(len(x), device=x.device) % net.arch.classes

    def call() -> None:
        torch.autograd.backward(cross_entropy(forward(x), y))
        optimiser.step()
        optimiser.zero_grad()

    return call


def _onnx(net: ViT, x: Tensor) -> Call:
    settings = ExportSettings(run="measured", format="onnx")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, onnx_file.FILE)
        onnx_file.convert(path, net, settings)
        session = onnx_file.open_session(path)
    image = {"image": x.numpy()}
    return lambda: session.run(None, image)


def _finish(where: torch.device) -> None:
    """Wait until a GPU has done what it was given."""
    if where.type == "cuda":
        torch.cuda.synchronize(where)
    elif where.type == "mps":
        torch.mps.synchronize()


def _peak(call: Call, item: Item, settings: MeasureSettings, where: torch.device) -> int | None:
    """Return the largest sum of all tensors during a call: what is there before, and what torch allocates."""
    if item.runtime == "onnx" or where.type == "mps":
        return None
    if where.type == "cuda":
        torch.cuda.reset_peak_memory_stats(where)
        call()
        return torch.cuda.max_memory_allocated(where)
    # Between two training steps the gradients are freed: the call allocates them.
    copies, arch = cost.TRAINING_COPIES - 1 if settings.training else 1, item.named.arch
    resident = copies * cost.cost(arch).weight_bytes
    resident += 4 * item.batch * arch.channels * arch.image**2
    return resident + allocated_at_once(call)


def allocated_at_once(call: Call) -> int:
    """Return the largest number of bytes that a call has allocated on the CPU at the same time."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes its own events to stderr
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as seen:
        call()
    assert seen.profiler is not None
    results = seen.profiler.kineto_results
    assert results is not None
    events = [event for event in results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    now = most = 0
    for event in events:
        now += event.nbytes()
        most = max(most, now)
    return most
