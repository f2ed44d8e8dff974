"""The verdict on a trained classifier: test loss, accuracy and confusion, and what a later reader needs to know."""

from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy

from vitruvius.datasets import Dataset
from vitruvius.training.batches import feed
from vitruvius.training.loop import EVALUATION_BATCH, Job


class Test(NamedTuple):
    """What the test images say."""

    loss: float
    accuracy: float
    confusion: tuple[tuple[int, ...], ...]  # true class by predicted class, counts


def tested(job: Job, data: Dataset) -> Test:
    """Judge a model on the test images."""
    images = feed(data, data.test, dtype=job.train.dtype, device=job.train.device)
    classes = len(data.classes)
    counts = torch.zeros(classes, classes, dtype=torch.long)
    loss = 0.0
    job.model.eval()
    with torch.no_grad():
        for sample_B in torch.split(torch.arange(len(images)), EVALUATION_BATCH):
            batch = images.batch(sample_B)
            scores_BK = job.model(batch.x)[:, :classes]
            assert batch.y is not None
            loss += float(cross_entropy(scores_BK, batch.y, reduction="sum"))
            pairs = (batch.y * classes + scores_BK.argmax(1)).cpu()
            counts += torch.bincount(pairs, minlength=classes**2).view(classes, classes)
    accuracy = counts.diagonal().sum().item() / len(images)
    return Test(loss / len(images), accuracy, tuple(tuple(row) for row in counts.tolist()))


def labels(data: Dataset) -> dict[str, Any]:
    """What a prediction needs beside the weights: class names and normalisation."""
    return {"data": data.name, "classes": list(data.classes), "mean": list(data.mean), "std": list(data.std)}


def speed(lines: list[dict[str, Any]]) -> float:
    """Training images per second, over all epochs of the records."""
    timings = [line["timing"] for line in lines if line["kind"] == "epoch"]
    seconds = sum(timing["seconds"] for timing in timings)
    images = sum(timing["seconds"] * timing["images_per_second"] for timing in timings)
    return images / seconds if seconds else 0.0
