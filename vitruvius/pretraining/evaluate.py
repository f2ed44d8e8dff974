"""Evaluate a grid: validation loss and probe accuracy after each epoch, pictures and result at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from vitruvius.datasets import Dataset, Split
from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.nn.masked import MaskedAutoencoder
from vitruvius.pretraining import pca
from vitruvius.pretraining import probe as probing
from vitruvius.pretraining.grid import Grid, validation_losses
from vitruvius.pretraining.probe import NEIGHBOURS, TOLERANCE, Labelled
from vitruvius.pretraining.results import Point, Points, Result, summarise
from vitruvius.pretraining.settings import Pretraining
from vitruvius.training import seeds
from vitruvius.training.batches import Batches, batches_of
from vitruvius.training.loop import Job

PENALTY = 1e-3  # the probe's l2
SHOWN = 8  # samples in the picture of reconstructions


@dataclass(frozen=True)
class Evaluator:
    """The validation samples, and a probe fitted to some of their labels and tested on the test samples."""

    validation: Batches
    labelled: Batches
    test: Batches
    classes: int
    method: str
    seed: int
    no_probe: str = ""  # why there is no probe

    def accuracy(self, model: Autoencoder | MaskedAutoencoder, name: str) -> float | None:
        """Return the test accuracy of a probe on the features of a model."""
        if self.no_probe:
            return None
        train, test = (
            Labelled(probing.features(model.encode, part), part.y)  # type: ignore[arg-type]
            for part in (self.labelled, self.test)
        )
        seed = seeds.derive(self.seed, "probe", name)
        return probing.probe(self.method, train, test, self.classes, PENALTY, seed).accuracy

    def protocol(self) -> str:
        """Describe the probe in a sentence."""
        if self.no_probe:
            return f"none: {self.no_probe}"
        how = {
            "lbfgs": f"lbfgs (mean cross-entropy + {PENALTY}/2 |W|^2, to a gradient norm of {TOLERANCE})",
            "adam": "adam (rate 0.001, batches of 200, 50 epochs; 1,000 epochs on up to 200 labels)",
            "knn": f"{NEIGHBOURS} nearest neighbours by cosine",
        }[self.method]
        labels, samples = f"{len(self.labelled):,} validation labels", f"{len(self.test):,} test samples"
        return f"{how} on {labels}, counted on {samples}"


def samples(data: Dataset, split: Split, model: str, **options: Any) -> Batches:
    """Batch a split: normalised images for a ViT; for other models pixels in 0..1, or vectors unchanged."""
    return batches_of(data, split, **options) if model == "vit" else Batches(split.x, split.y, **options)


def evaluator(config: Pretraining, data: Dataset, **options: Any) -> Evaluator:
    """Build the evaluator of a run; without labels it measures losses only."""
    validation = labelled = samples(data, data.validation, config.model, **options)
    test = samples(data, data.test, config.model, **options)
    no_probe = _no_probe(data, config.probe)
    if not no_probe:
        assert validation.y is not None
        kept = probing.draw(validation.y, config.labels, config.seed)
        labelled = replace(validation, x=validation.x[kept], y=validation.y[kept])
    return Evaluator(validation, labelled, test, len(data.classes), config.probe, config.seed, no_probe)


def measure_epoch(grid: Grid, epoch: int, evaluator: Evaluator) -> Points:
    """Measure every autoencoder of a grid; the losses of the epoch's steps are taken out of the grid."""
    step_losses = grid.take_losses().T.tolist()
    unknown: list[float | None] = [None] * len(grid.cells)
    losses = validation_losses(grid, evaluator.validation) if len(evaluator.validation) else unknown
    grid.eval()
    accuracies = [evaluator.accuracy(model.eval(), cell.name) for cell, model in grid.models()]
    grid.train()
    found = zip(grid.cells, losses, accuracies, step_losses, strict=True)
    points = (
        Point(**cell._asdict(), val_loss=loss, accuracy=accuracy, train_losses=tuple(steps))
        for cell, loss, accuracy, steps in found
    )
    return Points(epoch=epoch, points=tuple(points))


def result(
    config: Pretraining, data: Dataset, job: Job, evaluator: Evaluator, epochs: Sequence[Points], **more: Any
) -> Result:
    """Summarise a run and compare its linear autoencoders with PCA; `more`: further fields of the result."""
    grid, after = job.model, epochs[-1]
    assert isinstance(grid, Grid)
    if job.cursor.position:  # stopped within an epoch: the weights kept are not those of its last record
        after = measure_epoch(grid, job.cursor.epoch, evaluator)
    return Result(
        outcomes=tuple(summarise(epochs[0], after)),
        certificates=tuple(pca.certificates(grid, job.train, evaluator.validation, config.l2)),
        features=data.train.x[0].numel(),
        variance=pca.variance(probing.batches(job.train)),
        loss=_loss_in_words(config),
        probe=evaluator.protocol(),
        epochs=job.cursor.epoch,
        seconds=job.cursor.seconds,
        seed=config.seed,
        data=data.name,
        **more,
    )


def pictures(grid: Grid, images: Batches) -> list[tuple[str, list[Any]]]:
    """Return rows of images: the input, then per objective what is seen and each latent size's output."""
    # From all over the split: folders come class by class.
    x = images.batch(torch.linspace(0, len(images) - 1, min(SHOWN, len(images))).long()).x
    rows: dict[str, list[tuple[str, Tensor]]] = {"input": [("input", x)]}
    grid.eval()
    with torch.no_grad():
        for cell, seen, output in grid.shown(x, lambda: seeds.generator(images.seed, "pictures")):
            if cell.repeat == 0:
                corrupted = [] if torch.equal(seen, x) else [(f"{cell.kind}: seen", seen)]
                rows.setdefault(cell.kind, corrupted).append((f"{cell.kind}, latent {cell.latent}", output))
    return [(name, _pixels(found, images)) for kind in rows.values() for name, found in kind]


def _pixels(x_BCHW: Tensor, images: Batches) -> list[Any]:
    """Undo the normalisation; channels last, grey images without a channel axis."""
    plain = (x_BCHW.cpu() * images.std + images.mean).clamp(0, 1)
    return (plain.permute(0, 2, 3, 1) if plain.shape[1] == 3 else plain.mean(1)).tolist()


def _no_probe(data: Dataset, method: str) -> str:
    """Say why a run has no probe; empty if it has one."""
    if method == "none":
        return "it was not asked for"
    if data.validation.y is None or not data.classes:
        return f"{data.name} has no labels"
    if int(data.validation.y.bincount().count_nonzero()) < 2:
        return f"the {len(data.validation):,} validation samples are of fewer than two classes"
    return "" if len(data.test) else f"{data.name} has no test samples"


def _loss_in_words(config: Pretraining) -> str:
    """Say what the validation losses of a run measure."""
    if config.model == "vit" and config.objective == ("mask",):
        of = "normalised " if config.normalise else ""
        masked = f"{config.mask:.0%} of the patches masked"
        return f"squared error per pixel, mean over the {config.counted} {of}patches with {masked}"
    words = "squared error of clean inputs, summed over the entries of a sample, mean over samples"
    words += f"; in training mask counts {config.counted} entries" if "mask" in config.objective else ""
    own = any(".py:" in name for name in config.objective)
    return words + ("; of your own objectives their own value" if own else "")
