"""What a forward pass of one image takes: predicted by the machine's price list, else measured."""

from collections.abc import Sequence

import torch

from vitruvius.arch.arch import Arch
from vitruvius.arch.tables import Named
from vitruvius.measuring import latency, prices
from vitruvius.measuring.settings import MeasureSettings

REPEATS = 30


def predicted(arch: Arch) -> float | None:
    """Return the predicted milliseconds of one image, None without a price list of this machine."""
    return prices.predicted_ms(arch)


def measured(archs: Sequence[tuple[str, Arch]]) -> dict[str, float]:
    """Time the forward pass of one image of each network, called in random order on the CPU."""
    settings = MeasureSettings(batch=(1,), repeats=REPEATS, threads=1)
    items: list[latency.Item] = []
    for _ in latency.measure([Named(*pair) for pair in archs], settings, torch.device("cpu"), items):
        pass
    rows = [item.row(is_busy=False) for item in items]
    return {row.name: row.median_ms for row in rows if row.median_ms is not None}
