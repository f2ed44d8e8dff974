"""What is exported, and how. No torch."""

from typing import Annotated, Literal

from pydantic import Field

from vitruvius.core.config import Positional
from vitruvius.core.errors import UserError
from vitruvius.training.recipe import Threads

WITH_BATCH = ("onnx", "torch")
"""Formats that hold a computation, for a fixed or any number of images; the others hold weights."""


class ExportSettings(Threads):
    """Which run, in which format, how precise."""

    group = "options"
    run: Positional[str] = ""
    """The training run: its name or its folder."""
    format: Literal["onnx", "transformers", "timm", "safetensors", "torch", "page"] = "onnx"
    """onnx, torch: a computation; transformers, timm, safetensors: weights with a description; page: one HTML
    file to look inside the network, without a server."""
    out: str | None = None
    """The new folder, or file of a page; default: exports/RUN-FORMAT, with the precision if not float32."""
    batch: Literal["dynamic"] | Annotated[int, Field(ge=1, le=2**16)] = "dynamic"
    """Images that an onnx or torch file takes at once: a number, or dynamic for any."""
    precision: Literal["float32", "float16", "int8"] = "float32"
    """int8 (onnx only) is calibrated on training images."""
    images: Annotated[int, Field(ge=1)] | None = None
    """Test images on which the written model is compared with the run; default: all."""

    @property
    def fixed_batch(self) -> int | None:
        """The number of images that the model takes at once, None if any number."""
        return None if self.batch == "dynamic" else int(self.batch)

    def refuse_impossible(self) -> None:
        """Refuse what the format does not have, before anything is read."""
        if not self.run:
            raise UserError(
                "which run? vitruvius export RUN --format FORMAT (a name below runs/train, or a folder)"
            )
        if self.precision == "int8" and self.format != "onnx":
            raise UserError(f"--precision int8: {self.format} does not have it here; choose --format onnx")
        if self.fixed_batch and self.format not in WITH_BATCH:
            raise UserError(
                f"--batch {self.batch}: {self.format} holds weights, which take any number of images"
            )
