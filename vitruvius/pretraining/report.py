"""What a pretraining looks like: curves, angles, reconstructions, certificates, and what the latent size did."""

import csv as comma_separated
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vitruvius.core.blocks import Block, Figure, Lines, Panels, Pictures, Series, Table, Text
from vitruvius.pretraining.latents import answer, kinds, listed

Fields = Mapping[str, Any]


def curves(lines: Iterable[Fields]) -> dict[str, Figure]:
    """Validation loss and probe accuracy against the epoch: a panel per objective, a curve per latent size."""
    epochs = [line for line in lines if line["kind"] == "points"]
    shown = {
        "loss": ("val_loss", "Validation loss", 1.0),
        "accuracy": ("accuracy", "Probe accuracy in %", 100.0),
    }
    found: dict[str, Figure] = {}
    for name, (field, label, scale) in shown.items():
        panels = []
        for objective, latents in kinds(epochs[0]["points"]).items():
            series = [curve(epochs, field, objective, latent, scale) for latent in latents]
            series = [one for one in series if one.y]
            if series:
                panels.append(Lines(title=objective, series=tuple(series), x_label="epoch", y_label=label))
        if panels:
            title = f"{label} by latent size: mean and range over the repeats"
            found[name] = Panels(title=title, figures=tuple(panels), columns=1)
    return found


def curve(epochs: Sequence[Fields], field: str, objective: str, latent: int, scale: float) -> Series:
    """One latent size: the mean over the repeats after every epoch, in a band from the smallest to the largest."""
    x, mean, low, high = [], [], [], []
    for epoch in epochs:
        points = [p for p in epoch["points"] if p["objective"] == objective and p["latent"] == latent]
        values = [scale * p[field] for p in points if p[field] is not None]
        if values:
            x.append(epoch["epoch"])
            mean.append(sum(values) / len(values))
            low.append(min(values))
            high.append(max(values))
    return Series(name=f"latent {latent}", x=tuple(x), y=tuple(mean), low=tuple(low), high=tuple(high))


def angles(certificates: Sequence[Fields]) -> dict[str, Figure]:
    """Principal angles between each learned subspace and that of PCA, for the first repeat."""
    panels = []
    for objective in dict.fromkeys(c["objective"] for c in certificates):
        series = [
            Series(
                name=f"latent {c['latent']} (eigengap {c['eigengap']:.1%})",
                x=tuple(range(1, len(c["angles"]) + 1)),
                y=tuple(c["angles"]),
            )
            for c in certificates
            if c["objective"] == objective and c["repeat"] == 0 and c["angles"]
        ]
        if series:
            panels.append(
                Lines(title=objective, series=tuple(series), x_label="number of the angle", y_label="degrees")
            )
    title = (
        "Principal angles between the learned subspace and PCA; where the eigengap is small they mean little"
    )
    return {"angles": Panels(title=title, figures=tuple(panels), columns=1)} if panels else {}


def reconstructions(rows: Sequence[tuple[str, Sequence[Any]]]) -> Pictures:
    """Inputs, what is seen of them, and what comes back."""
    return Pictures(
        title="Input, what the model sees in training, and its answer",
        rows=tuple(name for name, _ in rows),
        columns=(),
        pixels=tuple(tuple(images) for _, images in rows),
    )


def summary(result: Fields) -> Iterable[Block]:
    """The outcomes and certificates of a run, for a screen."""
    yield _outcome_table(result)
    if result["certificates"]:
        yield _certificate_table(result["certificates"])
        yield from _verdicts(result["certificates"])
        yield from _penalised_tables(result["certificates"], most=10)
    yield Text(
        text=f"{result['epochs']} epochs, {result['seconds']:.0f} s; run: {result['run']}", style="note"
    )


def report(result: Fields, config: Fields, figures: Mapping[str, Figure]) -> list[Block]:
    """The page of a run: what the latent size did and why, the pictures, the certificates, the recipe."""
    blocks: list[Block] = [_outcome_table(result), *answer(result, config)]
    blocks += [figures[name] for name in ("loss", "accuracy", "reconstructions") if name in figures]
    if result["certificates"]:
        blocks.append(Text(text="Against the best linear autoencoder", style="title"))
        blocks += [_certificate_table(result["certificates"]), *_verdicts(result["certificates"])]
        blocks += _penalised_tables(result["certificates"])
        blocks += [figures["angles"]] if "angles" in figures else []
    return [*blocks, Text(text="Recipe", style="title"), _recipe(config)]


def card(result: Fields, config: Fields) -> list[Block]:
    """The model card: what the weights are, what they were trained on, how to use them."""
    use = "`vitruvius probe RUN` compares its features with raw pixels, PCA and the same encoder untrained"
    if config["model"] == "vit":
        use += "; `vitruvius train --init RUN` fine-tunes it"
    kept = "the ViT encoder" if config["model"] == "vit" else "every autoencoder, its name before each key"
    return [
        Text(text=f"Pretrained on {result['data']} without labels", style="title"),
        Text(text=f"model.safetensors holds {kept}, after the last epoch. {use}."),
        _outcome_table(result),
        Text(text="Recipe", style="title"),
        _recipe(config),
    ]


def csv(lines: Iterable[Fields]) -> str:
    """Every autoencoder after every epoch, one row each; the training loss is the mean over the epoch's steps."""
    text = io.StringIO()
    writer = comma_separated.writer(text, lineterminator="\n")
    writer.writerow(["epoch", "objective", "latent", "repeat", "train_loss", "val_loss", "accuracy"])
    for line in lines:
        for point in line["points"] if line["kind"] == "points" else ():
            steps = point["train_losses"]
            loss = sum(steps) / len(steps) if steps else None
            kind = [point[key] for key in ("objective", "latent", "repeat")]
            writer.writerow([line["epoch"], *kind, loss, point["val_loss"], point["accuracy"]])
    return text.getvalue()


def _outcome_table(result: Fields) -> Table:
    probed = any(row["accuracy"] is not None for row in result["outcomes"])
    columns = ("objective", "latent", "validation loss", "lowest", "highest")
    rows = []
    for row in result["outcomes"]:
        low, high = row["val_loss_range"] or (None, None)
        cells = (row["objective"], row["latent"], row["val_loss"], low, high)
        least, most = row["accuracy_range"] or (None, None)
        more = (_percent(row["accuracy_before"]), _percent(row["accuracy"]), _percent(least), _percent(most))
        rows.append(cells + (more if probed else ()))
    more_columns = ("probe before", "probe after", "least", "most") if probed else ()
    note = f"loss: {result['loss']}; probe: {result['probe']}"
    return Table(columns=columns + more_columns, rows=tuple(rows), note=note)


def _certificate_table(certificates: Sequence[Fields]) -> Table:
    """The worst repeat of each kind."""
    rows = []
    for objective, latents in kinds(certificates).items():
        for latent in latents:
            found = [c for c in certificates if (c["objective"], c["latent"]) == (objective, latent)]
            worst = max(found, key=lambda c: c["gap"])
            angle = max((max(c["angles"]) for c in found if c["angles"]), default=None)
            eigengap = None if worst["eigengap"] is None else f"{worst['eigengap']:.1%}"
            losses = (
                worst["loss"],
                worst["optimum"],
                f"{worst['gap']:.2%}",
                worst["val_loss"],
                worst["val_optimum"],
            )
            rows.append((objective, latent, *losses, angle, eigengap))
    return Table(
        title="Linear autoencoders against PCA (the repeat with the largest gap)",
        columns=(
            *("objective", "latent", "training loss", "PCA", "gap", "validation loss", "PCA there"),
            *("largest angle (degrees)", "eigengap"),
        ),
        rows=tuple(rows),
        note="biases are free, so PCA is that of the centred training samples; the gap is relative to its loss, or to "
        "the total variance where that is 0; with a penalty it is that of the penalised objective; angles mean nothing "
        "where the eigengap is small",
    )


def _verdicts(certificates: Sequence[Fields]) -> Iterable[Block]:
    """Which trainings have not converged, in a sentence."""
    judged = [c for c in certificates if c["converged"] is not None]
    slow = [c for c in judged if not c["converged"]]
    if slow:
        names = listed([f"latent {c['latent']} (repeat {c['repeat']}): {c['gap']:.2%}" for c in slow])
        cure = (
            "More epochs would lower it"
            if max(c["gap"] for c in slow) < 1
            else "Try a smaller --lr or more epochs"
        )
        text = f"Not converged, more than 0.5 % above the optimum: reconstruct, {names}. {cure}."
        yield Text(text=text, style="warning")
    elif judged:
        yield Text(text="All trainings of reconstruct are within 0.5 % of the optimum.", style="good")
    if len(judged) < len(certificates):
        text = "The others minimise another error (of corrupted or shifted inputs, or with a penalty that has no closed "
        text += "form here); their gap to PCA is what they pay for it."
        yield Text(text=text, style="note")


def _penalised_tables(certificates: Sequence[Fields], most: int | None = None) -> list[Table]:
    """Trained singular values beside the closed form, for the first repeat; the largest ones where they are many."""
    tables = []
    for c in certificates:
        found = c["penalised"]
        if found is None or c["repeat"]:
            continue
        rows = zip(found["closed_form"], found["encoder"], found["decoder"], strict=False)
        tables.append(
            Table(
                title=f"Singular values at latent {c['latent']}: the penalised objective is {found['objective']:.6g}, "
                f"its closed-form optimum {found['optimum']:.6g}",
                columns=("", "closed form", "encoder", "decoder"),
                rows=tuple((place, *row) for place, row in enumerate(rows, 1))[:most],
            )
        )
    return tables


def _recipe(config: Fields) -> Table:
    rows = tuple(
        (key, value if isinstance(value, str | int | float | None) else listed(value))
        for key, value in config.items()
    )
    return Table(columns=("setting", ""), rows=rows)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"
