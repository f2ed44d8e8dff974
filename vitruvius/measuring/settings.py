"""Which networks are measured, and how. No torch."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from vitruvius.core.config import Ints, Names, Positional
from vitruvius.core.errors import UserError, unknown
from vitruvius.training.recipe import Seed, Threads

Runtime = Literal["torch", "compiled", "onnx"]
RUNTIMES: tuple[str, ...] = get_args(Runtime)
LARGEST_BATCH = 2**16


class MeasureSettings(Threads):
    """Networks, batch sizes, runtimes."""

    group = "options"
    networks: Positional[tuple[str, ...]] = ("mnist", "mnist-slim")
    """Presets, FILE.json with one network or a list, or runs of `vitruvius train`."""
    batch: Ints = (1, 32)
    """Images per call; several are measured apart."""
    runtime: Names = ("torch",)
    """torch, compiled (torch.compile), onnx (onnxruntime on the CPU)."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to compute; auto: a GPU where there is one."""
    training: bool = False
    """Measure a training step (forward, backward, AdamW) instead of inference."""
    calibrate: bool = False
    """Time 30 small networks and fit this machine's price list, from which milliseconds are predicted."""
    repeats: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Timed calls of each network, in random order among the others."""
    seed: Seed = 0
    """Seed of the weights, the images and the order."""

    @field_validator("batch")
    @classmethod
    def _is_a_size(cls, value: Any) -> Any:
        if not value or not all(1 <= size <= LARGEST_BATCH for size in value):
            raise ValueError(f"choose sizes from 1 to {LARGEST_BATCH:,}")
        return value

    def refuse_impossible(self) -> None:
        """Refuse unknown runtimes, and what a runtime cannot do."""
        for name in self.runtime:
            if name not in RUNTIMES:
                raise unknown("runtime", name, RUNTIMES)
        if self.calibrate:
            self._refuse_what_calibration_cannot()
        if not self.runtime or not self.networks:
            raise UserError("nothing to measure: name at least one network and one runtime")
        if "onnx" in self.runtime and self.training:
            raise UserError("--training: onnxruntime does not train; choose --runtime torch,compiled")
        if "onnx" in self.runtime and self.device in ("cuda", "mps"):
            raise UserError(f"--device {self.device}: onnx is measured on the CPU; leave it out")

    def _refuse_what_calibration_cannot(self) -> None:
        if "networks" in self.model_fields_set:
            raise UserError(f"--calibrate: times networks of its own; leave out {', '.join(self.networks)}")
        if self.runtime != ("torch",):
            given = ",".join(self.runtime)
            raise UserError(f"--calibrate: prices are those of torch; leave out --runtime {given}")
        if self.training:
            raise UserError("--calibrate: prices are those of inference; leave out --training")
