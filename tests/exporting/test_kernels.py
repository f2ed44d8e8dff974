"""Which attention kernels onnxruntime computes, with few and many tokens; the others are refused by name."""

from pathlib import Path
from typing import Any

import pytest
import torch

from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.exporting import onnx_file
from vitruvius.exporting.settings import ExportSettings
from vitruvius.nn.vit import build

FEW, MANY = 8, 40  # pixels: 5 and 101 tokens, on both sides of where algorithms change
COMPUTED = [
    *(("quadratic", FEW, "dynamic"), ("quadratic", MANY, "2"), ("hardmax", MANY, "dynamic")),
    *(("graph", FEW, "dynamic"), ("graph", MANY, "dynamic")),
    *(("linear", FEW, "dynamic"), ("linear", MANY, "2")),
]


def difference(path: Path, kernel: str, image: int, batch: str) -> float:
    """Write a network and return the largest difference between onnxruntime and torch."""
    net = build(Arch(image=image, patch=4, width=8, depth=1, heads=2, mlp=8, kernel=kernel), 0).eval()
    settings: Any = {"run": "made", "format": "onnx", "batch": batch}
    onnx_file.convert(path, net, ExportSettings(**settings))
    session = onnx_file.open_session(path)
    largest = 0.0
    for size in (1, 5) if batch == "dynamic" else (int(batch),):
        x = torch.randn(size, 1, image, image, generator=torch.Generator().manual_seed(size))
        (scores,) = session.run(None, {"image": x.numpy()})
        largest = max(largest, (torch.from_numpy(scores) - net(x)).abs().max().item())
    return largest


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "image", "batch"), COMPUTED)
def test_onnxruntime_computes_the_same(tmp_path: Path, kernel: str, image: int, batch: str) -> None:
    assert difference(tmp_path / "model.onnx", kernel, image, batch) < 1e-5


@pytest.mark.slow
def test_quadratic_attention_over_many_tokens_needs_a_fixed_batch(tmp_path: Path) -> None:
    words = r"kernel quadratic: .*; a fixed --batch may be possible"
    with pytest.raises(UserError, match=words) as refused:
        difference(tmp_path / "model.onnx", "quadratic", MANY, "dynamic")
    assert str(refused.value).isprintable()
