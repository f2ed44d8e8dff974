"""The report of a pretraining: curves, angles, reconstructions, certificates, effect of the latent size."""

from collections.abc import Mapping, Sequence
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Bars, Block, Figure, Lines, Panels, Pictures, Series, Text
from vitruvius.core.counted import counted
from vitruvius.core.runs import RunFolder
from vitruvius.pretraining.latent_size import answer
from vitruvius.pretraining.results import (
    Certificate,
    Points,
    ProbeResult,
    Result,
    certificate_table,
    convergence,
    kinds,
    losses_table,
    mean,
    penalised_tables,
)
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
    title = f"Probe accuracy on {result.data} with {counted(result.labels, 'label')}"
    names, values = zip(*((row.features, round(100 * row.mean, 2)) for row in result.rows), strict=True)
    return Bars(title=title, names=names, values=values, y_label="%")


def report(result: Result, config: Pretraining, figures: Mapping[str, Figure]) -> list[Block]:
    """Return the page of a run: effect of the latent size, pictures, certificates, recipe."""
    blocks: list[Block] = [losses_table(result), *answer(result, config.model == "linear")]
    blocks += [figures[name] for name in ("loss", "accuracy", "reconstructions") if name in figures]
    if result.certificates:
        blocks.append(Text(text="Against the best linear autoencoder", style="title"))
        blocks += [certificate_table(result.certificates), *convergence(result.certificates)]
        blocks += penalised_tables(result.certificates)
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
        losses_table(result),
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
