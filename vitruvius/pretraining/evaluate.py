"""What is known of a grid after each epoch: validation loss and probe accuracy of every autoencoder."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.core.blocks import Block, Text
from vitruvius.core.config import Strict
from vitruvius.core.records import Record
from vitruvius.datasets import Dataset, Split
from vitruvius.pretraining import probe as probing
from vitruvius.pretraining.grid import Grid, validation_losses
from vitruvius.pretraining.probe import Labelled
from vitruvius.training import seeds
from vitruvius.training.batches import Batches, batches_of

PENALTY = 1e-3
"""The probe's l2."""
SHOWN = 8
"""Samples in the picture of reconstructions."""


class Point(Strict):
    """One autoencoder after one epoch."""

    objective: str
    latent: int
    repeat: int
    val_loss: float | None
    accuracy: float | None
    """Of the probe; None without labels."""
    train_losses: tuple[float, ...]
    """One per step of this epoch."""


class Points(Record):
    """All autoencoders after an epoch; epoch 0 is before training."""

    epoch: int
    points: tuple[Point, ...]

    def view(self) -> Iterable[Block]:
        for objective in dict.fromkeys(point.objective for point in self.points):
            shown = [point for point in self.points if point.objective == objective]
            latents = dict.fromkeys(point.latent for point in shown)
            parts = [
                _words(latent, [point for point in shown if point.latent == latent]) for latent in latents
            ]
            yield Text(text=f"epoch {self.epoch:>3}  {objective:<11}  {'  '.join(parts)}")


@dataclass(frozen=True)
class Judge:
    """Who looks at a grid: the validation samples, and a probe fitted to some of their labels."""

    validation: Batches
    labelled: Batches
    test: Batches
    classes: int
    method: str
    seed: int
    why_not: str = ""  # there is no probe

    def accuracy(self, model: nn.Module, place: str) -> float | None:
        """The share of test samples that a probe on this model's features gets right."""
        if self.why_not:
            return None
        encode: probing.Encode = model.encode  # type: ignore[assignment]
        train, test = (
            Labelled(probing.features(encode, part), part.y)  # type: ignore[arg-type]
            for part in (self.labelled, self.test)
        )
        seed = seeds.derive(self.seed, "probe", place)
        return probing.probe(self.method, train, test, self.classes, PENALTY, seed).accuracy

    def words(self) -> str:
        """The probe's protocol in a sentence."""
        if self.why_not:
            return f"none: {self.why_not}"
        how = {
            "lbfgs": f"lbfgs (mean cross-entropy + {PENALTY}/2 |W|^2, to a gradient norm of {probing.TOLERANCE})",
            "adam": "adam (rate 0.001, batches of 200, 50 epochs; 1,000 epochs on up to 200 labels)",
            "knn": f"{probing.NEIGHBOURS} nearest neighbours by cosine",
        }[self.method]
        return (
            f"{how} on {len(self.labelled):,} validation labels, counted on {len(self.test):,} test samples"
        )


def samples(data: Dataset, split: Split, model: str, **options: Any) -> Batches:
    """A split as a model sees it: a ViT as `train` shows it, the others as pixels in 0..1 or vectors as they are."""
    return batches_of(data, split, **options) if model == "vit" else Batches(split.x, split.y, **options)


def judge(data: Dataset, model: str, method: str, labels: int | str, seed: int, **options: Any) -> Judge:
    """The judge of a run; without labels it looks at losses alone."""
    validation, test = (samples(data, split, model, **options) for split in (data.validation, data.test))
    why_not = _no_probe(data, method)
    labelled = validation
    if not why_not:
        assert validation.y is not None
        kept = probing.draw(validation.y, labels, seed)
        labelled = replace(validation, x=validation.x[kept], y=validation.y[kept])
    return Judge(validation, labelled, test, len(data.classes), method, seed, why_not)


def look(grid: nn.Module, epoch: int, judge: Judge) -> Points:
    """Measure every autoencoder of a grid; the losses of the epoch's steps are taken out of it."""
    assert isinstance(grid, Grid)
    trace = grid.forget().T.tolist()
    unknown: list[float | None] = [None] * len(grid.cells)
    losses = validation_losses(grid, judge.validation) if len(judge.validation) else unknown
    grid.eval()
    accuracies = [judge.accuracy(model.eval(), cell.name) for cell, model in grid.models()]
    grid.train()
    found = zip(grid.cells, losses, accuracies, trace, strict=True)
    return Points(
        epoch=epoch,
        points=tuple(
            Point(**cell._asdict(), val_loss=loss, accuracy=accuracy, train_losses=tuple(steps))
            for cell, loss, accuracy, steps in found
        ),
    )


def pictures(grid: nn.Module, images: Batches) -> list[tuple[str, list[Any]]]:
    """Rows of images: the input, then for each objective what is seen of it and what each latent size answers."""
    assert isinstance(grid, Grid)
    # From all over the split: folders come class by class.
    x = images.batch(torch.linspace(0, len(images) - 1, min(SHOWN, len(images))).long()).x
    rows: dict[str, list[tuple[str, Tensor]]] = {"input": [("input", x)]}
    grid.eval()
    with torch.no_grad():
        for cell, seen, answer in grid.shown(x, lambda: seeds.generator(images.seed, "pictures")):
            if cell.repeat == 0:
                corrupted = [] if torch.equal(seen, x) else [(f"{cell.kind}: seen", seen)]
                rows.setdefault(cell.kind, corrupted).append((f"{cell.kind}, latent {cell.latent}", answer))
    return [(name, _pixels(found, images)) for kind in rows.values() for name, found in kind]


def _pixels(x_BCHW: Tensor, images: Batches) -> list[Any]:
    """Images as the eye knows them: the normalisation undone, channels last, grey without channels."""
    plain = (x_BCHW.cpu() * images.std + images.mean).clamp(0, 1)
    if plain.shape[1] == 3:
        return plain.permute(0, 2, 3, 1).tolist()
    return plain.mean(1).tolist()


def _no_probe(data: Dataset, method: str) -> str:
    """Why a run has no probe, if it has none."""
    if method == "none":
        return "it was not asked for"
    if data.validation.y is None or not data.classes:
        return f"{data.name} has no labels"
    if int(data.validation.y.bincount().count_nonzero()) < 2:
        return f"the {len(data.validation):,} validation samples are of fewer than two classes"
    return "" if len(data.test) else f"{data.name} has no test samples"


def _words(latent: int, points: list[Point]) -> str:
    """The means over the repeats of one latent size."""
    losses = [point.val_loss for point in points if point.val_loss is not None]
    accuracies = [point.accuracy for point in points if point.accuracy is not None]
    loss = f" loss {sum(losses) / len(losses):.4g}" if losses else ""
    accuracy = f" probe {sum(accuracies) / len(accuracies):.1%}" if accuracies else ""
    return f"{latent}:{loss}{accuracy}"
