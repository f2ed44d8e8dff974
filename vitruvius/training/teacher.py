"""The teacher of a distillation: a finished run that scores the images on which another network learns."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from vitruvius.core import files, runs
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.training import predictor

Teacher = Callable[[Tensor], Tensor]
"""Images as the network in training sees them (B, C, H, W) -> scores of the classes of its data (B, K)."""


def fingerprint(source: str) -> str:
    """Return the SHA-256 of the teacher's weights: a resumed run must have the same one."""
    return files.sha256(runs.find(source, "train") / "model.safetensors")


def load(source: str, data: Dataset, where: torch.device, dtype: torch.dtype) -> Teacher:
    """Return the teacher for these data; refuse one that does not know their classes.

    Images are brought to its size and its normalisation; its classes are matched by name.
    """
    model = predictor.load(runs.find(source, "train"))
    arch = model.net.arch
    places = {name: place for place, name in enumerate(model.classes)}
    if missing := [name for name in data.classes if name not in places]:
        known = ", ".join(model.classes[:5]) + (", ..." if len(model.classes) > 5 else "")
        raise UserError(f"--teacher {source}: it does not know the class {missing[0]}, only {known}")
    if arch.channels != data.shape[0]:
        takes = counted(arch.channels, "channel")
        raise UserError(f"--teacher {source}: it takes {takes}, the data have {data.shape[0]}")
    column = torch.tensor([places[name] for name in data.classes], device=where)
    net = model.net.to(where, dtype).requires_grad_(False).eval()
    ours = (value.to(where, dtype) for value in predictor.scale_tensors(data.mean, data.std))
    theirs = (value.to(where, dtype) for value in (model.mean, model.std))
    (our_mean, our_std), (their_mean, their_std) = ours, theirs
    is_same = torch.equal(our_mean, their_mean) and torch.equal(our_std, their_std)

    def teach(x_BCHW: Tensor) -> Tensor:
        with torch.no_grad():
            if not is_same:
                x_BCHW = (x_BCHW * our_std + our_mean - their_mean) / their_std
            if x_BCHW.shape[-1] != arch.image:
                x_BCHW = interpolate(x_BCHW, (arch.image, arch.image), mode="bilinear", antialias=True)
            return net(x_BCHW)[:, column]

    return teach
