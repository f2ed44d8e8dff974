"""Classify pictures of a person by name, and draw what the network attends to."""

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.core.runs import RunFolder
from vitruvius.nn import attention_maps
from vitruvius.render import figures
from vitruvius.training import predictor, report
from vitruvius.training.predictions import Guess
from vitruvius.training.predictor import Predictor


def read(names: Iterable[str], model: Predictor) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the images; return those that could be read, and why the others could not, both by name."""
    images: dict[str, Tensor] = {}
    failed: dict[str, str] = {}
    for name in names:
        try:
            images[name] = predictor.read_picture(name, model)
        except UserError as error:
            failed[name] = str(error).removeprefix(f"{name}: ")
    return images, failed


def guesses(model: Predictor, images: dict[str, Tensor], top: int) -> dict[str, tuple[Guess, ...]]:
    """Return the most probable classes of each image."""
    found = zip(images, predictor.classify(model, list(images.values()), top), strict=True)
    return {
        name: tuple(Guess(name=label, probability=chance) for label, chance in classes)
        for name, classes in found
    }


def draw_overlay(name: str, best: Guess, model: Predictor, pixels: Tensor, picture: Path) -> None:
    """Draw an image under its attention maps; the title names the predicted class."""
    heats = [(title, heat.tolist()) for title, heat in predictor.heat_maps(model, pixels)]
    said = f"{name}: {best.name}, {best.probability:.0%}"
    figures.write_png(report.attention_overlay(said, pixels.tolist(), heats), picture)


def draw_model(folder: RunFolder, model: Predictor, images: list[Tensor]) -> dict[str, str | None]:
    """Draw mean attention distances and, if the model has positions, their similarity; return both paths."""
    distance, positions = folder.path("distance.png"), folder.path("positions.png")
    found = predictor.distances(model, images).tolist()
    figures.write_png(report.attention_distance(found, model.net.arch.image), distance)
    if model.net.positions is None:
        return {"distance": str(distance), "positions": None}
    similarity = attention_maps.position_similarity(model.net).tolist()
    figures.write_png(report.position_similarity(similarity), positions)
    return {"distance": str(distance), "positions": str(positions)}
