"""The energy that the processor used, where the kernel exposes it (RAPL on Linux, often for root only)."""

from pathlib import Path

DOMAINS = Path("/sys/class/powercap")


class Meter:
    """Reads the energy counters of all processor packages."""

    def __init__(self, domains: Path = DOMAINS) -> None:
        # `intel-rapl:0` is a package; `intel-rapl:0:1` is a part of it and would be counted twice.
        packages = (path for path in domains.glob("*rapl:*") if path.name.count(":") == 1)
        self.packages = [path for path in packages if _counter(path / "energy_uj") is not None]

    def read(self) -> list[int]:
        """Return the counters in microjoules, one per package; empty where there are none."""
        return [_counter(path / "energy_uj") or 0 for path in self.packages]

    def joules(self, before: list[int], after: list[int]) -> float | None:
        """Return the energy between two readings, None without counters; a counter may have begun anew."""
        if not self.packages:
            return None
        total = 0
        for path, first, last in zip(self.packages, before, after, strict=True):
            again = _counter(path / "max_energy_range_uj") or 0
            total += last - first if last >= first else last - first + again
        return total / 1e6


def _counter(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
