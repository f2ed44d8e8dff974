"""What does not fit into one ONNX file is refused by its size, before anything is converted."""

import pytest

from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.exporting import onnx_file, write
from vitruvius.exporting.settings import ExportSettings

LARGE = Arch(width=2048, depth=12, heads=16, mlp=8192)
"""Weights of 2.3 GiB in float32."""


@pytest.mark.parametrize("precision", ["float32", "int8", "float16"])
def test_more_than_two_gibibytes_are_refused_early(precision: str) -> None:
    settings = ExportSettings(run="made", precision=precision)
    if precision == "float16":  # half as many bytes
        onnx_file.refuse_large(settings, LARGE)
        return
    with pytest.raises(UserError, match=r"2\.\d GiB of weights, one file holds at most 2 GiB"):
        write.refuse_early(settings, LARGE)
