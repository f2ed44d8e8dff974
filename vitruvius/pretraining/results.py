"""What pretraining and probing find, as typed records. No torch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vitruvius.core import records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.datasets import Fit


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
        yield losses_table(self)
        if self.certificates:
            yield certificate_table(self.certificates)
            yield from convergence(self.certificates)
            yield from penalised_tables(self.certificates, most=10)
        yield Text(
            text=f"{counted(self.epochs, 'epoch')}, {self.seconds:.0f} s; run: {self.run}", style="note"
        )


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
    fit: Fit = "squash"
    """How pictures were made square; runs of versions that did not record it squashed them."""


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
    seconds: float | None = None
    """Of the whole run; None in those of versions that did not record it."""
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
    found = [line for line in lines if line.get("kind") == "points"]
    return [Points(epoch=line.get("epoch"), points=line.get("points")) for line in found]


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
    """Return the mean; None of an empty list."""
    return sum(values) / len(values) if values else None


def losses_table(result: Result) -> Table:
    probed = any(one.accuracy is not None for one in result.outcomes)
    columns = ("objective", "latent", "validation loss", "lowest", "highest")
    rows = []
    for one in result.outcomes:
        cells = (one.objective, one.latent, one.val_loss, *(one.val_loss_range or (None, None)))
        accuracies = (one.accuracy_before, one.accuracy, *(one.accuracy_range or (None, None)))
        percent = tuple(None if value is None else f"{value:.1%}" for value in accuracies)
        rows.append(cells + (percent if probed else ()))
    more_columns = ("probe before", "probe after", "least", "most") if probed else ()
    note = f"loss: {result.loss}; probe: {result.probe}"
    return Table(columns=columns + more_columns, rows=tuple(rows), note=note)


def certificate_table(certificates: Sequence[Certificate]) -> Table:
    """Show the repeat with the largest gap of each kind."""
    rows = []
    for objective, latents in kinds(certificates).items():
        for latent in latents:
            found = [c for c in certificates if (c.objective, c.latent) == (objective, latent)]
            worst = max(found, key=lambda c: c.gap)
            angle = max((max(c.angles) for c in found if c.angles), default=None)
            eigengap = None if worst.eigengap is None else f"{worst.eigengap:.1%}"
            losses = (worst.loss, worst.optimum, f"{worst.gap:.2%}", worst.val_loss, worst.val_optimum)
            rows.append((objective, latent, *losses, angle, eigengap))
    columns = ("objective", "latent", "training loss", "PCA", "gap", "validation loss", "PCA there")
    return Table(
        title="Linear autoencoders against PCA (the repeat with the largest gap)",
        columns=(*columns, "largest angle (degrees)", "eigengap"),
        rows=tuple(rows),
        note="biases are free, so PCA is that of the centred training samples; the gap is relative to its "
        "loss, or to the total variance where that is 0; with a penalty it is that of the penalised "
        "objective; angles mean nothing where the eigengap is small",
    )


def convergence(certificates: Sequence[Certificate]) -> Iterable[Block]:
    """Name the trainings that have not converged."""
    known = [c for c in certificates if c.converged is not None]
    slow = [c for c in known if not c.converged]
    if slow:
        names = ", ".join(f"latent {c.latent} (repeat {c.repeat}): {c.gap:.2%}" for c in slow)
        diverged = max(c.gap for c in slow) >= 1
        cure = "Try a smaller --lr or more epochs" if diverged else "More epochs would lower it"
        text = f"Not converged, more than 0.5 % above the optimum: reconstruct, {names}. {cure}."
        yield Text(text=text, style="warning")
    elif known:
        yield Text(text="All trainings of reconstruct are within 0.5 % of the optimum.", style="good")
    if len(known) < len(certificates):
        text = "The others minimise another error (of corrupted or shifted inputs, or with a penalty"
        text += " that has no closed form here); their gap to PCA is what they pay for it."
        yield Text(text=text, style="note")


def penalised_tables(certificates: Sequence[Certificate], most: int | None = None) -> list[Table]:
    """Show trained singular values beside the closed form, for the first repeat, at most so many."""
    tables = []
    for c in certificates:
        found = c.penalised
        if found is None or c.repeat:
            continue
        rows = zip(found.closed_form, found.encoder, found.decoder, strict=False)
        numbered = tuple((number, *row) for number, row in enumerate(rows, 1))[:most]
        title = f"Singular values at latent {c.latent}: the penalised objective is {found.objective:.6g}"
        title += f", its closed-form optimum {found.optimum:.6g}"
        columns = ("", "closed form", "encoder", "decoder")
        tables.append(Table(title=title, columns=columns, rows=numbered))
    return tables
