"""Augmentation: exact shifts, crops and flips, each a function of (seed, epoch, sample)."""

import torch

from vitruvius.training import augment
from vitruvius.training.recipe import Augment

IMAGES = torch.arange(2 * 3 * 6 * 6, dtype=torch.uint8).view(2, 3, 6, 6) + 1
SAMPLES = torch.tensor([0, 1])


def draws(**changes: torch.Tensor) -> augment.Draws:
    nothing = {
        "shift": torch.zeros(2, 2, dtype=torch.long),
        "crop": torch.zeros(2, 3),
        "flip": torch.zeros(2).bool(),
    }
    return augment.Draws(**{**nothing, **changes})


def test_a_shift_moves_pixels_and_fills_with_zeros() -> None:
    moved = augment.apply(IMAGES, SAMPLES, draws(shift=torch.tensor([[1, -2], [0, 0]])), Augment(shift=2))
    assert torch.equal(moved[0, :, :5, 2:], IMAGES[0, :, 1:, :4])
    assert not moved[0, :, 5].any()
    assert not moved[0, :, :, :2].any()
    assert torch.equal(moved[1], IMAGES[1])


def test_a_flip_exchanges_left_and_right_of_the_chosen() -> None:
    flipped = augment.apply(IMAGES, SAMPLES, draws(flip=torch.tensor([True, False])), Augment(flip=True))
    assert torch.equal(flipped[0], IMAGES[0].flip(2))
    assert torch.equal(flipped[1], IMAGES[1])


def test_a_crop_of_the_whole_image_is_the_image() -> None:
    assert torch.equal(augment.apply(IMAGES, SAMPLES, draws(), Augment(crop=0.5)), IMAGES)


def test_a_crop_of_the_upper_left_quarter_shows_it_enlarged() -> None:
    image = torch.zeros(1, 1, 8, 8)
    image[..., :4, :4] = 1.0
    corner = augment.Draws(torch.zeros(1, 2).long(), torch.tensor([[1.0, 0.0, 0.0]]), torch.zeros(1).bool())
    cut = augment.apply(image, torch.tensor([0]), corner, Augment(crop=0.5))
    assert cut[..., :7, :7].min() == 1.0


def test_draws_depend_on_seed_epoch_and_sample_alone() -> None:
    what = Augment(shift=2, crop=0.3, flip=True)
    first, again = augment.draw(1, 2, 10, what), augment.draw(1, 2, 10, what)
    assert torch.equal(first.shift, again.shift)
    assert not torch.equal(first.crop, augment.draw(1, 3, 10, what).crop)
    assert not torch.equal(first.crop, augment.draw(2, 2, 10, what).crop)
    assert first.shift.abs().max() <= 2
