"""Classify images with a trained run; show where it looks: attention maps, distances, positions.

Without a run the images are read as handwritten digits, by the small network that is part of the package.

vitruvius predict RUN digit.png --overlay
vitruvius predict digit.png
vitruvius predict runs/train/fashion shoe.jpg shirt.png --top 5
vitruvius predict RUN photos.jpg --format jsonl
"""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from vitruvius.core import config, files, plugins, records, runs
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from vitruvius.training.predictor import Predictor


SUFFIXES: tuple[str, ...] = plugins.constant(plugins.PACKAGE / "datasets" / "_images.py", "SUFFIXES")


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


class Guess(config.Strict):
    """A class and its probability."""

    name: str
    probability: float


class Prediction(config.Strict):
    """The most probable classes of one image, or why it could not be read."""

    image: str
    guesses: tuple[Guess, ...] = ()
    attention: str | None = None
    """The picture of the patches that the model attends to, if one was asked for."""
    failed: str | None = None


class Result(records.Result):
    """All predictions, and the pictures of the model itself."""

    predictions: tuple[Prediction, ...]
    model: str
    """The training run, or the network of the package."""
    run: str
    distance: str | None = None
    """The picture of the attention distances; with --overlay, or without images."""
    positions: str | None = None
    format: str = "table"

    @property
    def exit_code(self) -> int:
        """1 if an image could not be read, else 0."""
        return int(any(prediction.failed for prediction in self.predictions))

    def view(self) -> Iterable[Block]:
        if self.format != "table":
            yield Text(text=(self.csv() if self.format == "csv" else self.jsonl()).rstrip("\n"))
            return
        rows = []
        for prediction in self.predictions:
            if prediction.failed:
                rows.append((prediction.image, f"not read: {prediction.failed}", ""))
            for index, guess in enumerate(prediction.guesses):
                rows.append(("" if index else prediction.image, guess.name, f"{guess.probability:.2%}"))
        if rows:
            yield Table(columns=("image", "class", "probability"), rows=tuple(rows))
        yield Text(text=f"predictions.csv, predictions.jsonl and pictures: {self.run}", style="note")

    def jsonl(self) -> str:
        """Return a JSON object per image on a line of its own."""
        return "".join(f"{prediction.model_dump_json()}\n" for prediction in self.predictions)

    def csv(self) -> str:
        """Return a line per image: its classes with their probabilities, or why it could not be read."""
        most = max((len(prediction.guesses) for prediction in self.predictions), default=0)
        lines = []
        for prediction in self.predictions:
            line: dict[str, str | float | None] = {"image": prediction.image}
            for index in range(most):
                known = prediction.guesses[index] if index < len(prediction.guesses) else None
                line[f"class_{index + 1}"] = known.name if known else None
                line[f"probability_{index + 1}"] = known.probability if known else None
            lines.append({**line, "failed": prediction.failed})
        return files.csv_text(lines)


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Classify the images and draw what the model attends to; an image that cannot be read is a row."""
    from vitruvius.training import predictor

    config = _without_run(config, flags.runs)
    if flags.resume is not None and not config.run and not config.images:
        config = runs.recorded(runs.find(flags.resume, "predict", flags.runs), Config)
    if not config.run and not config.images:
        usage = "vitruvius predict RUN IMAGE... (RUN is a name below runs/train, or a folder)"
        raise UserError(f"which run? {usage}; without RUN, `vitruvius predict IMAGE...` reads digits")
    model, source = _load(config, flags)
    names = [name for word in config.images for name in _matches(word)]
    with runs.opened("predict", config, flags) as (folder, config):
        predictions: list[Prediction] = []
        first: list[Tensor] = []  # of these the attention distances are measured
        for begin in range(0, len(names), predictor.BATCH):  # no more images in memory than one batch
            yield records.Progress(done=begin, total=len(names), label="images")
            batch = names[begin : begin + predictor.BATCH]
            images, failed = _read(batch, model)
            first = first or list(images.values())
            found = _guesses(model, images, config.top)
            for name in batch:
                about = {"guesses": found.get(name, ()), "failed": failed.get(name)}
                if config.overlay and name in images:
                    picture = folder.path(f"{_stem(name, names)}-attention.png")
                    _draw_overlay(name, found[name][0], model, images[name], picture)
                    about["attention"] = str(picture)
                predictions.append(Prediction(image=name, **about))
        is_drawn = config.overlay or not names
        drawn = _draw_model(folder, model, first) if is_drawn else {}
        known = {"model": source, "run": str(folder.folder), "format": config.format}
        result = Result(predictions=tuple(predictions), **known, **drawn)
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
    word, folder = config.run, Path(config.run)
    marks = ("config.json", "manifest.json", "state")
    places = (folder, Path(root, "train", word)) if folder.name == word else (folder,)
    is_run = any((place / mark).exists() for place in places for mark in marks)
    names_images = folder.suffix.lower() in SUFFIXES or glob.has_magic(word) or folder.is_dir()
    if not word or is_run or not names_images:
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


def _matches(word: str) -> list[str]:
    """Return the images that a file, a folder (searched to its depth) or a pattern names, sorted."""
    if os.path.isdir(word):
        paths = (path for path in Path(word).rglob("*") if path.suffix.lower() in SUFFIXES)
        found = sorted(str(path) for path in paths if path.is_file())
    elif glob.has_magic(word) and not os.path.exists(word):
        found = sorted(name for name in glob.glob(word, recursive=True) if os.path.isfile(name))
    else:
        return [word]
    if not found:
        raise UserError(f"{word}: no pictures are there ({' '.join(SUFFIXES)})")
    return found


def _read(names: Iterable[str], model: "Predictor") -> "tuple[dict[str, Tensor], dict[str, str]]":
    """Read the images; return those that could be read, and why the others could not, both by name."""
    from vitruvius.training import predictor

    images: dict[str, Tensor] = {}
    failed: dict[str, str] = {}
    for name in names:
        try:
            images[name] = predictor.read_picture(name, model)
        except UserError as error:
            failed[name] = str(error).removeprefix(f"{name}: ")
    return images, failed


def _guesses(model: "Predictor", images: "dict[str, Tensor]", top: int) -> dict[str, tuple[Guess, ...]]:
    """Return the most probable classes of each image."""
    from vitruvius.training import predictor

    found = zip(images, predictor.classify(model, list(images.values()), top), strict=True)
    return {
        name: tuple(Guess(name=label, probability=chance) for label, chance in guesses)
        for name, guesses in found
    }


def _draw_overlay(name: str, best: Guess, model: "Predictor", pixels: "Tensor", picture: Path) -> None:
    """Draw an image under its attention maps; the title names the predicted class."""
    from vitruvius.render import figures
    from vitruvius.training import predictor, report

    heats = [(title, heat.tolist()) for title, heat in predictor.heat_maps(model, pixels)]
    said = f"{name}: {best.name}, {best.probability:.0%}"
    figures.write_png(report.attention_overlay(said, pixels.tolist(), heats), picture)


def _stem(name: str, names: Sequence[str]) -> str:
    """Return a file name for an image's picture; images of the same name in several folders are numbered."""
    stem = Path(name).stem
    alike = [other for other in names if Path(other).stem == stem]
    return stem if len(alike) == 1 else f"{stem}-{alike.index(name) + 1}"


def _draw_model(folder: runs.RunFolder, model: "Predictor", images: "list[Tensor]") -> dict[str, str | None]:
    """Draw mean attention distances and, if the model has positions, their similarity; return both paths."""
    from vitruvius.nn import attention_maps
    from vitruvius.render import figures
    from vitruvius.training import predictor, report

    distance, positions = folder.path("distance.png"), folder.path("positions.png")
    found = predictor.distances(model, images).tolist()
    figures.write_png(report.attention_distance(found, model.net.arch.image), distance)
    if model.net.positions is None:
        return {"distance": str(distance), "positions": None}
    similarity = attention_maps.position_similarity(model.net).tolist()
    figures.write_png(report.position_similarity(similarity), positions)
    return {"distance": str(distance), "positions": str(positions)}
