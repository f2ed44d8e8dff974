"""The learning-rate range test (Smith 2017): train a copy with a rising rate, and choose below the best.

The rate grows by a constant factor in every step, from 1e-6 to 1. The loss, smoothed, falls and then
explodes; a tenth of the rate at which it is lowest is large and still safe. The training is left untouched.
"""

import copy
import math
import signal
from dataclasses import replace

import torch

from vitruvius import optimisers
from vitruvius.core.errors import Interrupted, WorkFailed
from vitruvius.training import distributed, loop
from vitruvius.training.loop import Cursor, Job
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import RangeTest, smoothed

STEPS = 100
LOWEST, HIGHEST = 1e-6, 1.0
EXPLODED = 3.0
"""The test ends where the smoothed loss is above so many times its first value."""
SAFE = 0.1
"""The chosen rate over that of the lowest loss."""


def measure(job: Job, settings: ClassifierSettings) -> RangeTest:
    """Return the losses at rising rates and the rate that is chosen; the job stays as it is."""
    random = torch.get_rng_state()
    trial = _copied(job, settings)
    order = job.train.order(0)
    batches = [order[begin : begin + settings.batch] for begin in range(0, len(order), settings.batch)]
    rates, losses = [], []
    for step in range(STEPS):
        if distributed.all_reduce_sum(torch.tensor([float(bool(job.stop))])).item():
            number = job.stop.signal or signal.SIGTERM
            raise Interrupted("stopped in the range test of --lr auto; nothing is trained yet", number)
        rate = LOWEST * (HIGHEST / LOWEST) ** (step / (STEPS - 1))
        trial.recipe = trial.recipe.model_copy(update={"lr": rate})
        before, sample_B = trial.cursor.loss, batches[step % len(batches)]
        try:
            loop.step(trial, sample_B)
            loop.read_numbers(trial)
        except WorkFailed:  # the loss is no number any more
            break
        rates.append(rate)
        losses.append((trial.cursor.loss - before) / len(sample_B))
        if smoothed(losses)[-1] > EXPLODED * losses[0]:
            break
    torch.set_rng_state(random)
    return RangeTest(rates=tuple(rates), losses=tuple(losses), chosen=choose(rates, losses))


def choose(rates: list[float], losses: list[float]) -> float:
    """Return a tenth of the rate with the lowest smoothed loss, with two significant digits.

    >>> choose([0.001, 0.01, 0.1, 1.0], [2.0, 1.0, 0.1, 9.0])
    0.01
    """
    if not losses:
        raise WorkFailed("--lr auto: the loss is no number from the first step on; `vitruvius doctor` helps")
    smooth = smoothed(losses)
    best = SAFE * rates[min(range(len(smooth)), key=smooth.__getitem__)]
    return round(best, 1 - math.floor(math.log10(best)))


def _copied(job: Job, settings: ClassifierSettings) -> Job:
    """Return the same work with weights and an optimiser of its own, at a constant rate."""
    model = copy.deepcopy(job.model)
    optimiser = optimisers.build(
        settings.optimiser, model, LOWEST, settings.weight_decay, settings.layer_decay
    )
    recipe = settings.model_copy(update={"schedule": "constant", "warmup": 0, "lr": LOWEST})
    job = replace(job, model=model, optimiser=optimiser, recipe=recipe, cursor=Cursor(), taken=[])
    # Not compiled: the compiled objective belongs to the model of the job.
    return replace(job, compiled=None, average=None, scaler=None)
