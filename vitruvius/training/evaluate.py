"""Evaluation of a trained classifier on the test images.

Shapes: B batch, K classes.
"""

from typing import Any

import torch
from torch.nn.functional import cross_entropy

from vitruvius.datasets import Dataset
from vitruvius.training.batches import batches_of
from vitruvius.training.loop import EVALUATION_BATCH, Job
from vitruvius.training.results import TestScore


def evaluate_test(job: Job, data: Dataset) -> TestScore:
    """Return cross-entropy, accuracy and confusion matrix of a model on the test images."""
    images = batches_of(data, data.test, dtype=job.train.dtype, device=job.train.device)
    classes = len(data.classes)
    counts_KK = torch.zeros(classes, classes, dtype=torch.long)
    loss = 0.0
    job.model.eval()
    with torch.no_grad():
        for sample_B in torch.split(torch.arange(len(images)), EVALUATION_BATCH):
            batch = images.batch(sample_B)
            scores_BK = job.model(batch.x)[:, :classes]
            assert batch.y is not None
            loss += float(cross_entropy(scores_BK, batch.y, reduction="sum"))
            pairs_B = (batch.y * classes + scores_BK.argmax(1)).cpu()
            counts_KK += torch.bincount(pairs_B, minlength=classes**2).view(classes, classes)
    accuracy = counts_KK.diagonal().sum().item() / len(images)
    return TestScore(loss / len(images), accuracy, tuple(tuple(row) for row in counts_KK.tolist()))


def labels(data: Dataset) -> dict[str, Any]:
    """Return what a prediction needs besides the weights: class names and normalisation, for model.json."""
    return {"data": data.name, "classes": list(data.classes), "mean": list(data.mean), "std": list(data.std)}
