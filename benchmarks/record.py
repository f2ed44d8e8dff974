"""What every benchmark records beside its numbers, and when it refuses to measure."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.errors import UserError

RESULTS = Path(__file__).parent / "results"
BUSY = 0.5
"""Load average of the last minute above which times say more about other programs than about this one."""


def refuse_if_busy() -> float:
    """The load average of the last minute, unless it is too high to measure anything."""
    load = os.getloadavg()[0]
    if load > BUSY:
        raise UserError(
            f"load average {load:.2f}: times are measured below {BUSY} only, try again when it is quiet"
        )
    return load


def wait_until_quiet(seconds: float = 5.0) -> float:
    """Wait until the load of what ran before is gone; return the load average of the last minute."""
    while os.getloadavg()[0] > BUSY:
        time.sleep(seconds)
    return os.getloadavg()[0]


def write(name: str, rows: Sequence[Mapping[str, Any]], **about: Any) -> Path:
    """Write results/NAME.json: the rows with machine, versions, date and whatever else they depend on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    files.write_json(path, {**today(), **about, "rows": list(rows)})
    return path


def today() -> dict[str, Any]:
    """Date, machine and versions."""
    return {"date": date.today().isoformat(), "machine": machine(), "versions": versions()}


def machine() -> dict[str, Any]:
    """Processor, cores and memory."""
    cores, pages = os.cpu_count(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"processor": _processor(), "cores": cores, "memory_gib": round(pages / 2**30, 1)}


def versions() -> dict[str, str]:
    """Of Python and the packages whose speed is measured."""
    return {"python": platform.python_version(), **{name: version(name) for name in ("torch", "numpy")}}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine()
    )
