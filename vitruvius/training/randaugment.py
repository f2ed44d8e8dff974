r"""RandAugment (Cubuk et al. 2020): to each image two operations chosen at random, all of one magnitude.

The operations work on whole batches of tensors with values 0..255; a magnitude runs from 0, which changes
little or nothing, to 10. Shapes: B batch, C channels, H and W the image's sides.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, conv2d, grid_sample

from vitruvius.training import seeds

CHOSEN = 2
"""Operations applied to each image."""
LARGEST = 10
"""The magnitude at which the operations are strongest."""
GREY = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the brightness of a pixel."""
Operation = Callable[[Tensor, Tensor], Tensor]
"""Images (B, C, H, W), strength of each in -1..1 -> changed images."""


def draw(seed: int, epoch: int, samples: int) -> tuple[Tensor, Tensor]:
    """Draw the operations of each sample and their signs, both (samples, 2)."""
    source = seeds.generator(seed, "randaugment", epoch)
    operations = torch.randint(len(OPERATIONS), (samples, CHOSEN), generator=source)
    return operations, 2 * torch.randint(2, (samples, CHOSEN), generator=source) - 1


def apply(x_BCHW: Tensor, operations_B2: Tensor, signs_B2: Tensor, magnitude: float) -> Tensor:
    """Return the images after their operations; bytes in, bytes out."""
    members = tuple(OPERATIONS.values())
    y_BCHW = x_BCHW.float()
    for chosen_B, sign_B in zip(operations_B2.T, signs_B2.T, strict=True):
        strength_B = sign_B * (magnitude / LARGEST)
        for index in chosen_B.bincount().nonzero()[:, 0].tolist():
            mine = (chosen_B == index).nonzero()[:, 0]
            y_BCHW[mine] = members[index](y_BCHW[mine], strength_B[mine]).round().clamp(0, 255)
    return y_BCHW.to(x_BCHW.dtype)


def identity(x: Tensor, strength: Tensor) -> Tensor:
    """Leave the image as it is."""
    return x


def autocontrast(x: Tensor, strength: Tensor) -> Tensor:
    """Stretch the values of each channel to 0..255."""
    low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
    return torch.where(high > low, (x - low) * (255 / (high - low).clamp(min=1)), x)


def equalize(x: Tensor, strength: Tensor) -> Tensor:
    """Spread the values of each channel so that all are about equally frequent."""
    B, C, H, W = x.shape
    value = x.long().view(B * C, H * W)
    counts = torch.zeros(B * C, 256, dtype=torch.long, device=x.device).scatter_add_(
        1, value, torch.ones_like(value)
    )
    last = counts.gather(1, value.amax(1, keepdim=True))  # the count of the highest value
    step = (H * W - last) // 255
    before = counts.cumsum(1) - counts
    table = ((before + step // 2) // step.clamp(min=1)).clamp(max=255)
    table = torch.where(step > 0, table, torch.arange(256, device=x.device))
    return table.gather(1, value).view(B, C, H, W).float()


def posterize(x: Tensor, strength: Tensor) -> Tensor:
    """Keep fewer bits of each value: from 8 down to 4."""
    dropped = (4 * strength.abs()).round().long()
    unit = (2**dropped).view(-1, 1, 1, 1)
    return (x.long() // unit * unit).float()


def solarize(x: Tensor, strength: Tensor) -> Tensor:
    """Invert the values above a threshold, which falls from 256 to 0."""
    threshold = (256 * (1 - strength.abs())).view(-1, 1, 1, 1)
    return torch.where(x < threshold, x, 255 - x)


def colour(x: Tensor, strength: Tensor) -> Tensor:
    """Make colours paler or stronger."""
    return _blend(_grey(x).expand_as(x), x, strength)


def contrast(x: Tensor, strength: Tensor) -> Tensor:
    """Move all values towards or away from the mean brightness."""
    return _blend(_grey(x).mean((2, 3), keepdim=True).round().expand_as(x), x, strength)


def brightness(x: Tensor, strength: Tensor) -> Tensor:
    """Make the image darker or brighter."""
    return _blend(torch.zeros_like(x), x, strength)


def sharpness(x: Tensor, strength: Tensor) -> Tensor:
    """Blur or sharpen everything but the border."""
    if min(x.shape[2:]) < 3:
        return x
    kernel = torch.ones(1, 1, 3, 3, device=x.device)
    kernel[0, 0, 1, 1] = 5
    smooth = x.clone()
    inner = conv2d(x.flatten(0, 1)[:, None], kernel / kernel.sum())
    smooth[:, :, 1:-1, 1:-1] = inner.view(*x.shape[:2], x.shape[2] - 2, x.shape[3] - 2).round()
    return _blend(smooth, x, strength)


def rotate(x: Tensor, strength: Tensor) -> Tensor:
    """Turn by up to 30 degrees."""
    angle = strength * math.radians(30)
    return _moved(x, torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], 1).view(-1, 2, 2))


def shear_x(x: Tensor, strength: Tensor) -> Tensor:
    """Shift rows in proportion to their distance from the middle, by up to 0.3 of it."""
    return _sheared(x, 0.3 * strength, (0, 1))


def shear_y(x: Tensor, strength: Tensor) -> Tensor:
    """Shift columns in proportion to their distance from the middle, by up to 0.3 of it."""
    return _sheared(x, 0.3 * strength, (1, 0))


def translate_x(x: Tensor, strength: Tensor) -> Tensor:
    """Shift to a side by up to 0.45 of the width, in whole pixels."""
    return _shifted(x, strength, 0)


def translate_y(x: Tensor, strength: Tensor) -> Tensor:
    """Shift up or down by up to 0.45 of the height, in whole pixels."""
    return _shifted(x, strength, 1)


def _grey(x: Tensor) -> Tensor:
    """Return the brightness of each pixel, (B, 1, H, W); the mean where the channels are not colours."""
    if x.shape[1] == 3:
        return (x * torch.tensor(GREY, device=x.device).view(3, 1, 1)).sum(1, keepdim=True).round()
    return x.mean(1, keepdim=True).round()


def _blend(other: Tensor, x: Tensor, strength: Tensor) -> Tensor:
    """Go from another image through x (strength 0) and beyond, by up to nine tenths of the way."""
    factor = (1 + 0.9 * strength).view(-1, 1, 1, 1)
    return other + factor * (x - other)


def _sheared(x: Tensor, amount_B: Tensor, entry: tuple[int, int]) -> Tensor:
    matrix = torch.eye(2, device=x.device).repeat(len(x), 1, 1)
    matrix[:, entry[0], entry[1]] = amount_B
    return _moved(x, matrix)


def _shifted(x: Tensor, strength: Tensor, axis: int) -> Tensor:
    side = x.shape[3 - axis]
    shift_B2 = torch.zeros(len(x), 2, device=x.device)
    shift_B2[:, axis] = (0.45 * strength * side).round() * 2 / side  # the side is 2 long here
    return _moved(x, torch.eye(2, device=x.device).repeat(len(x), 1, 1), shift_B2)


def _moved(x: Tensor, matrix_B22: Tensor, shift_B2: Tensor | None = None) -> Tensor:
    """Move every pixel by an affine map around the middle; zeros move in."""
    column = torch.zeros(len(x), 2, 1, device=x.device) if shift_B2 is None else shift_B2[:, :, None]
    theta = torch.cat([matrix_B22.float(), column], 2)
    grid = affine_grid(theta, list(x.shape), align_corners=False)
    return grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


OPERATIONS: dict[str, Operation] = {
    operation.__name__: operation
    for operation in (
        *(identity, autocontrast, equalize, posterize, solarize, colour, contrast, brightness, sharpness),
        *(rotate, shear_x, shear_y, translate_x, translate_y),
    )
}
