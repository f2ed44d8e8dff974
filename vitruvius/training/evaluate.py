"""The test score of a classifier: measured when a run ends as planned, and every reading is counted.

`test.json` keeps what was measured for which weights, so that a run which is resumed after its end shows its
score again without another look at the test images.

Shapes: B batch, K classes.
"""

import torch
from torch.nn.functional import cross_entropy

from vitruvius.core import files
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.training.batches import batches_of
from vitruvius.training.loop import Job, autocast
from vitruvius.training.results import Reading, Readings, Result, TestScore


def read_test(folder: RunFolder, job: Job, data: Dataset) -> Readings:
    """Return all readings of the test images; measure the weights of a run that has ended if none has yet.

    The last reading of a run that has ended is that of its weights, unless there are no test images.
    """
    known, weights = _readings(folder), files.sha256(folder.path("model.safetensors"))
    if not job.is_finished or not len(data.test):
        return known
    if known.of(weights) is None:
        reading = Reading(epochs=job.cursor.epoch, weights=weights, score=measure(job, data))
        known = Readings(earlier=known.earlier, readings=(*known.readings, reading))
        files.write_json(folder.path("test.json"), known.model_dump(mode="json"))
    return known


def measure(job: Job, data: Dataset) -> TestScore:
    """Return cross-entropy, accuracy and confusion matrix of a model on the test images."""
    images = batches_of(data, data.test, dtype=job.train.dtype, device=job.train.device)
    classes, loss = len(data.classes), 0.0
    counts_KK = torch.zeros(classes, classes, dtype=torch.long)
    job.model.eval()
    with torch.no_grad(), autocast(job):
        for sample_B in torch.split(torch.arange(len(images)), job.evaluation_batch):
            batch = images.batch(sample_B)
            scores_BK = job.model(batch.x)[:, :classes]
            assert batch.y is not None
            loss += float(cross_entropy(scores_BK, batch.y, reduction="sum"))
            pairs_B = (batch.y * classes + scores_BK.argmax(1)).cpu()
            counts_KK += torch.bincount(pairs_B, minlength=classes**2).view(classes, classes)
    accuracy = counts_KK.diagonal().sum().item() / len(images)
    confusion = tuple(map(tuple, counts_KK.tolist()))
    return TestScore(loss=loss / len(images), accuracy=accuracy, confusion=confusion)


def _readings(folder: RunFolder) -> Readings:
    """Return the readings so far; results of versions that kept no test.json say or imply their number."""
    path, result = folder.path("test.json"), folder.path("result.json")
    if path.is_file():
        return Readings(**files.read_json(path))
    return Readings(earlier=Result(**files.read_json(result)).test_readings if result.is_file() else 0)
