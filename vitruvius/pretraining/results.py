"""What pretraining and probing find, as typed records. No torch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vitruvius.core import records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict


class Point(Strict):
    """Measurements of one autoencoder after one epoch."""

    objective: str
    latent: int
    repeat: int
    val_loss: float | None
    accuracy: float | None
    """Of the probe; None without labels."""
    train_losses: tuple[float, ...]
    """One per optimiser step of this epoch."""


class Points(records.Record):
    """Measurements of all autoencoders after an epoch; epoch 0 is before training."""

    epoch: int
    points: tuple[Point, ...]

    def view(self) -> Iterable[Block]:
        for objective, latents in kinds(self.points).items():
            parts = []
            for latent in latents:
                loss = mean(self.values("val_loss", objective, latent))
                accuracy = mean(self.values("accuracy", objective, latent))
                shown = "" if loss is None else f" loss {loss:.4g}"
                parts.append(f"{latent}:{shown}" + ("" if accuracy is None else f" probe {accuracy:.1%}"))
            yield Text(text=f"epoch {self.epoch:>3}  {objective:<11}  {'  '.join(parts)}")

    def values(self, field: str, objective: str, latent: int) -> list[float]:
        """Return a field of all repeats of one kind of autoencoder, where it is known."""
        found = [getattr(p, field) for p in self.points if (p.objective, p.latent) == (objective, latent)]
        return [value for value in found if value is not None]


class RepeatSummary(Strict):
    """Means and ranges over the repeats of one objective and latent size."""

    objective: str
    latent: int
    val_loss: float | None
    val_loss_range: tuple[float, float] | None
    accuracy_before: float | None
    """Probe accuracy before training."""
    accuracy: float | None
    accuracy_range: tuple[float, float] | None


class Penalised(Strict):
    """A linear autoencoder trained with an L2 penalty, beside its closed-form optimum."""

    objective: float
    optimum: float
    encoder: tuple[float, ...]
    """Singular values of the trained encoder, largest first."""
    decoder: tuple[float, ...]
    closed_form: tuple[float, ...]


class Certificate(Strict):
    """The training loss of a linear autoencoder compared with PCA, which no linear autoencoder can beat."""

    objective: str
    latent: int
    repeat: int
    loss: float
    optimum: float
    """The squared error of PCA."""
    gap: float
    """Relative excess of the loss, or with a penalty of the objective, over the optimum; where the optimum is
    0, relative to the total variance."""
    val_loss: float | None
    val_optimum: float | None
    """The squared error of the same PCA on the validation samples."""
    angles: tuple[float, ...]
    """Principal angles in degrees between decoder columns and first eigenvectors, smallest first."""
    eigengap: float | None
    """Relative drop from the last eigenvalue kept to the first left out; near 0 the angles mean nothing."""
    converged: bool | None
    """None where the training minimised something else than the loss compared here."""
    penalised: Penalised | None = None


class Result(records.Result):
    """A pretrained grid: every kind of autoencoder, and how near linear ones are to the optimum."""

    outcomes: tuple[RepeatSummary, ...]
    certificates: tuple[Certificate, ...]
    """Of linear autoencoders."""
    features: int
    """Entries of a sample."""
    variance: float
    """Of the training samples, summed over entries."""
    loss: str
    """What the losses measure, in words."""
    probe: str
    """The probe's protocol, in words."""
    epochs: int
    seconds: float
    seed: int
    data: str
    run: str
    inexact: bool

    def view(self) -> Iterable[Block]:
        from vitruvius.pretraining import report

        return report.summary(self)


class SavedAutoencoder(Strict):
    """One autoencoder of a grid in model.json: the prefix of its weights, and the seed it was built from."""

    objective: str
    latent: int
    repeat: int
    name: str
    seed: int


class SavedGrid(Strict):
    """The model.json of a run of fully connected autoencoders."""

    model: str
    features: int
    activation: str
    hidden: tuple[int, ...]
    cells: tuple[SavedAutoencoder, ...]
    data: str
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]


class FeatureScore(Strict):
    """Probe accuracy of one kind of features over the draws of labels."""

    features: str
    size: int
    mean: float
    spread: float
    """Standard deviation over the draws; 0 with one."""
    low: float
    high: float
    accuracies: tuple[float, ...]
    gradient: float | None
    """The largest gradient norm at which lbfgs stopped."""


class ProbeResult(records.Result):
    """Probe accuracies of all kinds of features, and the protocol they were measured by."""

    rows: tuple[FeatureScore, ...]
    protocol: str
    data: str
    labels: int
    draws: int
    run: str

    def view(self) -> Iterable[Block]:
        rows = []
        for row in self.rows:
            percent = (f"{value:.2%}" for value in (row.mean, row.spread, row.low, row.high))
            rows.append((row.features, row.size, *percent))
        columns = ("features", "size", "accuracy", "spread", "lowest", "highest")
        yield Table(columns=columns, rows=tuple(rows), note=f"{self.data}: {self.protocol}")
        slow = [row.features for row in self.rows if row.gradient is not None and row.gradient > 1e-6]
        if slow:
            text = f"not at the optimum (gradient norm above 1e-6): {', '.join(slow)}"
            yield Text(text=text, style="warning")


def read_points(lines: Iterable[dict[str, Any]]) -> list[Points]:
    """Parse the measurements among the lines of a run's records.jsonl."""
    return [Points(epoch=line["epoch"], points=line["points"]) for line in lines if line["kind"] == "points"]


def kinds(of: Sequence[Point] | Sequence[RepeatSummary] | Sequence[Certificate]) -> dict[str, list[int]]:
    """Return the latent sizes of each objective, smallest first."""
    found: dict[str, set[int]] = {}
    for one in of:
        found.setdefault(one.objective, set()).add(one.latent)
    return {objective: sorted(latents) for objective, latents in found.items()}


def summarise(before: Points, after: Points) -> Iterator[RepeatSummary]:
    """Summarise each kind of autoencoder from the measurements before training and after it."""
    for objective, latents in kinds(after.points).items():
        for latent in latents:
            losses = after.values("val_loss", objective, latent)
            accuracies = after.values("accuracy", objective, latent)
            yield RepeatSummary(
                objective=objective,
                latent=latent,
                val_loss=mean(losses),
                val_loss_range=(min(losses), max(losses)) if losses else None,
                accuracy_before=mean(before.values("accuracy", objective, latent)),
                accuracy=mean(accuracies),
                accuracy_range=(min(accuracies), max(accuracies)) if accuracies else None,
            )


def mean(values: list[float]) -> float | None:
    """Return the mean, None of nothing."""
    return sum(values) / len(values) if values else None
