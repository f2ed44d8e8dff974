"""What the data decide about a training: epochs, warm-up and augmentation by count and side."""

import math

from vitruvius.arch import auto as networks
from vitruvius.training import auto
from vitruvius.training.auto import Facts
from vitruvius.training.recipe import Augment, ClassifierSettings


def choice(images: int = 1000, side: int = 32, mirrored: bool | None = None) -> auto.Choice:
    return auto.choose(Facts(images=images, classes=2, side=side, channels=3, mirrored=mirrored))


def test_small_images_are_neither_shifted_nor_cropped_nor_flipped() -> None:
    for side in (8, 12):
        found = choice(side=side, mirrored=True)
        assert (found.shift, found.crop, found.flip) == (0, 0, False)
    assert choice(side=16).shift > 0


def test_flips_only_where_mirrored_validation_images_are_recognised() -> None:
    assert [choice(mirrored=known).flip for known in (True, False, None)] == [True, False, False]


def test_few_images_are_cropped_more_and_seen_more_often() -> None:
    few, many, most = choice(1_000), choice(50_000), choice(10**6)
    assert few.crop > many.crop > most.crop == 0
    assert (few.epochs, many.epochs, most.epochs) == (100, 10, 10)
    assert choice(10_000).epochs == 50


def test_the_warm_up_is_a_tenth_of_the_steps_and_never_longer_than_the_reference() -> None:
    for images in (1, 33, 1_000, 10**6):
        found = choice(images)
        steps = found.epochs * math.ceil(images / 32)
        assert found.warmup == min(1000, math.ceil(steps / 10))


def test_a_choice_gives_settings_by_their_names_and_the_network_of_the_rules() -> None:
    found = choice()
    assert ClassifierSettings(**found.settings()).epochs == found.epochs
    assert found.arch == networks.network(32, 1000)


def test_a_shift_below_one_is_a_fraction_of_the_side() -> None:
    default = ClassifierSettings().shift
    assert [Augment(shift=default).on(side).shift for side in (8, 28, 32)] == [0, 2, 2]
    assert Augment(shift=2, crop=0.1, flip=True).on(8) == Augment(shift=2, crop=0.1, flip=True)
