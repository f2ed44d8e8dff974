"""What a pretraining comes to, without its models: the repeats of each kind together, and certificates."""

from collections.abc import Iterator
from typing import Any

from vitruvius.core.config import Strict


class Outcome(Strict):
    """The repeats of one objective and latent size: means and ranges over them."""

    objective: str
    latent: int
    val_loss: float | None
    val_loss_range: tuple[float, float] | None
    accuracy_before: float | None
    """The probe's, before training."""
    accuracy: float | None
    accuracy_range: tuple[float, float] | None


class Penalised(Strict):
    """A penalised linear autoencoder beside its closed form."""

    objective: float
    optimum: float
    encoder: tuple[float, ...]
    """Trained singular values, largest first."""
    decoder: tuple[float, ...]
    closed_form: tuple[float, ...]


class Certificate(Strict):
    """How near a trained linear autoencoder is to what no linear autoencoder can beat, on the training samples."""

    objective: str
    latent: int
    repeat: int
    loss: float
    optimum: float
    """The squared error of PCA."""
    gap: float
    """Of the loss, or with a penalty of the objective, above the optimum: relative to it, or to the variance at 0."""
    val_loss: float | None
    val_optimum: float | None
    """The squared error of the same PCA on the validation samples."""
    angles: tuple[float, ...]
    """Principal angles in degrees between the decoder's columns and the first eigenvectors, smallest first."""
    eigengap: float | None
    """How much smaller the first eigenvalue left out is, relatively; near 0 the angles mean nothing."""
    converged: bool | None
    """None where this is not the optimum of what was minimised."""
    penalised: Penalised | None = None


def outcomes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[Outcome]:
    """One outcome for each kind of autoencoder, from the points before training and after the last epoch."""
    objectives = list(dict.fromkeys(point["objective"] for point in after))
    kinds = {(objectives.index(point["objective"]), point["latent"]) for point in after}
    for place, latent in sorted(kinds):
        kind = (objectives[place], latent)
        starts = _known("accuracy", before, kind)
        losses, ends = _known("val_loss", after, kind), _known("accuracy", after, kind)
        yield Outcome(
            objective=objectives[place],
            latent=latent,
            val_loss=_mean(losses),
            val_loss_range=(min(losses), max(losses)) if losses else None,
            accuracy_before=_mean(starts),
            accuracy=_mean(ends),
            accuracy_range=(min(ends), max(ends)) if ends else None,
        )


def loss_in_words(config: dict[str, Any]) -> str:
    """What the validation losses of a run are."""
    if config["model"] == "vit" and config["objective"] == ["mask"]:
        of = "normalised " if config["normalise"] else ""
        masked = f"{config['mask']:.0%} of the patches masked"
        return f"squared error per pixel, mean over the {config['counted']} {of}patches with {masked}"
    words = "squared error of clean inputs, summed over the entries of a sample, mean over samples"
    words += f"; in training mask counts {config['counted']} entries" if "mask" in config["objective"] else ""
    return words + (
        "; of your own objectives their own value" if any(".py:" in o for o in config["objective"]) else ""
    )


def _known(field: str, points: list[dict[str, Any]], kind: tuple[str, int]) -> list[float]:
    found = [point[field] for point in points if (point["objective"], point["latent"]) == kind]
    return [value for value in found if value is not None]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
