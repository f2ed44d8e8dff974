"""Augmentation: exact shifts, crops, rotations and flips, each a function of (seed, epoch, sample)."""

import pytest
import torch
from scipy import ndimage

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


@pytest.mark.parametrize(("degrees", "turns"), [(90, 1), (180, 2)])
def test_quarter_turns_move_pixels_without_changing_them(degrees: int, turns: int) -> None:
    angle = torch.tensor([1.0, -1.0])
    turned = augment.apply(IMAGES, SAMPLES, draws(angle=angle), Augment(rotate=degrees))
    assert torch.equal(turned[0], torch.rot90(IMAGES[0], turns, (1, 2)))
    assert torch.equal(turned[1], torch.rot90(IMAGES[1], -turns, (1, 2)))


def test_a_rotation_is_that_of_scipy() -> None:
    image = torch.rand(1, 1, 9, 9, generator=torch.Generator().manual_seed(0))
    draw = augment.Draws(torch.zeros(1, 2).long(), torch.zeros(1, 3), torch.zeros(1).bool())
    turned = augment.apply(
        image, torch.tensor([0]), draw._replace(angle=torch.tensor([0.5])), Augment(rotate=40)
    )
    expected = ndimage.rotate(image[0, 0].numpy(), 20, reshape=False, order=1, mode="nearest")
    torch.testing.assert_close(turned[0, 0], torch.from_numpy(expected), rtol=0, atol=1e-5)


def test_rotations_change_no_other_draw() -> None:
    what = Augment(shift=2, crop=0.3, flip=True)
    plain, turned = (
        augment.draw(1, 2, 500, what),
        augment.draw(1, 2, 500, what.model_copy(update={"rotate": 9.0})),
    )
    assert all(torch.equal(a, b) for a, b in zip(plain[:3], turned[:3], strict=True))
    assert turned.angle is not None
    assert -1 <= turned.angle.min() < -0.95 < 0.95 < turned.angle.max() <= 1


def test_draws_depend_on_seed_epoch_and_sample_alone() -> None:
    what = Augment(shift=2, crop=0.3, flip=True)
    first, again = augment.draw(1, 2, 10, what), augment.draw(1, 2, 10, what)
    assert torch.equal(first.shift, again.shift)
    assert not torch.equal(first.crop, augment.draw(1, 3, 10, what).crop)
    assert not torch.equal(first.crop, augment.draw(2, 2, 10, what).crop)
    assert first.shift.abs().max() <= 2
