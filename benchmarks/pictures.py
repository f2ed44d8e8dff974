"""Make the pictures of README and docs from runs of this repository.

    python -m benchmarks.pictures

A ranking of the fifty, a small ViT trained for three epochs on MNIST and looked into, a grid of autoencoders,
one lesson: about five minutes on two cores, written to docs/pictures. No time is measured, so the machine may
be busy."""

import io
import tempfile
from pathlib import Path

from PIL import Image

import vitruvius
from vitruvius import datasets
from vitruvius.core import files
from vitruvius.training.results import Result

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDEST = 1200
"""Pixels to which wider pictures are reduced."""


def keep(source: Path, name: str) -> None:
    """Copy a picture, reduced to the width of a page and to 128 colours."""
    image = Image.open(source).convert("RGB")
    if image.width > WIDEST:
        image = image.resize((WIDEST, round(image.height * WIDEST / image.width)), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    image.quantize(128).save(content, "png", optimize=True)
    files.write(PICTURES / f"{name}.png", content.getvalue())
    print(f"docs/pictures/{name}.png  {image.width} x {image.height}, {len(content.getvalue()) // 1024} KiB")


def main() -> None:
    """Make every picture."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        runs = str(Path(folder) / "runs")
        vitruvius.rank(runs=runs, name="fifty")
        keep(Path(runs) / "rank/fifty/ranking.png", "ranking")
        result = vitruvius.train(arch="mnist-slim", epochs=3, compile="off", runs=runs, name="slim")
        assert isinstance(result, Result)
        print(f"mnist-slim after 3 epochs: {result.test_accuracy:.2%} of the test images")
        keep(Path(runs) / "train/slim/curves.png", "curves")
        digit = Path(folder) / "four.png"
        test = datasets.get("mnist").test
        assert test.y is not None
        first = int((test.y == 4).nonzero()[0])
        Image.fromarray(test.x[first, 0].numpy()).save(digit)
        vitruvius.predict("slim", str(digit), overlay=True, runs=runs, name="four")
        keep(Path(runs) / "predict/four/four-attention.png", "attention")
        vitruvius.pretrain(runs=runs, name="grid")
        keep(Path(runs) / "pretrain/grid/accuracy.png", "autoencoders")
        lesson = Path(folder) / "earth_mover.md"
        list(vitruvius.stream("explain", "earth_mover", out=str(lesson)))
        keep(lesson.with_name("earth_mover-1.png"), "earth_mover")


if __name__ == "__main__":
    main()
