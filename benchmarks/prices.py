"""Predicted against measured milliseconds, on networks that the price list has not seen.

    python -m benchmarks.prices               about two minutes on two cores, writes the results
    python -m benchmarks.prices --quick       few calls on any machine, writes nothing

Calibrates as `vitruvius measure --calibrate` does, without storing the price list, then times 20 networks
drawn with another seed and prints the median relative error for each batch size. Fails above 15 %."""

import argparse
import sys
from statistics import median
from typing import Any

import torch

from benchmarks import record
from vitruvius.core.errors import UserError
from vitruvius.measuring import calibrate, latency, prices
from vitruvius.measuring.calibrate import Timed
from vitruvius.measuring.settings import MeasureSettings

UNSEEN, SEED, LIMIT = 20, 1, 0.15


def timed(number: int, seed: int, settings: MeasureSettings) -> list[Timed]:
    """Measure networks drawn with a seed."""
    items: list[latency.Item] = []
    for _ in latency.measure(calibrate.networks(number, seed), settings, torch.device("cpu"), items):
        pass
    return [Timed(item.named.arch, item.batch, median(item.calls_ms)) for item in items if item.calls_ms]


def main() -> int:
    """Calibrate, predict, compare."""
    parser = argparse.ArgumentParser(prog="benchmarks.prices", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few calls, nothing is written")
    quick = parser.parse_args().quick
    load = None if quick else record.refuse_if_busy()
    settings = MeasureSettings(repeats=3 if quick else 30)
    seen = timed(6 if quick else calibrate.NETWORKS, 0, settings)
    fitted, error = calibrate.fit(seen)
    rows: list[dict[str, Any]] = []
    errors: dict[str, list[float]] = {}
    for one in timed(4 if quick else UNSEEN, SEED, settings):
        quantities = prices.quantities(one.arch, one.batch)
        predicted = sum(price * n for price, n in zip(fitted.values(), quantities, strict=True))
        relative = abs(predicted / one.ms - 1)
        measured = {"arch": one.arch.model_dump(mode="json"), "batch": one.batch, "ms": one.ms}
        rows.append({**measured, "predicted_ms": predicted, "relative_error": relative})
        errors.setdefault(f"batch {one.batch}", []).append(relative)
    errors["all"] = [error for batch in list(errors.values()) for error in batch]
    found = {name: median(values) for name, values in errors.items()}
    print(f"left out of the fit: {error:.1%}; unseen: " + ", ".join(f"{k} {v:.1%}" for k, v in found.items()))
    if not quick:
        record.write("prices", rows, load=load, prices=fitted, left_out=error, unseen=found)
    return int(not quick and found["all"] > LIMIT)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(str(error))
