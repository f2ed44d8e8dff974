"""Train a Vision Transformer: the reference ViT on MNIST as it is, your own images and sizes by a flag.

vitruvius train
vitruvius train --epochs 1 --set depth=2
vitruvius train --data fashion_mnist --arch mnist-slim --name fashion
vitruvius train --data folder:photos --resume fashion --epochs 20
vitruvius train --epochs 1 --doctor
"""

from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.checks import Finding
from vitruvius.core import config, records, runs
from vitruvius.core import signals as stopping
from vitruvius.core.blocks import Block
from vitruvius.core.config import Flags, Settings
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.training.results import Result, finish

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset
    from vitruvius.training.loop import Job


__all__ = ["Config", "Result", "run"]


class Config(config.Config):
    """What is trained, on what, and how."""

    arch: str = "mnist"
    """A preset (see `vitruvius list presets`) or a FILE.json."""
    set: Settings = ()
    """Change fields of the network: field=value."""
    data: str = "mnist"
    """A data set: mnist, fashion_mnist, cifar, folder:PATH, ..."""
    data_dir: str | None = None
    """Where to look for its files first."""
    validation: Annotated[int, Field(ge=0)] | None = None
    """Training samples put aside for validation; default: the data set's own."""
    init: str | None = None
    """Start from the weights of this run, or of a .safetensors file; after masked pretraining, which trains the patches
    and not the class token, --set pooling=mean may help."""
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 10
    """How often every training image is seen."""
    batch: Annotated[int, Field(ge=1, le=2**20)] = 32
    """Images per optimiser step, over all processes."""
    accumulate: Annotated[int, Field(ge=1, le=4096)] = 1
    """Parts into which a batch is cut to save memory."""
    lr: Annotated[float, Field(gt=0, le=100)] = 1e-3
    """Peak learning rate of AdamW."""
    warmup: Annotated[int, Field(ge=0)] = 1000
    """Steps over which the learning rate rises to its peak; then it follows half a cosine."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Pull of AdamW on the matrices towards zero."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of each label that is spread over all classes."""
    clip: Annotated[float, Field(ge=0)] = 1.0
    """Largest norm of the gradient; 0 = no clipping."""
    shift: Annotated[int, Field(ge=0, le=64)] = 2
    """Random shifts of up to so many pixels."""
    crop: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Random crops of 1 - crop to 1 of the side, scaled back."""
    flip: bool = False
    """Random left-right flips."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of the first weights, the order, the augmentation and the dropout."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to compute; auto: a GPU where there is one."""
    precision: Literal["auto", "float32", "bfloat16", "float64"] = "auto"
    """auto: bfloat16 where a GPU computes with it, float32 elsewhere."""
    compile: Literal["auto", "on", "off"] = "auto"
    """torch.compile; auto: where it pays back within the run and a C++ compiler is found."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads that torch uses; 0 = one per core."""
    checkpoint: Annotated[int, Field(ge=1)] = 500
    """Optimiser steps between two checkpoints."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Stop after so many seconds, with the state saved."""
    doctor: bool = False
    """Watch this training as `doctor run` watches a script; exit code 1 if a bug is proven. Turns --compile off."""


class Watched(records.Record):
    """How many checks looked at this training."""

    result: Diagnosis

    def view(self) -> Iterable[Block]:
        return self.result.summary()


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Train, evaluate, write the run folder."""
    from vitruvius.training import device, session
    from vitruvius.training import distributed as world

    place = device.device(config.device)
    if flags.resume is None:
        _data_and_arch(config)  # what cannot be trained leaves no folder behind
    with (
        world.joined(place),
        session.opened("train", _unwatched(config), flags) as (folder, recorded),
        stopping.on_signals() as stop,
    ):
        config = recorded.model_copy(update={"doctor": config.doctor})
        data, arch = _data_and_arch(config)
        threads = device.use_threads(config.threads)
        macs = cost.cost(arch).macs * len(data.train) * config.epochs
        choices = {
            "compile": _compiles(config, macs, folder),
            "precision": device.precision(config.precision, place),
        }
        config = config.model_copy(update=choices)
        if world.rank() == 0:
            folder.write_config(config)
        job = _job(config, data, arch, place)
        job.stop = stop
        environment = runs.environment(**device.fingerprint(threads, world.size()), data_sha256=data.sha256)
        yield from _notes(config, data, arch)
        work = session.carried(folder, job, environment, flags.allow_inexact)
        findings: tuple[Finding, ...] = ()
        if config.doctor:
            findings = yield from _watched(work)
        else:
            yield from work
        if world.rank() == 0:
            known = {"inexact": environment.get("inexact", False), "findings": findings}
            result = finish(folder, config, data, arch, job, known)
            folder.seal(environment)
            yield result


def _watched(work: Iterator[records.Record]) -> Generator[records.Record, None, tuple[Finding, ...]]:
    """The records of a training under the doctor's watch, then its findings, also if the training fails."""
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


def _unwatched(config: Config) -> Config:
    """What is compared with the recorded config: any run may be continued with or without --doctor."""
    from vitruvius.training import distributed as world

    if config.doctor and world.size() > 1:
        raise UserError("--doctor watches one process: train without torchrun")
    return config.model_copy(update={"doctor": False})


def _compiles(config: Config, macs: int, folder: runs.Run) -> str:
    from vitruvius.training import device
    from vitruvius.training import distributed as world

    if config.doctor and config.compile == "on" and not folder.is_new:
        raise UserError(
            f"--doctor: {folder.folder.name} is compiled, and uncompiled it would not go on to the bit"
        )
    return "off" if config.doctor or world.size() > 1 else device.compiles(config.compile, macs)


@lru_cache(maxsize=1)
def _data_and_arch(config: Config) -> "tuple[Dataset, Arch]":
    """The data and the network for them, refused before training if they do not fit."""
    from vitruvius import datasets
    from vitruvius.training.batches import require_classes

    data = datasets.get(config.data, data_dir=config.data_dir, validation=config.validation, seed=config.seed)
    require_classes(data)
    if len(data.shape) != 3 or data.shape[1] != data.shape[2]:
        raise UserError(
            f"{data.name}: samples of shape {data.shape} are not square images; a ViT needs those"
        )
    channels, side, _ = data.shape
    arch = tables.arch(config.arch, config.set, image=side, channels=channels, classes=len(data.classes))
    if (arch.channels, arch.image) != (channels, side) or arch.classes < len(data.classes):
        raise UserError(
            f"the network takes {arch.channels}x{arch.image}x{arch.image} images of {arch.classes} classes, "
            f"{data.name} has {channels}x{side}x{side} images of {len(data.classes)} classes"
        )
    cost.refuse_if_too_big(arch, -(-config.batch // config.accumulate))
    return data, arch


def _job(config: Config, data: "Dataset", arch: Arch, place: Any) -> "Job":
    import torch

    from vitruvius.nn.vit import build
    from vitruvius.objectives.classify import classify
    from vitruvius.optimisers.adamw import adamw
    from vitruvius.training import device, loop
    from vitruvius.training import distributed as world
    from vitruvius.training import predictor as trained
    from vitruvius.training.augment import Augment
    from vitruvius.training.batches import feed

    kind = device.PRECISIONS[config.precision]
    dtype = torch.float64 if kind is torch.float64 else torch.float32
    model = build(arch, config.seed)
    if config.init:
        trained.start_from(model, config.init)
    model = model.to(place, dtype)
    wrapped = world.wrapped(model).train()

    def measure(model: Any, batch: Any, generator: Any) -> Any:
        return classify(model, batch, generator, label_smoothing=config.label_smoothing)

    forward: Any = torch.compile(wrapped) if config.compile == "on" else None
    torch.manual_seed(config.seed + world.rank())
    return loop.Job(
        model=wrapped,
        measure=measure,
        compiled=None if forward is None else lambda _, batch, generator: measure(forward, batch, generator),
        train=feed(
            data,
            data.train,
            seed=config.seed,
            augment=Augment(config.shift, config.crop, config.flip),
            dtype=dtype,
            device=place,
        ),
        validation=feed(data, data.validation, dtype=dtype, device=place),
        recipe=loop.Recipe(
            **{name: getattr(config, name) for name in _RECIPE},
            autocast=torch.bfloat16 if kind is torch.bfloat16 else None,
        ),
        optimiser=adamw(wrapped, config.lr, config.weight_decay),
    )


_RECIPE = ("epochs", "batch", "accumulate", "lr", "warmup", "clip", "seed", "checkpoint", "time_limit")


def _notes(config: Config, data: "Dataset", arch: Arch) -> Iterator[records.Note]:
    from vitruvius.training import device

    counts = (
        f"{len(data.train):,} training, {len(data.validation):,} validation, {len(data.test):,} test images"
    )
    yield records.Note(text=f"{data.name}: {counts} of {len(data.classes)} classes")
    found = cost.cost(arch)
    yield records.Note(
        text=f"{config.arch}: {found.params:,} parameters, {found.macs:,} multiply-adds per image"
    )
    if config.doctor:
        yield records.Note(text="--doctor: this training is watched, and runs without torch.compile")
    elif config.compile == "off" and device.compiler() is None:
        yield records.Note(text="no C++ compiler found: training runs without torch.compile")
