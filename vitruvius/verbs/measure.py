"""Measure what networks cost on this machine: latency, images per second, memory, start-up, energy.

Multiply-adds are a poor stand-in for time. Networks are called in random order after a warm-up; the result
records machine, threads, versions and load, and says so if the machine was busy.

vitruvius measure
vitruvius measure mnist-slim nets.json --batch 1,8
vitruvius measure mnist-slim --training --repeats 10
vitruvius measure --calibrate
"""

import os
import time
from collections.abc import Iterator
from typing import ClassVar

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags
from vitruvius.measuring.settings import MeasureSettings


class Config(config.RunConfig, MeasureSettings):
    """Which networks are measured, in which runtimes, with how many images."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "name", "runs")
    short: ClassVar[tuple[str, ...]] = (
        *("networks", "batch", "runtime", "device", "training", "calibrate", "repeats", "threads"),
        *("name", "json"),
    )


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Measure the networks and write table and picture into the run folder."""
    config.refuse_impossible()
    began = time.perf_counter()
    from vitruvius.measuring import load, networks

    found = [] if config.calibrate else networks.find(config, flags.runs)
    before = load.average()
    from vitruvius.exporting import onnx_file
    from vitruvius.measuring import calibrate, latency, prices, report
    from vitruvius.measuring.results import Machine, Result
    from vitruvius.training import device

    found = calibrate.networks() if config.calibrate else found
    if "onnx" in config.runtime:
        onnx_file.refuse_missing("--runtime onnx")
    where = device.choose_device("cpu" if "onnx" in config.runtime else config.device)
    threads = device.set_threads(config.threads)
    with runs.opened("measure", config, flags) as (folder, config):
        environment = runs.environment(**device.fingerprint(threads, 1))
        if load.is_busy(before):
            text = f"the machine is busy (load {before:.1f}): intervals will hold all calls"
            yield records.Note(text=text, warning=True)
        items: list[latency.Item] = []
        yield from latency.prepare(found, config, where, items)
        others = load.Others()
        yield from latency.time_calls(items, config, where)
        meanwhile = others.cores()
        machine = Machine(
            device=where.type,
            threads=threads,
            cores=os.cpu_count() or 1,
            load=before,
            others=meanwhile,
            is_busy=load.is_busy(before, meanwhile),
            versions=environment,
        )
        fitted = calibrate.price_list(items, config, machine) if config.calibrate else None
        result = Result(
            rows=tuple(item.row(machine.is_busy) for item in items),
            training=config.training,
            repeats=config.repeats,
            machine=machine,
            prices=fitted,
            seconds=time.perf_counter() - began,
            run=str(folder.folder),
        )
        folder.keep(result)
        report.write(folder.folder, result)
        folder.seal(environment)
        if fitted is not None:
            yield records.Note(text=f"price list: {prices.keep(fitted)}")
        yield result
