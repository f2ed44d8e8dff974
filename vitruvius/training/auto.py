"""What the data decide about a training: network, augmentation, epochs and warm-up, by rules. No torch.

The rules are pure functions of counts; docs/images.md states them and why. `choose` is used by `--arch auto`
and by `--recipe auto`.
"""

import math
from typing import Any, TypeVar

from vitruvius import datasets
from vitruvius.arch import auto
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.training.recipe import ClassifierSettings

IMAGES_SEEN = 500_000
"""Images that a training sees in all, epochs times training images, where that is 10 to 100 epochs."""
FEWEST_EPOCHS, MOST_EPOCHS = 10, 100
WARMUP_FRACTION, LONGEST_WARMUP = 0.1, 1000
SHIFT = 0.08
CROPS = ((20_000, 0.2), (200_000, 0.1))
"""Below so many training images, random crops may cut off this fraction of the side."""
SMALLEST_AUGMENTED_SIDE = 16
"""A shift of one pixel moves a digit of 8 pixels by more than its strokes are wide."""


class Facts(Strict):
    """What the rules look at; all of it is known before anything is trained."""

    images: int
    """Training images."""
    classes: int
    side: int
    """Side of the squares that the images were scaled to."""
    channels: int
    mirrored: bool | None = None
    """Whether mirror images of the validation images are still recognised; None: not known."""


class Choice(Strict):
    """What the rules say, with a sentence for each."""

    arch: dict[str, Any]
    """Fields of an Arch; image, channels and classes are those of the data."""
    shift: float
    crop: float
    flip: bool
    epochs: int
    warmup: int
    reasons: tuple[str, ...]

    def settings(self) -> dict[str, Any]:
        """Return the settings of a training that the data decide, by the names of its fields."""
        return {name: getattr(self, name) for name in ("shift", "crop", "flip", "epochs", "warmup")}


def choose(facts: Facts, batch: int = 32) -> Choice:
    """Choose network, augmentation, epochs and warm-up for these data.

    >>> choice = choose(Facts(images=1_437, classes=10, side=8, channels=1, mirrored=False))
    >>> choice.arch["patch"], choice.shift, choice.flip, choice.epochs
    (2, 0.0, False, 100)
    """
    arch = auto.network(facts.side, facts.images)
    is_small = facts.side < SMALLEST_AUGMENTED_SIDE
    crop = 0.0 if is_small else next((crop for below, crop in CROPS if facts.images < below), 0.0)
    shift = 0.0 if is_small else SHIFT
    flip = facts.mirrored is True and not is_small
    epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(IMAGES_SEEN / max(1, facts.images))))
    steps = epochs * math.ceil(facts.images / batch)
    warmup = min(LONGEST_WARMUP, math.ceil(WARMUP_FRACTION * steps))
    grid = facts.side // arch["patch"]
    reasons = (
        f"patch {arch['patch']} cuts {facts.side} pixels into {grid} x {grid} patches",
        f"width {arch['width']} and depth {arch['depth']} for {counted(facts.images, 'training image')}",
        _augmentation(facts, shift, crop, flip),
        f"{counted(epochs, 'epoch')} with a warm-up of {warmup:,} of {counted(steps, 'step')}",
    )
    return Choice(arch=arch, shift=shift, crop=crop, flip=flip, epochs=epochs, warmup=warmup, reasons=reasons)


S = TypeVar("S", bound=ClassifierSettings)
AUGMENTATION = ("shift", "crop", "flip")


def completed(settings: S, facts: Facts) -> tuple[S, tuple[str, ...]]:
    """Return the settings with what the data decide, and the reasons.

    For the user's own pictures these are the network, augmentation, epochs and warm-up that are left out;
    with `init` epochs and warm-up stay as they are. `--arch auto` on other data decides the network.
    """
    choice = choose(facts, settings.batch)
    if not datasets.own_pictures(settings.data):
        return settings, choice.reasons[:2] if settings.arch == "auto" else ()
    open_fields = {**choice.settings(), "arch": "auto"}
    if settings.init:
        open_fields = {name: value for name, value in open_fields.items() if name in (*AUGMENTATION, "arch")}
    given = settings.model_fields_set | ({"epochs"} if "steps" in settings.model_fields_set else set())
    chosen = {name: value for name, value in open_fields.items() if name not in given}
    done = settings.model_copy(update=chosen)
    network = choice.reasons[:2] if done.arch == "auto" else ()
    augmentation = choice.reasons[2:3] if all(name in chosen for name in AUGMENTATION) else ()
    return done, (*network, *augmentation, *(choice.reasons[3:] if "epochs" in chosen else ()))


def _augmentation(facts: Facts, shift: float, crop: float, flip: bool) -> str:
    """Say which random changes are made to training images, and why there are no flips."""
    if facts.side < SMALLEST_AUGMENTED_SIDE:
        return f"no shifts, crops or flips: one pixel is much of {facts.side}"
    why = "" if facts.mirrored is None else ": mirrored validation images are "
    why += "" if facts.mirrored is None else ("still recognised" if flip else "not recognised")
    cut = f", crops of up to {crop:.0%}" if crop else ""
    return f"shifts of up to {shift:.0%} of the side{cut}, {'' if flip else 'no '}flips{why}"
