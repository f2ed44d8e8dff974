"""Pretrain without labels: autoencoders that reconstruct, denoise or fill masks, each probed after every epoch.

As it is, the grid of the autoencoder assignment: three objectives, four latent sizes, three repeats on synthetic
vectors. With `--model vit` a masked autoencoder whose encoder `vitruvius train --init RUN` fine-tunes.

vitruvius pretrain
vitruvius pretrain --data mnist --model mlp --objective denoise --latent 64 --labels 200 --name digits
vitruvius pretrain --data mnist --model vit --epochs 20 --name masked
vitruvius pretrain --latent 5,20 --objective reconstruct --l2 0.01 --epochs 50
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from vitruvius.core import config, records, runs
from vitruvius.core import signals as stopping
from vitruvius.core.config import Flags, Ints, Names, Settings
from vitruvius.core.errors import UserError
from vitruvius.pretraining.finish import Result, finish

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset
    from vitruvius.pretraining.autoencoders import Plan
    from vitruvius.pretraining.evaluate import Judge
    from vitruvius.training.loop import Job


__all__ = ["Config", "Result", "run"]


class Config(config.RunConfig):
    """What is pretrained, on what, and how; what is left out is chosen by the model."""

    takes: ClassVar[tuple[str, ...]] = (*config.RunConfig.takes, "allow_inexact")
    objective: Names = ()
    """reconstruct, denoise, mask, or ./mine.py:name; default: the first three, for a ViT mask."""
    model: Literal["linear", "mlp", "vit"] = "linear"
    latent: Ints = (5, 20, 100, 500)
    """Latent sizes; a ViT's is its width."""
    hidden: Ints = ()
    """Widths of the layers between input and latent; default: none, for an mlp 256."""
    activation: Literal["relu", "gelu"] = "relu"
    """Between the layers of an mlp."""
    arch: str = "mnist"
    """The ViT: a preset (see `vitruvius list presets`) or a FILE.json."""
    set: Settings = ()
    """Change fields of the ViT: field=value."""
    decoder_width: Annotated[int, Field(ge=4, le=2**14)] = 64
    """Of the ViT's decoder, which is thrown away after pretraining."""
    decoder_depth: Annotated[int, Field(ge=1, le=128)] = 2
    data: str = "synthetic"
    """A data set: synthetic, mnist, fashion_mnist, folder:PATH, ...; labels are not needed."""
    data_dir: str | None = None
    """Where to look for its files first."""
    validation: Annotated[int, Field(ge=0)] | None = None
    """Training samples put aside for validation and the probe; default: the data set's own."""
    repeats: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Trainings of each kind from other first weights; default: 3, for a ViT 1."""
    noise: Annotated[float, Field(ge=0, le=100)] = 0.5
    """Deviation of the noise that denoise adds."""
    mask: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share that mask hides; default: 0.25 of the entries, for a ViT 0.75 of the patches."""
    counted: Literal["all", "masked", "visible"] | None = None
    """Which errors count for mask; default: all entries, for a ViT the masked patches."""
    normalise: bool = False
    """Targets of a ViT are patches of mean 0 and deviation 1."""
    l2: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """Weight of the sum of squared weights, added to the loss."""
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 10
    """How often every training sample is seen."""
    batch: Annotated[int, Field(ge=1, le=2**20)] = 100
    """Samples per optimiser step."""
    lr: Annotated[float, Field(gt=0, le=100)] | None = None
    """Learning rate of Adam; default: 0.0005, for an mlp or a ViT 0.001."""
    schedule: Literal["auto", "constant", "cosine"] = "auto"
    """What the learning rate does after the warm-up; auto: cosine for a ViT."""
    warmup: Annotated[int, Field(ge=0)] | None = None
    """Steps over which the learning rate rises; default: 0, for a ViT 500."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.05
    """AdamW's, for a ViT; others have --l2."""
    shift: Annotated[int, Field(ge=0, le=64)] = 0
    """Random shifts of images by up to so many pixels."""
    probe: Literal["lbfgs", "adam", "knn", "none"] = "lbfgs"
    """The probe before training and after every epoch: fitted to validation labels, counted on the test samples."""
    labels: Annotated[int, Field(ge=2)] | Literal["all"] = "all"
    """Validation labels that the probe gets."""
    seed: Annotated[int, Field(ge=0)] = 0
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["float32", "float64"] = "float32"
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads that torch uses; 0 = one per core, or one alone for layers too small to share."""
    checkpoint: Annotated[int, Field(ge=1)] = 500
    """Optimiser steps between two checkpoints."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Stop after so many seconds, with the state saved."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        for field in ("latent", "hidden"):
            if any(not 1 <= width <= 2**20 for width in getattr(self, field)):
                raise ValueError(
                    f"{field} {','.join(map(str, getattr(self, field)))}: sizes are 1 to {2**20}"
                )
        for field in ("objective", "latent"):
            if len(set(getattr(self, field))) < len(getattr(self, field)):
                raise ValueError(f"{field} {','.join(map(str, getattr(self, field)))}: name each one once")
        if not self.latent:
            raise ValueError("latent: name at least one size")
        if self.model == "vit" and (len(self.objective) > 1 or (self.repeats or 1) > 1):
            raise ValueError(
                "a ViT is pretrained alone: one objective, repeats 1 (another seed gives another)"
            )
        others, whose = (_OF_DENSE, "linear and mlp models") if self.model == "vit" else (_OF_VIT, "a ViT")
        for field in others:
            if getattr(self, field) != type(self).model_fields[field].default:
                raise ValueError(f"{field} belongs to {whose}, model is {self.model}")
        return self


_OF_DENSE = ("latent", "hidden", "activation")
_OF_VIT = ("arch", "set", "decoder_width", "decoder_depth", "normalise", "weight_decay")
_ENTRIES = {"objective": ("reconstruct", "denoise", "mask"), "repeats": 3, "mask": 0.25, "counted": "all"}
_PATCHES = {"objective": ("mask",), "repeats": 1, "mask": 0.75, "counted": "masked"}
_BY_MODEL: dict[str, dict[str, Any]] = {
    "linear": _ENTRIES | {"lr": 5e-4, "schedule": "constant", "warmup": 0},
    "mlp": _ENTRIES | {"lr": 1e-3, "schedule": "constant", "warmup": 0, "hidden": (256,)},
    "vit": _PATCHES | {"lr": 1e-3, "schedule": "cosine", "warmup": 500},
}
"""What `None`, `()` and `auto` stand for."""


WORTH_SHARING = 2**18
"""Entries of a matrix from which more than one thread pays."""


class Prepared(NamedTuple):
    """What is to be trained and who looks at it, checked."""

    config: Config
    data: "Dataset"
    job: "Job"
    judge: "Judge"
    environment: dict[str, Any]


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Pretrain, probe, certify, write the run folder."""
    from vitruvius.pretraining import evaluate as pretraining
    from vitruvius.training import session
    from vitruvius.training.results import Epoch

    prepared = (
        _prepared(config) if flags.resume is None else None
    )  # faults are found before there is a folder
    with runs.opened("pretrain", config, flags) as (folder, config), stopping.on_signals() as stop:
        config, data, job, judge, environment = prepared or _prepared(config)
        job.stop = stop
        folder.write_config(config)
        yield from _notes(config, data, job, judge)
        if not any(line["kind"] == "points" for line in folder.records()):
            before = pretraining.look(job.model, 0, judge)
            folder.keep(before)
            yield before
        for record in session.run_job(folder, job, environment, flags.allow_inexact):
            if isinstance(record, Epoch):
                # Kept before the epoch's checkpoint is written: a crash in a probe repeats the epoch.
                record = pretraining.look(job.model, record.epoch, judge)
                folder.keep(record)
            yield record
        yield finish(folder, config, _plan(config), data, job, judge, environment)


def _prepared(config: Config) -> Prepared:
    """Read the data and build the models; whatever is wrong with the request is said here."""
    from vitruvius.training import device

    data, config = _data(config), _resolved(config)
    threads, place = (
        device.set_threads(config.threads or _threads(config, data)),
        device.choose_device(config.device),
    )
    job, judge = _job(config, data, place)
    environment = runs.environment(**device.fingerprint(threads, 1), data_sha256=data.sha256)
    return Prepared(config, data, job, judge, environment)


def _data(config: Config) -> "Dataset":
    from vitruvius import datasets

    data = datasets.get(config.data, data_dir=config.data_dir, validation=config.validation, seed=config.seed)
    if not len(data.train):
        raise UserError(f"{data.name}: there are no training samples")
    image = len(data.shape) == 3
    if config.model == "vit" and (not image or data.shape[1] != data.shape[2]):
        raise UserError(
            f"{data.name}: samples of shape {data.shape} are not square images; a ViT needs those"
        )
    if config.shift and not image:
        raise UserError(
            f"--shift {config.shift}: {data.name} has no images, its samples have shape {data.shape}"
        )
    return data


def _resolved(config: Config) -> Config:
    """The config with everything chosen; the same again when it is already."""
    given = config.model_dump()
    left_out = {
        name: value for name, value in _BY_MODEL[config.model].items() if given[name] in (None, (), "auto")
    }
    return Config(**given | left_out)


def _threads(config: Config, data: "Dataset") -> int:
    """One thread where every matrix is small, else (0) as torch chooses."""
    from itertools import pairwise

    sizes = [(data.train.x[0].numel(), *config.hidden, latent) for latent in config.latent]
    largest = max(a * b for chain in sizes for a, b in pairwise(chain))
    return 1 if config.model != "vit" and largest < WORTH_SHARING else 0


def _job(config: Config, data: "Dataset", place: Any) -> "tuple[Job, Judge]":
    import torch

    from vitruvius import optimisers
    from vitruvius.datasets import Split
    from vitruvius.nn.masked import decoder_for
    from vitruvius.pretraining import autoencoders
    from vitruvius.pretraining import evaluate as pretraining
    from vitruvius.pretraining.grid import Grid, measure
    from vitruvius.training import loop
    from vitruvius.training.recipe import Augment, Recipe

    plan, model = _plan(config), config.model
    if model == "vit":
        arch = autoencoders.arch(config.arch, config.set, data, config.batch)
        parts = autoencoders.vit(plan, arch, decoder_for(arch, config.decoder_width, config.decoder_depth))
    else:
        parts = autoencoders.dense(plan, data.train.x[0].numel(), config.batch)
    dtype = torch.float64 if config.precision == "float64" else torch.float32
    where: dict[str, Any] = {"dtype": dtype, "device": place}
    grid = Grid(parts, -(-len(data.train) // config.batch)).to(place, dtype)
    torch.manual_seed(config.seed)
    train, recipe = Split(data.train.x, None), {name: getattr(config, name) for name in _RECIPE}
    job = loop.Job(
        model=grid,
        measure=measure,
        train=pretraining.samples(
            data, train, model, seed=config.seed, augment=Augment(shift=config.shift), **where
        ),
        validation=pretraining.samples(
            data, Split(train.x[:0], None), model
        ),  # so that the last weights are kept
        recipe=Recipe(**recipe, schedule=config.schedule, clip=0.0),
        optimiser=optimisers.build(
            "adamw", grid, recipe["lr"], config.weight_decay if model == "vit" else 0.0
        ),
    )
    return job, pretraining.judge(data, model, config.probe, config.labels, config.seed, **where)


_RECIPE = ("epochs", "batch", "lr", "warmup", "seed", "checkpoint", "time_limit")


def _plan(config: Config) -> "Plan":
    from dataclasses import fields

    from vitruvius.pretraining.autoencoders import Plan

    return Plan(**{field.name: getattr(config, field.name) for field in fields(Plan)})


def _notes(config: Config, data: "Dataset", job: "Job", judge: "Judge") -> Iterator[records.Note]:
    from vitruvius.pretraining import pca

    counts = (
        f"{len(data.train):,} training, {len(data.validation):,} validation, {len(data.test):,} test samples"
    )
    yield records.Note(text=f"{data.name}: {counts}")
    params = sum(parameter.numel() for parameter in job.model.parameters())
    cells = len(job.model.cells)  # type: ignore[arg-type]
    yield records.Note(
        text=f"{params:,} parameters in {cells:,} {'autoencoder' if cells == 1 else 'autoencoders'}"
    )
    yield records.Note(
        text=f"the probe is left out: {judge.why_not}" if judge.why_not else f"probe: {judge.words()}"
    )
    if config.model == "linear" and (why_not := pca.too_large(data.train.x)):
        yield records.Note(text=why_not)
    if config.l2 and any(".py:" in name for name in config.objective):
        yield records.Note(text="--l2 is not added to an objective of your own")
