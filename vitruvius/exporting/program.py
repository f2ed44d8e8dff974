"""A network as a `torch.export` program: the computation without the Python that describes it.

Shapes: B batch, C channels, H and W the image's sides.
"""

import copy
import json
import re
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source
from vitruvius.nn.vit import ViT

FILE = "model.pt2"
ANY_BATCH = 2**16
EXAMPLE = 2
"""Images in the example of a dynamic batch: torch would take a size of 1 for a constant."""


class Half(nn.Module):
    """A network that computes in float16 and takes and gives float32."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = copy.deepcopy(net).half()

    def forward(self, image_BCHW: Tensor) -> Tensor:
        """Class scores in float32."""
        return self.net(image_BCHW.half()).float()


def trace(trained: ViT, settings: ExportSettings) -> torch.export.ExportedProgram:
    """Record the computation of the network for a fixed or any number of images."""
    net = Half(trained).eval() if settings.precision == "float16" else trained
    arch = trained.arch
    image_BCHW = torch.zeros(settings.fixed_batch or EXAMPLE, arch.channels, arch.image, arch.image)
    shapes = None if settings.fixed_batch else ({0: torch.export.Dim("batch", min=1, max=ANY_BATCH)},)
    # Without gradients short softmax goes over columns, for which ONNX Runtime would transpose all scores.
    over_rows = settings.format == "onnx"
    try:
        with warnings.catch_warnings(action="ignore"), torch.set_grad_enabled(over_rows):
            return torch.export.export(net, (image_BCHW,), dynamic_shapes=shapes)
    except Exception as error:  # torch.export raises errors of many types, some of them its own assertions
        raise inexportable(settings, arch.kernel, error) from error


def inexportable(settings: ExportSettings, kernel: str, error: Exception) -> UserError:
    """Make the error for a network that torch cannot convert, with the first line of torch's reason."""
    cause: BaseException = error
    while cause.__cause__ is not None:  # the outer ones say where to report it
        cause = cause.__cause__
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(cause).strip() or type(cause).__name__)
    reason = re.sub(r"\s*(Next steps|Tried overloads):?$", "", text.splitlines()[0]).rstrip(" .:")
    cure = "" if settings.fixed_batch else "; a fixed --batch may be possible"
    return UserError(
        f"--format {settings.format}: torch cannot convert a network with the kernel {kernel}: {reason}{cure}"
    )


def write(folder: Path, source: Source, settings: ExportSettings) -> None:
    """Write the program with class names and preprocessing beside it."""
    about = {"classes": list(source.classes), "preprocessing": source.preprocessing()}
    extra: dict[str, Any] = {"vitruvius.json": json.dumps(about)}
    torch.export.save(trace(source.net, settings), folder / FILE, extra_files=extra)
    files.write_json(folder / "model.json", about)


def read(folder: Path, settings: ExportSettings) -> Any:
    """Load the written program as a function of normalised images."""
    return torch.export.load(folder / FILE).module()
