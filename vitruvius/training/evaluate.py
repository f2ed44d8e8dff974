"""The test score of a classifier: measured when a run ends as planned, and every reading is counted.

`test.json` keeps what was measured for which weights, so that a run which is resumed after its end shows its
score again without another look at the test images.

Shapes: B batch, K classes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from vitruvius.core import files
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.training import side_by_side
from vitruvius.training.batches import Batches, batches_of
from vitruvius.training.loop import EVALUATION_BATCH, Job, autocast
from vitruvius.training.results import Mistake, Reading, Readings, Result, TestScore

TOP5_FROM = 10
"""With more classes than this it is counted how often the right one is among the first five."""
MATRIX_CLASSES = 1000
"""Most classes for which it is counted which are taken for which: 8 MB of counts, 13 MB of JSON."""
MISTAKES = 8
"""Mistakes that are kept, the most confident first."""


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
    """Return the score of a model on the test images."""
    images = batches_of(data, data.test, dtype=job.train.dtype, device=job.train.device)
    with autocast(job):
        return score(job.model, images, data.classes, job.evaluation_batch)


def score(model: nn.Module, images: Batches, names: Sequence[str], size: int = EVALUATION_BATCH) -> TestScore:
    """Return cross-entropy, accuracy, confusion matrix and the most confident mistakes of a model."""
    classes, loss, among_five = len(names), 0.0, 0
    has_matrix = classes <= MATRIX_CLASSES
    counts_KK = torch.zeros(classes, classes, dtype=torch.long) if has_matrix else None
    images_K, right_K, predicted_K = torch.zeros(3, classes, dtype=torch.long)
    wrong: list[tuple[float, int, int, int]] = []  # probability, index, true and predicted class

    def scored(sample_B: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        batch = images.batch(sample_B)
        assert batch.y is not None
        return sample_B, batch.y, model(batch.x)[:, :classes]

    model.eval()
    every_n = torch.arange(len(images))
    for sample_B, y_B, scores_BK in side_by_side.evaluated(scored, every_n, size, images.device):
        loss += float(cross_entropy(scores_BK, y_B, reduction="sum"))
        said_B = scores_BK.argmax(1)
        true_B, said_here_B = y_B.cpu(), said_B.cpu()
        images_K += torch.bincount(true_B, minlength=classes)
        right_K += torch.bincount(true_B[true_B == said_here_B], minlength=classes)
        predicted_K += torch.bincount(said_here_B, minlength=classes)
        if counts_KK is not None:
            pairs_B = true_B * classes + said_here_B
            counts_KK += torch.bincount(pairs_B, minlength=classes**2).view(classes, classes)
        if classes > TOP5_FROM:
            among_five += int((scores_BK.topk(5).indices == y_B[:, None]).any(1).sum())
        chance_B = scores_BK.softmax(1).amax(1)
        for row in (said_B != y_B).nonzero()[:, 0].tolist():
            wrong.append((float(chance_B[row]), int(sample_B[row]), int(y_B[row]), int(said_B[row])))
        wrong = sorted(wrong, key=lambda one: (-one[0], one[1]))[:MISTAKES]
    mistakes = (
        Mistake(index=index, true=names[true], predicted=names[said], probability=chance)
        for chance, index, true, said in wrong
    )
    return TestScore(
        loss=loss / len(images),
        accuracy=right_K.sum().item() / len(images),
        confusion=() if counts_KK is None else tuple(map(tuple, counts_KK.tolist())),
        per_class=() if has_matrix else tuple(zip(*_lists(images_K, right_K, predicted_K), strict=True)),
        top5=among_five / len(images) if classes > TOP5_FROM else None,
        wrong=tuple(mistakes),
    )


def _lists(*counts_K: Tensor) -> list[list[int]]:
    return [one.tolist() for one in counts_K]


def _readings(folder: RunFolder) -> Readings:
    """Return the readings so far; results of versions that kept no test.json say or imply their number."""
    path, result = folder.path("test.json"), folder.path("result.json")
    if path.is_file():
        return Readings(**files.read_json(path))
    return Readings(earlier=Result(**files.read_json(result)).test_readings if result.is_file() else 0)
