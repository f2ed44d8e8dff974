"""Pretrain without labels: autoencoders that reconstruct, denoise or fill masks, probed after every epoch.

As it is, the grid of the autoencoder assignment: three objectives, four latent sizes, three repeats on
synthetic vectors. With `--model vit` a masked autoencoder whose encoder `vitruvius train --init RUN`
fine-tunes.

vitruvius pretrain
vitruvius pretrain --data mnist --model mlp --objective denoise --latent 64 --labels 200 --name digits
vitruvius pretrain --data mnist --model vit --epochs 20 --name masked
vitruvius pretrain --latent 5,20 --objective reconstruct --l2 0.01 --epochs 50
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from vitruvius import datasets
from vitruvius.core import config, files, records, runs, signals
from vitruvius.core.config import Flags
from vitruvius.core.counted import counted
from vitruvius.core.runs import RunFolder
from vitruvius.pretraining.settings import Pretraining

if TYPE_CHECKING:
    from vitruvius.pretraining.prepare import Prepared
    from vitruvius.pretraining.results import Points, Result


class Config(config.RunConfig, Pretraining):
    """What is pretrained, on what, and how; defaults depend on the model."""

    takes: ClassVar[tuple[str, ...]] = (*config.RunConfig.takes, "allow_inexact")
    changeable: ClassVar[tuple[str, ...]] = ("epochs", "cosine_epochs", "time_limit")
    short = ("data", "model", "objective", "latent", "hidden", "repeats", "mask", "epochs", "lr", "labels")


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Pretrain, probe after every epoch, compare with PCA, write the run folder."""
    started = time.perf_counter()  # the time limit counts reading data too
    from vitruvius.pretraining import evaluate
    from vitruvius.pretraining.prepare import prepare
    from vitruvius.pretraining.results import read_points
    from vitruvius.training import session
    from vitruvius.training.results import Epoch

    prepared = None
    if flags.resume is None:  # faults are found before there is a folder
        if config.model == "vit":
            config.refuse_unknown()
        config = _with_network(config)
        yield from config.decode()
        prepared = prepare(config)
    with runs.opened("pretrain", config, flags) as (folder, config), signals.on_signals() as stop:
        if prepared is None:
            yield from config.decode()
            prepared = prepare(config)
        data, grid, job, evaluator, environment = prepared
        job.stop, job.started = stop, started
        folder.write_config(config)
        yield from _notes(config, prepared)
        if not read_points(folder.records()):
            before = evaluate.measure_epoch(grid, 0, evaluator)
            folder.keep(before)
            yield before
        # model.safetensors holds the encoders, written at the end: the checkpoints have the rest.
        work = session.run_job(folder, job, environment, flags.allow_inexact, keeps_model=False)
        for record in work:
            if isinstance(record, Epoch):
                # Kept before the epoch's checkpoint is written: a crash in a probe repeats the epoch.
                record = evaluate.measure_epoch(grid, record.epoch, evaluator)
                folder.keep(record)
            yield record
        epochs = read_points(folder.records())
        more = {"run": str(folder.folder), "inexact": environment.get("inexact", False)}
        result = evaluate.result(config, data, job, evaluator, epochs, **more)
        folder.keep(result)
        _write(folder, config, prepared, result, epochs)
        folder.seal(environment)
        yield result


def _with_network(config: Config) -> Config:
    """Return the config; for the user's own images the network is chosen unless one is named."""
    is_open = datasets.own_pictures(config.data) and "arch" not in config.model_fields_set
    return config.model_copy(update={"arch": "auto"}) if is_open else config


def _write(
    folder: RunFolder, config: Config, prepared: "Prepared", result: "Result", epochs: "list[Points]"
) -> None:
    """Write the weights, the table of all epochs, the assignment's log and the report."""
    from vitruvius.pretraining import assignment_log, autoencoders, evaluate, report

    data, grid, job, evaluator, _ = prepared
    autoencoders.save(folder, config, data, grid)
    files.write(folder.path("log.csv"), report.log_csv(epochs))
    if config.model != "vit":
        files.write_json(folder.path("submission_log.json"), assignment_log.log(epochs, config))
    images = evaluator.validation if len(evaluator.validation) else job.train
    pictures = evaluate.pictures(grid, images) if images.x.ndim == 4 else []
    report.write(folder, result, config, epochs, pictures)


def _notes(config: Config, prepared: "Prepared") -> Iterator[records.Note]:
    from vitruvius.pretraining import pca

    data, grid, _, evaluator, environment = prepared
    yield records.Note(text=f"{data.name}: {data.counts} samples")
    if "bits" in environment:
        yield records.Note(text=f"{environment['device']}: {environment['bits']}")
    params, models = sum(parameter.numel() for parameter in grid.parameters()), len(grid.cells)
    yield records.Note(text=f"{params:,} parameters in {counted(models, 'autoencoder')}")
    left_out = f"the probe is left out: {evaluator.no_probe}"
    yield records.Note(text=left_out if evaluator.no_probe else f"probe: {evaluator.protocol()}")
    if config.model == "linear" and (why_not := pca.too_large(data.train.x)):
        yield records.Note(text=why_not)
    if config.l2 and any(".py:" in name for name in config.objective):
        yield records.Note(text="--l2 is not added to an objective of your own")
