"""What a measurement reports: a row per network, runtime and batch size, and the machine. No torch."""

from collections.abc import Iterable
from typing import Any

from vitruvius.core import records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.measuring.prices import PriceList

MIB = 2**20


class Measurement(Strict):
    """One network in one runtime with one batch size; the times are of one call, in milliseconds."""

    name: str
    runtime: str
    batch: int
    params: int
    macs: int
    """Multiply-adds of one forward pass of one image, in closed form."""
    median_ms: float | None = None
    low_ms: float | None = None
    """5th percentile of the calls; on a busy machine the smallest."""
    high_ms: float | None = None
    """95th percentile of the calls; on a busy machine the largest."""
    images_per_second: float | None = None
    peak_bytes: int | None = None
    """Largest sum of all tensors during a call, weights included; None where the runtime does not tell."""
    startup_ms: float | None = None
    """From the description to the end of the first call: building, compiling or converting, loading."""
    joules_per_image: float | None = None
    """Of the whole processor; None where the kernel does not expose it."""
    failed: str | None = None


class Machine(Strict):
    """Where and under which load was measured."""

    device: str
    threads: int
    cores: int
    load: float | None
    """Processes that wanted to run in the minute before; None where the system does not tell."""
    others: float | None = None
    """Cores that other processes used while it was measured; None where the system does not tell."""
    is_busy: bool
    """Whether others took part of the machine, before or meanwhile."""
    versions: dict[str, Any]


class Result(records.Result):
    """What networks cost on this machine."""

    rows: tuple[Measurement, ...]
    training: bool
    repeats: int
    machine: Machine
    prices: PriceList | None = None
    """The price list that was fitted, if that was asked for."""
    seconds: float | None = None
    """Of the whole run; None in those of versions that did not record it."""
    run: str

    @property
    def exit_code(self) -> int:
        """1 if a network could not be measured."""
        return int(any(row.failed for row in self.rows))

    def view(self) -> Iterable[Block]:
        if self.prices:
            yield Text(text=_fitted(self.prices), style="good")
        what = "a training step" if self.training else "inference"
        between = "smallest to largest call" if self.machine.is_busy else "5th to 95th percentile"
        yield Table(
            title=f"Milliseconds per call ({what}, {where(self.machine.device, self.machine.threads)})",
            columns=("network", "runtime", "batch", "parameters", "MACs", "median", between)
            + ("images/s", "peak MiB", "start-up ms", "J per image"),
            rows=tuple(map(_cells, self.rows)),
            note=f"{self.repeats} calls each, in random order",
        )
        for row in self.rows:
            if row.failed:
                yield Text(text=f"{row.name}, {row.runtime}, batch {row.batch}: {row.failed}", style="error")
        if self.machine.is_busy:
            yield Text(text=_busy(self.machine), style="warning")
        took = "" if self.seconds is None else f"{self.seconds:.0f} s; "
        yield Text(text=f"{took}run: {self.run}", style="note")


def where(device: str, threads: int) -> str:
    """Say on what was measured.

    >>> where("cpu", 1), where("cpu", 2)
    ('cpu, 1 thread', 'cpu, 2 threads')
    """
    return f"{device}, {counted(threads, 'thread')}"


def summarise(calls_ms: list[float], is_busy: bool) -> tuple[float, float, float]:
    """Return the median of the calls and an interval around it.

    The interval reaches from the 5th to the 95th percentile. Other processes make calls slower, and not
    evenly: on a busy machine the interval holds all calls.

    >>> summarise([float(i) for i in range(101)], False), summarise([3.0, 1.0, 9.0], True)
    ((50.0, 5.0, 95.0), (3.0, 1.0, 9.0))
    """
    ordered = sorted(calls_ms)
    low, high = (ordered[0], ordered[-1]) if is_busy else (_quantile(ordered, 0.05), _quantile(ordered, 0.95))
    return _quantile(ordered, 0.5), low, high


def _quantile(ordered: list[float], fraction: float) -> float:
    """Interpolate linearly between the two nearest of the ordered values."""
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _busy(machine: Machine) -> str:
    """Say by how much others used the machine."""
    before = "" if machine.load is None else f"load {machine.load:.1f} before"
    during = "" if machine.others is None else f"{machine.others:.1f} cores used by others meanwhile"
    known = ", ".join(text for text in (before, during) if text)
    return f"the machine was busy ({known}): times may be too long, and intervals hold all calls"


def _fitted(prices: PriceList) -> str:
    """Say what the price list is worth."""
    median = f"within {prices.error:.1%} (median of {prices.networks} left out in turn)".replace("%", " %")
    text = f"price list of this machine ({where(prices.device, prices.threads)}): predicts the time of a "
    return f"{text}network that it has not seen {median}; rank, search and list presets use it"


def _cells(row: Measurement) -> tuple[str | int | float | None, ...]:
    interval = None if row.low_ms is None else f"{row.low_ms:.3g} .. {row.high_ms:.3g}"
    peak = None if row.peak_bytes is None else row.peak_bytes / MIB
    sizes = (row.name, row.runtime, row.batch, row.params, row.macs)
    times = (row.median_ms, interval, row.images_per_second)
    return *sizes, *times, peak, row.startup_ms, row.joules_per_image
