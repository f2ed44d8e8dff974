"""Classify images with a trained run, and show where it looks: attention overlays, distances, positions.

vitruvius predict RUN digit.png
vitruvius predict runs/train/fashion shoe.jpg shirt.png --top 3
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import Field

from vitruvius.core import config, records, runs
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError


class Config(config.Config):
    """Which run, which images."""

    run: Positional[str] = ""
    """The training run: its name or its folder."""
    images: Positional[tuple[str, ...]] = ()
    """PNG or JPEG files."""
    top: Annotated[int, Field(ge=1, le=1000)] = 3
    """How many classes are shown for each image."""


class Guess(config.Strict):
    """A class with the model's probability for it."""

    name: str
    probability: float


class Prediction(config.Strict):
    """What the model says of one image."""

    image: str
    guesses: tuple[Guess, ...]
    attention: str
    """The picture that shows where it looked."""


class Result(records.Result):
    """All predictions, and the pictures about the model itself."""

    predictions: tuple[Prediction, ...]
    model: str
    run: str
    distance: str
    positions: str | None

    def view(self) -> Iterable[Block]:
        rows = [
            (prediction.image if not place else "", guess.name, f"{guess.probability:.2%}")
            for prediction in self.predictions
            for place, guess in enumerate(prediction.guesses)
        ]
        if rows:
            yield Table(columns=("image", "class", "probability"), rows=tuple(rows))
        yield Text(text=f"pictures: {self.run}", style="note")


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Classify the images and draw what the model attends to."""
    from vitruvius.training import predictor as trained

    if not config.run:
        raise UserError(
            "which run? vitruvius predict RUN IMAGE... (RUN is a name below runs/train, or a folder)"
        )
    source = runs.find(config.run, "train", flags.runs)
    model = trained.load(source)
    images = [(name, trained.picture(name, model)) for name in config.images]
    with runs.opened("predict", config, flags) as (folder, config):
        predictions = []
        for name, pixels in images:
            guesses, attention = trained.classify(model, pixels, config.top)
            picture = folder.path(f"{_stem(name, config.images)}-attention.png")
            _overlay(name, pixels, attention, picture)
            shown = tuple(Guess(name=label, probability=share) for label, share in guesses)
            predictions.append(Prediction(image=name, guesses=shown, attention=str(picture)))
        distance, positions = _about(folder, model, [pixels for _, pixels in images])
        result = Result(
            predictions=tuple(predictions),
            model=str(source),
            run=str(folder.folder),
            distance=distance,
            positions=positions,
        )
        folder.keep(result)
        folder.seal(runs.environment())
        yield result


def _stem(name: str, names: tuple[str, ...]) -> str:
    """A file name for an image's picture; images of one name from several folders are numbered."""
    from pathlib import Path

    stem = Path(name).stem
    alike = [other for other in names if Path(other).stem == stem]
    return stem if len(alike) == 1 else f"{stem}-{alike.index(name) + 1}"


def _overlay(name: str, pixels: Any, attention: Any, path: Any) -> None:
    from vitruvius.render import figures
    from vitruvius.training import attention_pictures as looking

    figures.write_png(
        looking.overlay(name, pixels.tolist(), [(title, heat.tolist()) for title, heat in attention]), path
    )


def _about(folder: runs.Run, model: Any, images: list[Any]) -> tuple[str, str | None]:
    """The pictures about the model: mean attention distance, and similarity of positions where it has them."""
    from vitruvius.render import figures
    from vitruvius.training import attention_pictures as looking
    from vitruvius.training import predictor as trained

    distance, positions = folder.path("distance.png"), folder.path("positions.png")
    figures.write_png(looking.distance(trained.distances(model, images).tolist(), model.net.arch.image), distance)
    similarity = trained.position_similarity(model)
    if similarity is None:
        return str(distance), None
    figures.write_png(looking.positions(similarity.tolist()), positions)
    return str(distance), str(positions)
