"""Probe features with a simple classifier, always beside raw samples, PCA and the same encoder untrained.

vitruvius probe raw
vitruvius probe digits --labels all
vitruvius probe pca:50 --data fashion_mnist --labels 200 --method knn
vitruvius probe untrained:mlp-256-64 --draws 3
"""

import time
from collections.abc import Iterator
from pathlib import Path

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError
from vitruvius.datasets import DataChoice, Dataset
from vitruvius.pretraining.settings import ProbeChoice
from vitruvius.training.recipe import Threads


class Config(config.RunConfig, DataChoice, ProbeChoice, Threads):
    """Which features, on which data, by which probe."""

    source: Positional[str] = ""
    """A run of pretrain or train (name or folder), raw, pca:K, untrained:ARCH (a preset, or mlp-256-64)."""
    data: str = ""
    """A data set; default: that of the run, else mnist."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Fit a probe to each kind of features and measure its accuracy."""
    from vitruvius.pretraining import features, pca, probe, report
    from vitruvius.pretraining.results import ProbeResult
    from vitruvius.render import figures
    from vitruvius.training import device

    if flags.resume is not None and not config.source:
        config = runs.recorded(runs.find(flags.resume, "probe", flags.runs), Config)
    if not config.source:
        raise UserError("which features? vitruvius probe RUN, raw, pca:K or untrained:ARCH")
    began = time.perf_counter()
    config, source = _with_data_of_run(config, flags)
    device.set_threads(config.threads)
    yield from config.decode()
    data = _load(config)
    sources = list(features.sources(config.source, data, config.seed, source))
    if config.source != "raw" and (why_not := pca.too_large(data.train.x)):
        yield records.Note(text=why_not)
    with runs.opened("probe", config, flags) as (folder, config):
        scores = []
        for index, one in enumerate(sources):
            yield records.Progress(done=index, total=len(sources), label=f"probe {one.name}")
            scores.append(probe.score(one.name, one.size, one.encode, data, config))
        labels = len(data.train) if config.labels == "all" else config.labels
        result = ProbeResult(
            rows=tuple(scores),
            protocol=probe.protocol(config, data),
            data=data.name,
            labels=labels,
            draws=len(scores[0].accuracies),
            seconds=time.perf_counter() - began,
            run=str(folder.folder),
        )
        folder.keep(result)
        figures.write_png(report.probe_bars(result), folder.path("accuracy.png"))
        folder.seal(runs.environment())
        yield result


def _with_data_of_run(config: Config, flags: Flags) -> tuple[Config, Path | None]:
    """Return the config with the run's data and split where none are named, and the run's folder."""
    if config.source == "raw" or config.source.startswith(("pca:", "untrained:")):
        return config.model_copy(update={"data": config.data or "mnist"}), None
    folder = runs.find(config.source, ("train", "pretrain", "*"), flags.runs)
    of_run = DataChoice.recorded(runs.verify(folder, "config.json"))
    if config.data not in ("", of_run.data):
        return config, folder
    left_out = {key for key in DataChoice.model_fields if key == "data" or key not in config.model_fields_set}
    return config.model_copy(update=of_run.model_dump(include=left_out)), folder


def _load(config: Config) -> Dataset:
    """Load labelled samples of several classes, or refuse them with their counts."""
    from vitruvius.training.batches import require_classes

    data = config.load()
    require_classes(data)
    if not len(getattr(data, config.on)):
        raise UserError(f"{data.name}: there are no {config.on} samples to count the probe's hits on")
    if config.labels != "all" and config.labels > len(data.train):
        raise UserError(f"--labels {config.labels:,}: {data.name} has {len(data.train):,} training samples")
    return data
