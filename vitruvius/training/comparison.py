"""Whether a network beats the baselines, in a sentence, and why it does not. No torch."""

import math
from typing import NamedTuple

from vitruvius.training.recipe import Augment
from vitruvius.training.results import Baselines

FEW_STEPS = 3000
ALL_RIGHT = 0.999
STRONG_SHIFT, STRONG_CROP = 0.1, 0.3  # fractions of the side
GAP = 0.05  # accuracy on training images above that on others from which a network is said to overfit


class Training(NamedTuple):
    """What a training has reached and how it was done."""

    accuracy: float  # on the test images, or on the validation images if there are none
    train_accuracy: float | None  # on augmented training images
    images: int
    classes: int
    steps: int
    side: int
    augment: Augment  # its shift in pixels
    judged: int  # images that the accuracy was measured on
    arch: str  # as it was asked for


def sentence(part: str, known: Baselines, training: Training) -> str:
    """Compare a network with the best baseline on `val` or `test` images."""
    best = known.best(part)
    if best is None:
        return ""
    value = best.test_accuracy if part == "test" else best.val_accuracy
    assert value is not None
    where = "test" if part == "test" else "validation"
    gain = training.accuracy - value
    judged = min(training.judged, known.most_judged or training.judged)
    chance = f", which may be chance on {judged:,} images" if _is_chance(value, judged, training) else ""
    if gain > 0:
        return f"better by {gain:.1%} than {known.sentence(part)} on the {where} images{chance}"
    if training.accuracy == value >= ALL_RIGHT:
        return f"as good as {known.sentence(part)} on the {where} images, which leave nothing to gain"
    if chance:
        lost = f"worse by {-gain:.1%} than the better of them{chance}" if gain else "the same accuracy"
        return f"level with {known.sentence(part)} on the {where} images: {lost}"
    return f"not better than {known.sentence(part)} on the {where} images: {why(value, training)}"


def why(baseline: float, training: Training) -> str:
    """Name the likeliest reason why a network is no better than a classifier of pixels, with its cure."""
    augment, learned = training.augment, training.train_accuracy
    is_learned = learned is not None and (learned >= baseline or training.steps >= FEW_STEPS)
    if learned is not None and is_learned and learned >= training.accuracy + GAP:
        each = training.images / max(1, training.classes)
        cure = "more images, --init of a trained network or stronger augmentation may help"
        return f"too few images ({each:,.0f} of each class on average) for what it learned by heart; {cure}"
    is_strong = augment.shift / training.side > STRONG_SHIFT or augment.crop > STRONG_CROP or augment.flip
    if is_strong and (learned is None or learned < baseline):
        return "the augmentation may be too strong; compare with --shift 0 --crop 0 and without --flip"
    if training.steps < FEW_STEPS:
        return f"too few steps ({training.steps:,}); --epochs gives more"
    other = "a larger network" if training.arch == "auto" else "--arch auto"
    return f"the network may be too small, or the learning rate wrong; try {other} and another --lr"


def _is_chance(baseline: float, judged: int, training: Training) -> bool:
    """Whether two accuracies differ by no more than for equally good classifiers in 19 of 20 cases.

    The images of the baseline count as others than those of the network: which ones both get right is not
    known. A paired test would call fewer differences chance.
    """
    p = (baseline + training.accuracy) / 2
    error = math.sqrt(p * (1 - p) * (1 / judged + 1 / training.judged))
    return abs(baseline - training.accuracy) <= 1.96 * error
