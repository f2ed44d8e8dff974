"""Train a Vision Transformer: the reference ViT on MNIST by default, one chosen for your own images.

vitruvius train
vitruvius train --data photos
vitruvius train --epochs 1 --set depth=2
vitruvius train --data fashion_mnist:mini --arch mnist-slim --name fashion
vitruvius train --resume fashion --epochs 20
vitruvius train --epochs 1 --optimiser lion --lr 0.0003
vitruvius train --epochs 1 --doctor
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from vitruvius.arch import cost
from vitruvius.checks import Finding
from vitruvius.core import config, records, runs, signals
from vitruvius.core.blocks import Block
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Result as Result
from vitruvius.training.results import epochs


class Config(config.RunConfig, ClassifierSettings):
    """What is trained, on what, and how."""

    takes: ClassVar[tuple[str, ...]] = (*config.RunConfig.takes, "allow_inexact")
    changeable: ClassVar[tuple[str, ...]] = ("epochs", "time_limit", "doctor")
    short = ("data", "arch", "set", "epochs", "batch", "lr", "optimiser", "init", "seed", "doctor")
    group: ClassVar[str] = "run"
    doctor: bool = False
    """Watch this training like `doctor run` a script; exit code 1 on a proven bug. Turns --compile off."""


class Watched(records.Record):
    """How many checks looked at this training."""

    result: Diagnosis

    def view(self) -> Iterable[Block]:
        return self.result.summary()


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Train, evaluate on the test images, write the run folder."""
    from vitruvius.training import classifier, device, distributed, session

    where = device.choose_device(config.device)
    # What cannot be trained is refused before there is a run folder.
    prepared = None
    if flags.resume is None:
        yield from config.decode()
        prepared = classifier.prepare(config)
        config = prepared.settings
    with (
        distributed.init(where),
        session.open_run("train", _alone_if_watched(config), flags) as (folder, recorded),
        signals.on_signals() as stop,
    ):
        config = recorded.model_copy(update={"doctor": config.doctor})
        _refuse_fewer_epochs(config, folder)
        if prepared is None:
            yield from config.decode()
            prepared = classifier.prepare(config, is_new=False)
        data, arch = prepared.data, prepared.arch
        threads = device.set_threads(config.threads)
        macs = cost.cost(arch).macs * len(data.train) * config.epochs
        precision = device.choose_precision(config.precision, where)
        config = config.model_copy(update={"compile": _compile(config, macs, folder), "precision": precision})
        if distributed.rank() == 0:
            folder.write_config(config)
        job = classifier.job(config, data, arch, where)
        job.stop = stop
        machine = device.fingerprint(threads, distributed.world_size())
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


def _alone_if_watched(config: Config) -> Config:
    """Return the config; refuse --doctor in several processes before there is a run folder."""
    from vitruvius.training import distributed

    if config.doctor and distributed.world_size() > 1:
        raise UserError("--doctor watches one process: train without torchrun")
    return config


def _refuse_fewer_epochs(config: Config, folder: runs.RunFolder) -> None:
    """Refuse to end a run before the epochs that are done: they cannot be taken back."""
    try:
        done = len(epochs(folder.records()))
    except UserError:  # damaged records are repaired or refused by the session
        return
    if config.epochs < done:
        cure = f"ask for {done} or more, or start anew with another --name"
        raise UserError(f"--resume {folder.folder.name} --epochs {config.epochs}: {done} are done; {cure}")


def _compile(config: Config, macs: int, folder: runs.RunFolder) -> str:
    """Return whether this run is compiled, "on" or "off"; the doctor and several processes exclude it."""
    from vitruvius.training import device, distributed

    if config.doctor and config.compile == "on" and not folder.is_new:
        why = "is compiled, and uncompiled it would not go on to the bit"
        raise UserError(f"--doctor: {folder.folder.name} {why}")
    alone = not config.doctor and distributed.world_size() == 1
    return "on" if alone and device.should_compile(config.compile, macs) else "off"


def _watched(work: Iterator[records.Record]) -> Generator[records.Record, None, tuple[Finding, ...]]:
    """Yield the records of a training and then the doctor's findings, also if the training fails."""
    from vitruvius.doctor import diagnose, user_code
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
