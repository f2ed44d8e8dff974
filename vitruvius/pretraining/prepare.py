"""Prepare a pretraining: read the data, build the grid, its training job and its evaluator."""

from itertools import pairwise
from typing import Any, NamedTuple

import torch

from vitruvius import optimisers
from vitruvius.core import runs
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.pretraining import autoencoders, evaluate
from vitruvius.pretraining.evaluate import Evaluator
from vitruvius.pretraining.grid import Grid, measure
from vitruvius.pretraining.settings import Pretraining
from vitruvius.training import device, loop
from vitruvius.training.recipe import Augment

WORTH_SHARING = 2**18  # entries of a weight matrix from which more than one thread pays


class Prepared(NamedTuple):
    """A pretraining that is ready to start."""

    data: Dataset
    grid: Grid
    job: loop.Job
    evaluator: Evaluator
    environment: dict[str, Any]


def prepare(config: Pretraining) -> Prepared:
    """Read the data and build the models; settings that do not fit the data are refused here."""
    data = _load(config)
    arch = None
    if config.model == "vit":
        part = -(-config.batch // config.accumulate)
        arch = config.resolve(data, part, labelled=False, pooling="mean")
    where, features = device.choose_device(config.device), data.train.x[0].numel()
    chains = [(features, *config.hidden, latent) for latent in config.latent]
    is_small = all(a * b < WORTH_SHARING for chain in chains for a, b in pairwise(chain))
    threads = device.set_threads(config.threads or int(arch is None and is_small))  # 0: torch chooses
    parts = autoencoders.vit(config, arch) if arch else autoencoders.dense(config, features)
    dtype = torch.float64 if config.precision == "float64" else torch.float32
    grid = Grid(parts, len(data.train), config.batch).to(where, dtype)
    evaluator = evaluate.evaluator(config, data, dtype=dtype, device=where)
    environment = runs.environment(**device.fingerprint(threads, 1, where), data_sha256=data.sha256)
    return Prepared(data, grid, _job(config, data, grid, dtype=dtype, device=where), evaluator, environment)


def _load(config: Pretraining) -> Dataset:
    data = config.load()
    if not len(data.train):
        raise UserError(f"{data.name}: there are no training samples")
    for name in Augment.model_fields:
        value = getattr(config, name)
        if value and len(data.shape) != 3:
            why = f"{data.name} has no images, its samples have shape {data.shape}"
            raise UserError(f"--{name} {value}: {why}")
    return data


def _job(config: Pretraining, data: Dataset, grid: Grid, **options: Any) -> loop.Job:
    """Build the training job; without validation samples it keeps the last weights, not the best."""
    train = Split(data.train.x, None)
    augment = config.on(data.shape[-1])
    torch.manual_seed(config.seed)
    weight_decay = config.weight_decay if config.model == "vit" else 0.0
    samples = evaluate.samples(data, train, config.model, seed=config.seed, augment=augment, **options)
    return loop.Job(
        model=grid,
        measure=measure,
        train=samples.placed(),
        validation=evaluate.samples(data, Split(train.x[:0], None), config.model),
        recipe=config,
        optimiser=optimisers.build(config.optimiser, grid, config.lr, weight_decay),
    )
