"""Classify images with a trained run and show where it looks: attention maps, distances, positions.

vitruvius predict RUN digit.png
vitruvius predict runs/train/fashion shoe.jpg shirt.png --top 3
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from vitruvius.core import config, records, runs
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from vitruvius.training.predictor import Predictor


class Config(config.RunConfig):
    """Which run, which images."""

    run: Positional[str] = ""
    """The training run: its name or its folder."""
    images: Positional[tuple[str, ...]] = ()
    """PNG or JPEG files."""
    top: Annotated[int, Field(ge=1, le=1000)] = 3
    """How many classes are shown for each image."""


class Guess(config.Strict):
    """A class and its probability."""

    name: str
    probability: float


class Prediction(config.Strict):
    """The most probable classes of one image."""

    image: str
    guesses: tuple[Guess, ...]
    attention: str
    """The picture of the patches that the model attends to."""


class Result(records.Result):
    """All predictions, and the pictures of the model itself."""

    predictions: tuple[Prediction, ...]
    model: str
    run: str
    distance: str
    positions: str | None

    def view(self) -> Iterable[Block]:
        rows = []
        for prediction in self.predictions:
            for index, guess in enumerate(prediction.guesses):
                rows.append(("" if index else prediction.image, guess.name, f"{guess.probability:.2%}"))
        if rows:
            yield Table(columns=("image", "class", "probability"), rows=tuple(rows))
        yield Text(text=f"pictures: {self.run}", style="note")


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Classify the images and draw what the model attends to."""
    from vitruvius.render import figures
    from vitruvius.training import predictor, report

    if flags.resume is not None and not config.run:
        config = runs.recorded(runs.find(flags.resume, "predict", flags.runs), Config)
    if not config.run:
        usage = "vitruvius predict RUN IMAGE... (RUN is a name below runs/train, or a folder)"
        raise UserError(f"which run? {usage}")
    source = runs.find(config.run, "train", flags.runs)
    model = predictor.load(source)
    images = [predictor.read_picture(name, model) for name in config.images]
    with runs.opened("predict", config, flags) as (folder, config):
        predictions = []
        for name, pixels in zip(config.images, images, strict=True):
            picture = folder.path(f"{_stem(name, config.images)}-attention.png")
            found, attention = predictor.classify(model, pixels, config.top)
            heats = [(title, heat.tolist()) for title, heat in attention]
            figures.write_png(report.attention_overlay(name, pixels.tolist(), heats), picture)
            guesses = tuple(Guess(name=label, probability=probability) for label, probability in found)
            predictions.append(Prediction(image=name, guesses=guesses, attention=str(picture)))
        drawn, run = _draw_model(folder, model, images), str(folder.folder)
        result = Result(predictions=tuple(predictions), model=str(source), run=run, **drawn)
        folder.keep(result)
        folder.seal(runs.environment())
        yield result


def _stem(name: str, names: tuple[str, ...]) -> str:
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
