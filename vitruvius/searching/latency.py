"""What a forward pass of one image takes: predicted by the machine's price list, else measured."""

from collections.abc import Generator, Sequence

import torch

from vitruvius.arch.arch import Arch
from vitruvius.arch.tables import Named
from vitruvius.core.errors import WorkFailed
from vitruvius.core.records import Note, Record
from vitruvius.measuring import latency, prices
from vitruvius.measuring.prices import PriceList
from vitruvius.measuring.settings import MeasureSettings
from vitruvius.searching.results import Timed
from vitruvius.searching.state import Search

REPEATS = 30


def predicted(found: PriceList | None, arch: Arch) -> float | None:
    """Return the milliseconds of one image that a price list predicts; None without one."""
    return None if found is None or arch.kernel != prices.KERNEL else prices.predict(found, arch)


def fast_enough(search: Search, finalists: list[int]) -> Generator[Record, None, list[int]]:
    """Measure finalists whose time is not predicted; leave out those that take longer than --max-ms."""
    config, name = search.prepared.config, search.prepared.name
    if config.max_ms is None and config.front != "ms":
        return finalists
    for number, ms in _measured_once(search, [n for n in finalists if n not in search.ms]).items():
        search.ms[number] = (ms, True)
    if config.max_ms is None:
        return finalists
    fast = [number for number in finalists if search.ms.get(number, (0.0, True))[0] <= config.max_ms]
    for number in (number for number in finalists if number not in fast):
        ms = search.ms[number][0]
        yield Note(text=f"{name(number)} takes {ms:.3g} ms, more than {config.max_ms:g}: left out")
    if not fast:
        fastest = min(search.ms[number][0] for number in finalists)
        raise WorkFailed(
            f"--max-ms {config.max_ms:g}: the fastest finalist takes {fastest:.3g} ms; lower --max-macs"
        )
    return fast


def _measured_once(search: Search, numbers: Sequence[int]) -> dict[int, float]:
    """Time networks, or take the times that were kept before the search was interrupted."""
    for line in search.lines:
        if line.get("kind") == "timed":
            return {int(number): float(ms) for number, ms in line["ms"].items()}
    if not numbers:
        return {}
    names = {search.prepared.name(number): number for number in numbers}
    times = measured([(name, search.prepared.networks[number].arch) for name, number in names.items()])
    found = {names[name]: ms for name, ms in times.items()}
    search.folder.keep(Timed(ms=found))
    return found


def measured(archs: Sequence[tuple[str, Arch]]) -> dict[str, float]:
    """Time the forward pass of one image of each network, called in random order on the CPU."""
    settings = MeasureSettings(batch=(1,), repeats=REPEATS, threads=1)
    items: list[latency.Item] = []
    for _ in latency.measure([Named(*pair) for pair in archs], settings, torch.device("cpu"), items):
        pass
    rows = [item.row(is_busy=False) for item in items]
    return {row.name: row.median_ms for row in rows if row.median_ms is not None}
