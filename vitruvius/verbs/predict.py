"""Classify images with a trained run; show where it looks: attention maps, distances, positions.

Without a run the images are read as handwritten digits, by the small network that is part of the package.

vitruvius predict RUN digit.png --overlay
vitruvius predict digit.png
vitruvius predict runs/train/fashion shoe.jpg shirt.png --top 5
vitruvius predict RUN photos.jpg --format jsonl
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from vitruvius.core import config, files, records, runs
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from vitruvius.training.predictor import Predictor


class Config(config.RunConfig):
    """Which run, which images."""

    run: Positional[str] = ""
    """The training run: its name or its folder; left out: the network of the package, for digits."""
    images: Positional[tuple[str, ...]] = ()
    """Picture files, folders of them, or patterns such as "photos/*.jpg"."""
    top: Annotated[int, Field(ge=1, le=1000)] = 3
    """How many classes are shown for each image."""
    format: Literal["table", "csv", "jsonl"] = "table"
    """What is printed: a table, or lines for another program."""
    overlay: bool = False
    """Draw for each image which patches the model attends to."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Classify the images and draw what the model attends to; an image that cannot be read is a row."""
    from vitruvius.training import picture_files, pictures, predictor
    from vitruvius.training.predictions import Prediction, Predictions

    config = _without_run(config, flags.runs)
    if flags.resume is not None and not config.run and not config.images:
        config = runs.recorded(runs.find(flags.resume, "predict", flags.runs), Config)
    if not config.run and not config.images:
        usage = "vitruvius predict RUN IMAGE... (RUN is a name below runs/train, or a folder)"
        raise UserError(f"which run? {usage}; without RUN, `vitruvius predict IMAGE...` reads digits")
    model, source = _load(config, flags)
    names = [name for word in config.images for name in picture_files.named_by(word)]
    with runs.opened("predict", config, flags) as (folder, config):
        predictions: list[Prediction] = []
        first: list[Tensor] = []  # of these the attention distances are measured
        for begin in range(0, len(names), predictor.BATCH):  # no more images in memory than one batch
            yield records.Progress(done=begin, total=len(names), label="images")
            batch = names[begin : begin + predictor.BATCH]
            images, failed = pictures.read(batch, model)
            first = first or list(images.values())
            found = pictures.guesses(model, images, config.top)
            for name in batch:
                about = {"guesses": found.get(name, ()), "failed": failed.get(name)}
                if config.overlay and name in images:
                    picture = folder.path(f"{picture_files.stem(name, names)}-attention.png")
                    pictures.draw_overlay(name, found[name][0], model, images[name], picture)
                    about["attention"] = str(picture)
                predictions.append(Prediction(image=name, **about))
        is_drawn = config.overlay or not names
        drawn = pictures.draw_model(folder, model, first) if is_drawn else {}
        known = {"model": source, "run": str(folder.folder), "format": config.format}
        result = Predictions(predictions=tuple(predictions), **known, **drawn)
        folder.keep(result)
        if predictions:
            files.write(folder.path("predictions.csv"), result.csv())
            files.write(folder.path("predictions.jsonl"), result.jsonl())
        folder.seal(runs.environment())
        yield result


def _without_run(config: Config, root: str) -> Config:
    """Return the config with the first word as an image if it names images: a file, a pattern or a folder.

    A run of that name comes first, and a folder that holds one.
    """
    from vitruvius.training import picture_files

    word, folder = config.run, Path(config.run)
    marks = ("config.json", "manifest.json", "state")
    folders = (folder, Path(root, "train", word)) if folder.name == word else (folder,)
    is_run = any((one / mark).exists() for one in folders for mark in marks)
    if not word or is_run or not picture_files.are_named(word):
        return config
    return config.model_copy(update={"run": "", "images": (word, *config.images)})


def _load(config: Config, flags: Flags) -> "tuple[Predictor, str]":
    """Load the run, or the network of the package; return it and what it is."""
    from vitruvius.training import predictor
    from vitruvius.web import trained

    if config.run:
        source = runs.find(config.run, "train", flags.runs)
        return predictor.load(source), str(source)
    shown = trained.shipped()
    return shown.predictor, f"{shown.about.name}, {shown.about.text}"
