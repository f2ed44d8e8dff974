"""Train a Vision Transformer: the reference ViT on MNIST by default, one chosen for your own images.

vitruvius train
vitruvius train --data photos
vitruvius train --epochs 1 --set depth=2
vitruvius train --steps 200 --warmup 50
vitruvius train --data fashion_mnist:mini --arch mnist-slim --name fashion
vitruvius train --resume fashion --epochs 20
vitruvius train --epochs 1 --optimiser lion --lr 0.0003
vitruvius train --epochs 1 --doctor
"""

import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from vitruvius.core import config, records, runs, signals
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.training.recipe import ClassifierSettings

if TYPE_CHECKING:
    from vitruvius.checks import Finding


class Config(config.RunConfig, ClassifierSettings):
    """What is trained, on what, and how."""

    takes: ClassVar[tuple[str, ...]] = (*config.RunConfig.takes, "allow_inexact")
    changeable: ClassVar[tuple[str, ...]] = ("epochs", "cosine_epochs", "time_limit", "doctor")
    short = ("data", "arch", "set", "epochs", "steps", "batch", "lr", "optimiser", "init", "seed", "doctor")
    group: ClassVar[str] = "run"
    doctor: bool = False
    """Watch this training like `doctor run` a script; exit code 1 on a proven bug. Turns --compile and
    --workers off."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Train, evaluate on the test images, write the run folder."""
    started = time.perf_counter()  # the time limit counts importing torch and reading data too
    from vitruvius.training import classifier, device, distributed, session

    with ExitStack() as stack:
        stack.enter_context(distributed.init())
        _refuse_to_watch_several(config)
        prepared = None
        if flags.resume is None:  # what cannot be trained is refused before there is a run folder
            yield from config.decode()
            prepared = classifier.prepare(config)
            config = classifier.decided(
                prepared.settings, prepared.data, prepared.arch, alone=prepared.settings.doctor
            )
        opened = session.open_run("train", config, flags, lambda recorded: max(1, recorded.workers))
        folder, recorded = stack.enter_context(opened)
        stop = stack.enter_context(signals.on_signals())
        config = recorded.model_copy(update={"doctor": config.doctor})
        _refuse_fewer_epochs(config, folder)
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
        environment = runs.environment(**machine, data_sha256=data.sha256)
        yield from classifier.describe(replace(prepared, settings=config))
        if config.doctor:
            yield records.Note(text="--doctor: this training is watched, and runs without torch.compile")
        work = session.run_job(folder, job, environment, flags.allow_inexact)
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


def _refuse_to_watch_several(config: Config) -> None:
    """Refuse --doctor in several processes before there is a run folder."""
    from vitruvius.training import distributed

    if config.doctor and distributed.world_size() > 1:
        raise UserError("--doctor watches one process: train without torchrun")


def _refuse_to_watch_another_way(config: Config, folder: runs.RunFolder) -> None:
    """Refuse --doctor for a run that was trained in a way that it turns off."""
    another = "is compiled, and uncompiled" if config.compile == "on" else ""
    if config.workers > 1:
        another = f"is trained by {config.workers} processes, and by one"
    if config.doctor and another:
        raise UserError(f"--doctor: {folder.folder.name} {another} it would not go on to the bit")


def _refuse_fewer_epochs(config: Config, folder: runs.RunFolder) -> None:
    """Refuse to end a run before the epochs that are done: they cannot be taken back."""
    from vitruvius.training.results import epochs

    try:
        done = len(epochs(folder.records()))
    except UserError:  # damaged records are repaired or refused by the session
        return
    if config.steps is None and config.epochs < done:
        cure = f"ask for {done} or more, or start anew with another --name"
        raise UserError(f"--resume {folder.folder.name} --epochs {config.epochs}: {done} are done; {cure}")


def _watched(work: Iterator[records.Record]) -> "Generator[records.Record, None, tuple[Finding, ...]]":
    """Yield the records of a training and then the doctor's findings, also if the training fails."""
    from vitruvius.doctor import diagnose, user_code
    from vitruvius.doctor.results import Watched
    from vitruvius.objectives import classify
    from vitruvius.training import loop

    report, failure = diagnose.Report(), None
    try:
        with user_code.as_users({loop.__file__, classify.__file__}), diagnose.watch() as report:
            yield from work
    except VitruviusError as error:  # the findings may say why it failed
        failure = error
    if failure is None or report.result.checked:
        yield from report.findings
        yield Watched(result=report.result)
    if failure:
        raise failure
    return report.findings
