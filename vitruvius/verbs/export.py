"""Export a trained run to run elsewhere: ONNX, transformers, timm, safetensors, a torch program, a web page.

What was written is read back and run on the run's test images; the largest difference, the accuracy and the
time per image are shown beside torch's. Exit code 1 if it differs by more than it may.

vitruvius export RUN
vitruvius export fashion --format timm --out fashion-timm
vitruvius export fashion --precision int8 --images 500
vitruvius export fashion --format page --out fashion.html
"""

from collections.abc import Iterator
from typing import ClassVar

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags
from vitruvius.exporting.settings import ExportSettings


class Config(config.Config, ExportSettings):
    """Which run is written, in which format, and where."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "runs")
    short: ClassVar[tuple[str, ...]] = ("run", "format", "out", "batch", "precision", "images", "json")


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Write a new folder or page and verify it."""
    config.refuse_impossible()
    folder = runs.find(config.run, "train", flags.runs)
    from vitruvius.exporting import source, write
    from vitruvius.training import device
    from vitruvius.web import page

    writer = page if config.format == "page" else write
    out = write.target(config, folder)
    writer.refuse_early(config, source.arch_of(folder))
    device.set_threads(config.threads)
    loaded = source.load(folder)
    yield records.Note(text=f"writing {out}, then running it on the images of {loaded.data.name}")
    yield (yield from writer.write(loaded, config, out))
