"""The report of a pretraining: curves, angles, reconstructions, certificates, effect of the latent size."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Bars, Block, Figure, Lines, Panels, Pictures, Series, Table, Text
from vitruvius.core.runs import RunFolder
from vitruvius.pretraining.latent_size import answer, listed
from vitruvius.pretraining.results import Certificate, Points, ProbeResult, Result, kinds, mean
from vitruvius.pretraining.settings import Pretraining
from vitruvius.render import figures, page, text
from vitruvius.training.report import recipe

Rows = Sequence[tuple[str, Sequence[Any]]]  # images in rows: the name of each row and its pixels


def write(
    folder: RunFolder, result: Result, config: Pretraining, epochs: Sequence[Points], pictures: Rows
) -> None:
    """Write the pictures, report.html and the model card of a run."""
    plots = curves(epochs) | angles(result.certificates)
    if pictures:
        plots["reconstructions"] = reconstructions(pictures)
    for name, figure in plots.items():
        figures.write_png(figure, folder.path(f"{name}.png"))
    blocks = report(result, config, plots)
    files.write(folder.path("report.html"), page.page(f"Pretraining on {result.data}", blocks))
    files.write(folder.path("README.md"), text.markdown(card(result, config)))


def curves(epochs: Sequence[Points]) -> dict[str, Figure]:
    """Plot validation loss and probe accuracy by epoch: a panel per objective, a curve per latent size."""
    found: dict[str, Figure] = {}
    loss = ("loss", "val_loss", "Validation loss", 1.0)
    for name, field, label, scale in (loss, ("accuracy", "accuracy", "Probe accuracy in %", 100.0)):
        panels = []
        for objective, latents in kinds(epochs[0].points).items():
            series = [curve(epochs, field, objective, latent, scale) for latent in latents]
            drawn = tuple(one for one in series if one.y)
            if drawn:
                panels.append(Lines(title=objective, series=drawn, x_label="epoch", y_label=label))
        if panels:
            title = f"{label} by latent size: mean and range over the repeats"
            found[name] = Panels(title=title, figures=tuple(panels), columns=1)
    return found


def curve(epochs: Sequence[Points], field: str, objective: str, latent: int, scale: float) -> Series:
    """Return the mean over the repeats after every epoch, in a band from the smallest to the largest."""
    values = {epoch.epoch: epoch.values(field, objective, latent) for epoch in epochs}
    known = {epoch: [scale * value for value in found] for epoch, found in values.items() if found}
    means = tuple(sum(found) / len(found) for found in known.values())
    band = {"low": tuple(map(min, known.values())), "high": tuple(map(max, known.values()))}
    return Series(name=f"latent {latent}", x=tuple(known), y=means, **band)


def angles(certificates: Sequence[Certificate]) -> dict[str, Figure]:
    """Plot the principal angles between each learned subspace and that of PCA, for the first repeat."""
    panels = []
    for objective in kinds(certificates):
        series = []
        for c in certificates:
            if c.objective == objective and c.repeat == 0 and c.angles:
                name, numbers = f"latent {c.latent} (eigengap {c.eigengap:.1%})", range(1, len(c.angles) + 1)
                series.append(Series(name=name, x=tuple(numbers), y=c.angles))
        if series:
            labels = {"x_label": "number of the angle", "y_label": "degrees"}
            panels.append(Lines(title=objective, series=tuple(series), **labels))
    title = "Principal angles between the learned subspace and PCA"
    title += "; where the eigengap is small they mean little"
    return {"angles": Panels(title=title, figures=tuple(panels), columns=1)} if panels else {}


def reconstructions(rows: Rows) -> Pictures:
    """Show inputs, what the model sees of them, and its output."""
    names, pixels = tuple(name for name, _ in rows), tuple(tuple(images) for _, images in rows)
    title = "Input, what the model sees in training, and its answer"
    return Pictures(title=title, rows=names, columns=(), pixels=pixels)


def probe_bars(result: ProbeResult) -> Bars:
    """Plot the probe accuracy of each kind of features."""
    title = f"Probe accuracy on {result.data} with {result.labels:,} labels"
    names, values = zip(*((row.features, round(100 * row.mean, 2)) for row in result.rows), strict=True)
    return Bars(title=title, names=names, values=values, y_label="%")


def summary(result: Result) -> Iterable[Block]:
    """Show the losses, accuracies and certificates of a run on a screen."""
    yield _losses_table(result)
    if result.certificates:
        yield _certificate_table(result.certificates)
        yield from _verdicts(result.certificates)
        yield from _penalised_tables(result.certificates, most=10)
    yield Text(text=f"{result.epochs} epochs, {result.seconds:.0f} s; run: {result.run}", style="note")


def report(result: Result, config: Pretraining, figures: Mapping[str, Figure]) -> list[Block]:
    """Return the page of a run: effect of the latent size, pictures, certificates, recipe."""
    blocks: list[Block] = [_losses_table(result), *answer(result, config.model == "linear")]
    blocks += [figures[name] for name in ("loss", "accuracy", "reconstructions") if name in figures]
    if result.certificates:
        blocks.append(Text(text="Against the best linear autoencoder", style="title"))
        blocks += [_certificate_table(result.certificates), *_verdicts(result.certificates)]
        blocks += _penalised_tables(result.certificates)
        blocks += [figures["angles"]] if "angles" in figures else []
    return [*blocks, Text(text="Recipe", style="title"), recipe(config)]


def card(result: Result, config: Pretraining) -> list[Block]:
    """Return the model card: what the weights are, what they were trained on, how to use them."""
    use = "`vitruvius probe RUN` compares its features with raw pixels, PCA and the same encoder untrained"
    if config.model == "vit":
        use += "; `vitruvius train --init RUN` fine-tunes it"
    kept = "the ViT encoder" if config.model == "vit" else "every autoencoder, its name before each key"
    return [
        Text(text=f"Pretrained on {result.data} without labels", style="title"),
        Text(text=f"model.safetensors holds {kept}, after the last epoch. {use}."),
        _losses_table(result),
        Text(text="Recipe", style="title"),
        recipe(config),
    ]


def log_csv(epochs: Sequence[Points]) -> str:
    """Write one row per autoencoder and epoch; the training loss is the mean over the epoch's steps."""
    rows = []
    for epoch in epochs:
        for point in epoch.points:
            row = {"epoch": epoch.epoch, **point.model_dump(include={"objective", "latent", "repeat"})}
            row |= {"train_loss": mean(list(point.train_losses)), "val_loss": point.val_loss}
            rows.append(row | {"accuracy": point.accuracy})
    return files.csv_text(rows)


def _losses_table(result: Result) -> Table:
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


def _certificate_table(certificates: Sequence[Certificate]) -> Table:
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


def _verdicts(certificates: Sequence[Certificate]) -> Iterable[Block]:
    """Name the trainings that have not converged."""
    known = [c for c in certificates if c.converged is not None]
    slow = [c for c in known if not c.converged]
    if slow:
        names = listed(f"latent {c.latent} (repeat {c.repeat}): {c.gap:.2%}" for c in slow)
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


def _penalised_tables(certificates: Sequence[Certificate], most: int | None = None) -> list[Table]:
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
