"""Measure what networks cost on this machine: latency, images per second, memory, start-up, energy.

Multiply-adds are a poor stand-in for time. Networks are called in random order after a warm-up; the result
records machine, threads, versions and load, and says so if the machine was busy.

vitruvius measure
vitruvius measure mnist-slim nets.json --batch 1,8
vitruvius measure mnist-slim --training --repeats 10
vitruvius measure --calibrate
"""

import os
from collections.abc import Iterator
from typing import ClassVar

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags
from vitruvius.measuring.settings import MeasureSettings

BUSY = 0.5
"""Processes per machine, over the last minute, from which on others take part of the time."""


class Config(config.RunConfig, MeasureSettings):
    """Which networks are measured, in which runtimes, with how many images."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "name", "runs")
    short: ClassVar[tuple[str, ...]] = (
        *(
            "networks",
            "batch",
            "runtime",
            "device",
            "training",
            "calibrate",
            "repeats",
            "threads",
            "name",
            "json",
        ),
    )


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Measure the networks and write table and picture into the run folder."""
    config.refuse_impossible()
    from vitruvius.measuring import networks

    found = [] if config.calibrate else networks.find(config, flags.runs)
    load = _load()
    from vitruvius.measuring import calibrate, latency, prices, report
    from vitruvius.measuring.results import Machine, Result
    from vitruvius.training import device

    found = calibrate.networks() if config.calibrate else found

    where = device.choose_device("cpu" if "onnx" in config.runtime else config.device)
    threads = device.set_threads(config.threads)
    with runs.opened("measure", config, flags) as (folder, config):
        environment = runs.environment(**device.fingerprint(threads, 1))
        is_busy = load is not None and load >= BUSY
        machine = Machine(
            device=where.type,
            threads=threads,
            cores=os.cpu_count() or 1,
            load=load,
            is_busy=is_busy,
            versions=environment,
        )
        if is_busy:
            text = f"the machine is busy (load {load:.1f}): intervals will hold all calls"
            yield records.Note(text=text, warning=True)
        items: list[latency.Item] = []
        yield from latency.measure(found, config, where, items)
        fitted = calibrate.price_list(items, config, machine) if config.calibrate else None
        result = Result(
            rows=tuple(item.row(is_busy) for item in items),
            training=config.training,
            repeats=config.repeats,
            machine=machine,
            prices=fitted,
            run=str(folder.folder),
        )
        folder.keep(result)
        report.write(folder.folder, result)
        folder.seal(environment)
        if fitted is not None:
            yield records.Note(text=f"price list: {prices.keep(fitted)}")
        yield result


def _load() -> float | None:
    """Return how many processes wanted to run in the last minute; None where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows
        return None
