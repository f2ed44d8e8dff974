"""What a forward pass of one image takes: predicted by the machine's price list, else measured."""

import math
from collections.abc import Generator, Sequence

import torch

from vitruvius.arch.arch import Arch
from vitruvius.arch.tables import Named
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.core.records import Note, Progress, Record
from vitruvius.measuring import latency, prices
from vitruvius.measuring.settings import MeasureSettings
from vitruvius.searching import queueing
from vitruvius.searching.results import Timed
from vitruvius.searching.state import Search

REPEATS = 30
TOGETHER = 8
"""Networks that are measured together, in random order; their weights are in memory at once."""


def keep_fast(search: Search) -> Generator[Record, None, None]:
    """Find the milliseconds of all networks; where --max-ms bounds them, leave out those that take longer.

    Without a price list they are measured, if a bound or a front needs them, before anything is trained.
    """
    prepared, config = search.prepared, search.prepared.config
    known = search.plan.prices
    for number, candidate in prepared.networks.items():
        if known is not None and candidate.arch.kernel == prices.KERNEL:
            search.ms[number] = (prices.predict(known, candidate.arch), False)
    if config.max_ms is None and config.front != "ms":
        return
    yield from _measure(search, [number for number in prepared.networks if number not in search.ms])
    if config.max_ms is None:
        return
    times = {number: search.ms.get(number, (math.inf, True))[0] for number in search.numbers}
    fast = [number for number, ms in times.items() if ms <= config.max_ms]
    if not fast:
        fastest = min(times.values())
        raise UserError(
            f"--max-ms {config.max_ms:g}: the fastest of {len(times)} networks takes {fastest:.3g} ms; "
            "raise it, or lower --max-macs"
        )
    prepared.keep_only(fast)
    if slow := len(times) - len(fast):
        yield Note(text=f"{slow} of {len(times)} networks take more than {config.max_ms:g} ms: left out")
    if prepared.largest not in fast:
        prepared.largest = max(fast, key=lambda number: prepared.networks[number].params)


def _measure(search: Search, numbers: Sequence[int]) -> Generator[Record, None, None]:
    """Time networks, and keep their times: a search that is resumed takes those that were kept."""
    timed = [line["ms"] for line in search.lines if line.get("kind") == "timed"]
    kept = {int(number): float(ms) for times in timed for number, ms in times.items()}
    left = [number for number in numbers if number not in kept]
    if left:
        cure = "`vitruvius measure --calibrate` makes one"
        yield Note(
            text=f"no price list of this machine ({cure}); to be timed: {counted(len(left), 'network')}"
        )
    for start in range(0, len(left), TOGETHER):
        part = {search.prepared.name(number): number for number in left[start : start + TOGETHER]}
        times = measured([(name, search.prepared.networks[number].arch) for name, number in part.items()])
        found = {part[name]: ms for name, ms in times.items()}
        search.folder.keep(Timed(ms=found))
        kept |= found
        yield Progress(done=min(start + TOGETHER, len(left)), total=len(left), label="timing")
        queueing.refuse_if_stopped(search)
    search.ms |= {number: (kept[number], True) for number in numbers if number in kept}


def measured(archs: Sequence[tuple[str, Arch]]) -> dict[str, float]:
    """Time the forward pass of one image of each network, called in random order, as `measure` does it."""
    settings = MeasureSettings(batch=(1,), repeats=REPEATS)
    items: list[latency.Item] = []
    for _ in latency.measure([Named(*pair) for pair in archs], settings, torch.device("cpu"), items):
        pass
    rows = [item.row(is_busy=False) for item in items]
    return {row.name: row.median_ms for row in rows if row.median_ms is not None}
