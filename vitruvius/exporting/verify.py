"""Run a written model on the run's images, beside the network it came from.

Shapes: B batch, K classes.
"""

import time
from collections.abc import Callable, Generator
from statistics import median

import torch
from torch import Tensor

from vitruvius.core.errors import WorkFailed
from vitruvius.core.records import Progress
from vitruvius.exporting.results import Verification
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source

Forward = Callable[[Tensor], Tensor]
BATCH = 64


@torch.no_grad()
def compare(
    source: Source, written: Forward, settings: ExportSettings
) -> Generator[Progress, None, Verification]:
    """Classify the test images with both; return the largest difference, the accuracies and the times."""
    split, images = source.evaluation()
    count = min(len(images), settings.images or len(images))
    size = settings.fixed_batch or min(BATCH, count)
    used = len(source.data.classes)
    difference, right = 0.0, [0, 0]
    times: tuple[list[float], list[float]] = ([], [])
    forwards: tuple[Forward, Forward] = (source.net, written)
    for sample_B in torch.split(torch.arange(count), size):
        batch = images.batch(sample_B)
        x = _filled(batch.x, size) if settings.fixed_batch else batch.x
        if not times[0]:  # the first call prepares what later ones use
            source.net(x), written(x)
        scores = []
        for index, forward in enumerate(forwards):
            began = time.perf_counter()
            scores.append(forward(x)[: len(sample_B)])
            times[index].append(1000 * (time.perf_counter() - began) / len(x))
        difference = max(difference, _distance(*scores))
        if batch.y is not None:
            for index, scores_BK in enumerate(scores):
                right[index] += int((scores_BK[:, :used].argmax(1) == batch.y).sum())
        yield Progress(done=int(sample_B[-1]) + 1, total=count, label="images")
    return Verification(
        images=count,
        split=split,
        largest_difference=difference,
        accuracy_before=right[0] / count,
        accuracy_after=right[1] / count,
        milliseconds_torch=median(times[0]),
        milliseconds_exported=median(times[1]),
        batch=size,
        threads=torch.get_num_threads(),
    )


def _distance(before_BK: Tensor, after_BK: Tensor) -> float:
    """Return the largest absolute difference; scores that are not finite are refused."""
    if before_BK.shape != after_BK.shape:
        shapes = tuple(after_BK.shape), tuple(before_BK.shape)
        raise WorkFailed(f"the written model gives scores of shape {shapes[0]}, the run {shapes[1]}")
    if not after_BK.isfinite().all():
        raise WorkFailed("the written model gives scores that are not finite; choose --precision float32")
    return float((before_BK - after_BK).abs().max())


def _filled(x_BCHW: Tensor, size: int) -> Tensor:
    """Fill up the last batch with zeros for a model that takes a fixed number of images."""
    if len(x_BCHW) == size:
        return x_BCHW
    return torch.cat([x_BCHW, x_BCHW.new_zeros(size - len(x_BCHW), *x_BCHW.shape[1:])])
