"""Train a Vision Transformer: the reference ViT on MNIST by default, one chosen for your own images.

vitruvius train
vitruvius train --data photos
vitruvius train --epochs 1 --set depth=2
vitruvius train --steps 200 --warmup 50
vitruvius train --data fashion_mnist:mini --arch mnist-slim --name fashion
vitruvius train --resume fashion --epochs 20
vitruvius train --epochs 1 --optimiser lion --lr 0.0003
vitruvius train --epochs 1 --arch fifty:n50 --recipe small-data
vitruvius train --epochs 1 --doctor
"""

import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from vitruvius.core import config, records, runs, signals
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.training.recipe import CHANGEABLE, ClassifierSettings

if TYPE_CHECKING:
    from vitruvius.checks import Finding
    from vitruvius.training.loop import Job


class Config(config.RunConfig, ClassifierSettings):
    """What is trained, on what, and how."""

    takes: ClassVar[tuple[str, ...]] = (*config.RunConfig.takes, "allow_inexact")
    changeable: ClassVar[tuple[str, ...]] = CHANGEABLE
    short = ("data", "arch", "set", "recipe", "epochs", "steps", "batch", "lr", "init", "seed", "doctor")
    group: ClassVar[str] = "run"
    log: config.Names = ()
    """Where the numbers of each epoch go, too: tensorboard (event files), jsonl (metrics.jsonl)."""
    doctor: bool = False
    """Watch this training like `doctor run` a script; exit code 1 on a proven bug. Turns --compile and
    --workers off."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Train, evaluate on the test images, write the run folder."""
    started = time.perf_counter()  # the time limit counts importing torch and reading data too
    from vitruvius.training import classifier, device, distributed, session, sinks

    with ExitStack() as stack:
        stack.enter_context(distributed.init())
        if config.doctor and distributed.world_size() > 1:
            raise UserError("--doctor watches one process: train without torchrun")
        for name in config.log:
            sinks.get(name)
        if distributed.world_size() == 1:  # a slower process of several would find the folder of the first
            runs.refuse_used_name("train", flags)
        prepared = None
        if flags.resume is None:  # what cannot be trained is refused before there is a run folder
            config.refuse_unknown()
            yield from config.decode()
            prepared = classifier.prepare(config)
            chosen = prepared.settings
            config = classifier.decided(chosen, prepared.data, prepared.arch, alone=chosen.doctor)
        opened = session.open_run("train", config, flags, lambda recorded: max(1, recorded.workers))
        folder, recorded = stack.enter_context(opened)
        stop = stack.enter_context(signals.on_signals())
        config = recorded.model_copy(update={"doctor": config.doctor})
        session.refuse_fewer_epochs(config, folder)
        if prepared is None:
            yield from config.decode()
            prepared = classifier.prepare(config, is_new=False)
        data, arch = prepared.data, prepared.arch
        if not folder.is_new:
            _refuse_to_watch_another_way(config, folder)
            now = classifier.decided(config, data, arch, alone=config.doctor)
            # Checkpoints of older versions say auto.
            config = now.model_copy(update={"device": config.device})
        if distributed.rank() == 0:
            folder.write_config(config)
        where = device.choose_device(config.device)
        stack.enter_context(device.threads(0))  # the caller gets its own number of threads back
        threads = device.set_threads(config.threads, config.workers)
        job = classifier.job(config, data, arch, where)
        job.stop, job.started = stop, started
        machine = device.fingerprint(threads, distributed.world_size(), where)
        environment = runs.environment(**{**machine, **classifier.inputs(config, data)})
        yield from classifier.describe(replace(prepared, settings=config))
        if config.lr == "auto":
            config = yield from _with_rate(config, job, folder)
        if config.doctor:
            yield records.Note(text="--doctor: this training is watched, and runs without torch.compile")
        work = session.run_job(folder, job, environment, flags.allow_inexact)
        work = session.resumable(sinks.copied(work, config.log, folder), folder, flags)
        findings: tuple[Finding, ...] = ()
        if config.doctor:
            findings = yield from _watched(work)
        else:
            yield from work
        if distributed.rank() == 0:
            inexact = environment.get("inexact", False)
            more = {"inexact": inexact, "findings": findings, "chosen": prepared.chosen}
            result = classifier.finish(folder, config, data, arch, job, known=prepared.baselines, **more)
            folder.seal(environment)
            yield result


def _with_rate(config: Config, job: "Job", folder: runs.RunFolder) -> Generator[records.Record, None, Config]:
    """Find the learning rate by a range test and record it; its picture goes into the run folder."""
    from vitruvius.training import distributed, lr_range, report

    test = lr_range.measure(job, config)
    config = config.model_copy(update={"lr": test.chosen})
    job.recipe = config
    if distributed.rank() == 0:
        report.write_range_test(folder, test)
        folder.write_config(config)
    yield records.Note(text=f"--lr auto: {test.chosen:g}, by a range test of {len(test.rates)} steps")
    return config


def _refuse_to_watch_another_way(config: Config, folder: runs.RunFolder) -> None:
    """Refuse --doctor for a run that was trained in a way that it turns off."""
    another = "is compiled, and uncompiled" if config.compile == "on" else ""
    if config.workers > 1:
        another = f"is trained by {config.workers} processes, and by one"
    if config.doctor and another:
        raise UserError(f"--doctor: {folder.folder.name} {another} it would not go on to the bit")


def _watched(work: Iterator[records.Record]) -> "Generator[records.Record, None, tuple[Finding, ...]]":
    """Watch the training; findings name lines of its loop and of its objective."""
    from vitruvius.doctor import watched_work
    from vitruvius.objectives import classify
    from vitruvius.training import loop

    return watched_work.watched(work, loop.__file__, classify.__file__)
