"""RandAugment on tensors: every operation against Pillow's or a closed form; choices are uniform."""

import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from vitruvius.training import randaugment
from vitruvius.training.recipe import Augment


def pictures(channels: int = 3, count: int = 3, side: int = 12) -> Tensor:
    source = torch.Generator().manual_seed(0)
    smooth = torch.randint(30, 200, (count, channels, side // 4, side // 4), generator=source).float()
    large = smooth.repeat_interleave(4, 2).repeat_interleave(4, 3)
    return (large + torch.randint(-20, 21, large.shape, generator=source)).to(torch.uint8)


def as_image(x_CHW: Tensor) -> Image.Image:
    if len(x_CHW) == 1:
        return Image.fromarray(x_CHW[0].numpy())
    return Image.fromarray(x_CHW.permute(1, 2, 0).contiguous().numpy())


def as_tensor(image: Image.Image) -> Tensor:
    import numpy as np

    found = torch.from_numpy(np.array(image))
    return found[None] if found.dim() == 2 else found.permute(2, 0, 1)


PILLOW = {
    "autocontrast": lambda image, m: ImageOps.autocontrast(image),
    "equalize": lambda image, m: ImageOps.equalize(image),
    "posterize": lambda image, m: ImageOps.posterize(image, 8 - round(4 * abs(m))),
    "solarize": lambda image, m: ImageOps.solarize(image, 256 * (1 - abs(m))),
    "colour": lambda image, m: ImageEnhance.Color(image).enhance(1 + 0.9 * m),
    "contrast": lambda image, m: ImageEnhance.Contrast(image).enhance(1 + 0.9 * m),
    "brightness": lambda image, m: ImageEnhance.Brightness(image).enhance(1 + 0.9 * m),
    "sharpness": lambda image, m: ImageEnhance.Sharpness(image).enhance(1 + 0.9 * m),
}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", PILLOW)
@pytest.mark.parametrize("strength", [0.7, -0.7])
def test_changes_of_colour_are_those_of_pillow_up_to_one_level(
    name: str, strength: float, channels: int
) -> None:
    x = pictures(channels, side=24)
    changed = randaugment.OPERATIONS[name](x.float(), torch.full((3,), strength)).round().clamp(0, 255)
    for before, after in zip(x, changed, strict=True):
        wanted = as_tensor(PILLOW[name](as_image(before), strength)).float()
        assert (after - wanted).abs().max() <= 1
    if name not in ("colour", "sharpness"):
        assert not torch.equal(changed, x.float())


def test_equalizing_a_picture_of_one_value_or_few_pixels_changes_nothing() -> None:
    x = torch.full((1, 1, 4, 4), 7.0)
    assert torch.equal(randaugment.equalize(x, torch.ones(1)), x)


def test_a_whole_shift_moves_pixels_and_fills_with_zeros() -> None:
    x = pictures().float()  # 0.45 of 12 pixels are 5
    moved = randaugment.translate_x(x, torch.tensor([1.0, -1.0, 0.0]))
    assert torch.allclose(moved[0, :, :, :7], x[0, :, :, 5:], atol=1e-3)
    assert not moved[0, :, :, 7:].any()
    assert torch.allclose(moved[1, :, :, 5:], x[1, :, :, :7], atol=1e-3)
    assert torch.allclose(moved[2], x[2], atol=1e-3)
    down = randaugment.translate_y(x, torch.tensor([1.0, -1.0, 0.0]))
    assert torch.allclose(down[0, :, :7], x[0, :, 5:], atol=1e-3)


def test_turning_three_times_as_far_is_a_quarter() -> None:
    x = pictures().float()
    assert torch.allclose(randaugment.rotate(x, torch.full((3,), 3.0)), x.rot90(1, (2, 3)), atol=1e-2)


def test_a_shear_leaves_the_middle_and_moves_the_borders() -> None:
    row = torch.zeros(1, 1, 11, 11)
    row[..., 5] = 255.0  # a vertical line in the middle
    sheared = randaugment.shear_x(row, torch.ones(1))[0, 0]
    assert sheared[5].argmax() == 5
    assert abs(int(sheared[0].argmax()) - 5) == abs(int(sheared[10].argmax()) - 5) in (1, 2)
    assert torch.equal(
        randaugment.shear_y(row.mT.contiguous(), torch.ones(1)), randaugment.shear_x(row, torch.ones(1)).mT
    )


@pytest.mark.parametrize("name", ["rotate", "shear_x", "shear_y", "colour", "contrast", "solarize"])
def test_strength_zero_changes_nothing(name: str) -> None:
    x = pictures().float()
    assert torch.allclose(randaugment.OPERATIONS[name](x, torch.zeros(3)), x, atol=1e-3)


def test_every_operation_is_drawn_equally_often_and_bytes_stay_bytes() -> None:
    operations, signs = randaugment.draw(0, 1, 14_000)
    counts = operations.flatten().bincount(minlength=len(randaugment.OPERATIONS))
    assert len(counts) == 14
    assert (counts - 2000).abs().max() < 5 * 2000**0.5
    assert signs.float().mean().abs() < 0.05
    assert set(signs.unique().tolist()) == {-1, 1}
    x = pictures(count=64)
    changed = randaugment.apply(x, operations[:64], signs[:64], 9.0)
    assert changed.dtype == torch.uint8
    assert (changed != x).flatten(1).any(1).float().mean() > 0.8
    assert torch.equal(randaugment.apply(x, operations[:64], signs[:64], 9.0), changed)
    assert Augment(randaugment=9).augments
