"""How fast candidates are drawn and filtered, and what a second process brings.

    python -m benchmarks.search.speed            1,000,000 candidates; a search with one and two processes
    python -m benchmarks.search.speed --quick    fewer candidates, no search

Targets: 1,000,000 candidates within 60 s, and two processes at least 1.7 times as fast as one.
"""

import argparse
import tempfile
import time
from typing import Any

import vitruvius
from benchmarks import record
from vitruvius.arch import spaces
from vitruvius.measuring.prices import QUANTITIES, PriceList
from vitruvius.searching import sampling
from vitruvius.searching.sampling import Limits
from vitruvius.searching.settings import Budget

SIZES = {"image": 28, "channels": 1, "classes": 10}


def draw(count: int) -> dict[str, Any]:
    """Time the filter with every bound that there is, milliseconds by made-up prices included."""
    rule = sampling.Rule(spaces.get("small"), SIZES, 0)
    budget = Budget(max_params=100_000, max_macs=10**7, max_ms=20, max_memory=200)
    one = {"machine": {}, "device": "cpu", "threads": 1, "is_busy": False, "networks": 0, "batch": (1,)}
    listed = PriceList(**one, prices=dict.fromkeys(QUANTITIES, 1e-6), error=0.0, date="")
    began = time.perf_counter()
    found = sampling.draw(rule, Limits(budget, 64, listed), 1000, count)
    return {"candidates": count, "fitting": found.fitting, "seconds": time.perf_counter() - began}


def search(workers: int, trainings: int) -> float:
    """Time the trainings of a search: all its seconds without those before the first of them."""
    asked: dict[str, Any] = {
        "data": "mnist",
        "max_params": 50_000,
        "epochs": 1,
        "trainings": trainings,
        "scored": 16,
    }
    with tempfile.TemporaryDirectory() as runs:
        began = 0.0
        for one in vitruvius.stream(
            "search", **asked, spread="processes", workers=workers, runs=runs, name="x"
        ):
            if getattr(one, "stage", 0) == 3 and not began:
                began = time.perf_counter()
        return time.perf_counter() - began


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    load = None if options.quick else record.refuse_if_busy()
    drawn = draw(20_000 if options.quick else 1_000_000)
    print(f"{drawn['candidates']:,} candidates in {drawn['seconds']:.1f} s")
    if options.quick:
        return
    one, two = (search(workers, 12) for workers in (1, 2))
    print(f"one process {one:.0f} s, two {two:.0f} s: {one / two:.2f} times as fast")
    record.write("search_speed", [drawn, {"one": one, "two": two, "ratio": one / two}], load=load)


if __name__ == "__main__":
    main()
