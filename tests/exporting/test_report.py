"""The card of an exported model shows the names of classes and data; none becomes HTML, a link or a line."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from markdown_it import MarkdownIt

from vitruvius import datasets
from vitruvius.arch.arch import Arch
from vitruvius.exporting import report
from vitruvius.exporting.results import Verification
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source
from vitruvius.nn.vit import ViT

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> [l](javascript:x) \x1b[31m\n# heading\n```\n"
)
FOUND = Verification(
    images=10,
    split="test",
    largest_difference=0.0,
    accuracy_before=1.0,
    accuracy_after=1.0,
    milliseconds_torch=1.0,
    milliseconds_exported=1.0,
    batch=1,
    threads=1,
)


def structure(name: str, format: str) -> list[str]:
    """The elements of a card in which everything has this name."""
    data = replace(datasets.get("noise:1x8x8", validation=10, seed=0), name=name, classes=(name, "b"))
    with torch.device("meta"):
        net = ViT(Arch(image=8, channels=1, patch=4, width=8, depth=1, heads=2, mlp=8, classes=2))
    source = Source(Path("run"), net, data.classes, (0.5,), (0.5,), data, ())
    tokens = MarkdownIt("commonmark", {"html": True}).parse(
        report.card(source, ExportSettings(format=format), FOUND).split("---", 2)[2]
    )
    inner = [child for token in tokens for child in token.children or () if child.type != "text"]
    return [token.type for token in (*tokens, *inner)]


@pytest.mark.parametrize("format", ["safetensors", "transformers", "timm", "onnx", "torch"])
def test_names_in_a_card_are_inert(format: str) -> None:
    assert structure(HOSTILE, format) == structure("a plain name", format)
