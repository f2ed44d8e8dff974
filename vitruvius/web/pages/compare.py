"""Several trainings side by side: what differs in their settings, their curves, their confusion matrices."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vitruvius.core.blocks import Block, Lines, Series, Table, Text
from vitruvius.core.config import changed
from vitruvius.core.errors import UserError
from vitruvius.training.results import Epoch, epochs
from vitruvius.training.results import Result as Trained
from vitruvius.web import library, markup, shown_runs
from vitruvius.web.site import Site, get

MOST = 8
"""Runs that are compared at one time."""
CURVES = (
    ("Validation accuracy", "val_accuracy", "accuracy in %", 100.0),
    ("Validation loss", "val_loss", "mean cross-entropy", 1.0),
    ("Training loss", "train_loss", "mean cross-entropy", 1.0),
    ("Training accuracy", "train_accuracy", "accuracy in %", 100.0),
)
OUTCOME = {"test_accuracy": "test accuracy", "val_accuracy": "validation accuracy", "test_loss": "test loss"}
OUTCOME |= {"best_epoch": "best epoch", "epochs": "epochs", "params": "parameters", "seconds": "seconds"}
"""What came out of a training, and the column it stands in."""


def compare(site: Site, request: Request) -> Response:
    """Compare the trainings that the address names."""
    ids = list(dict.fromkeys(request.query_params.getlist("run")))
    if not 2 <= len(ids) <= MOST:
        raise UserError(f"2 to {MOST} trainings are compared, {len(ids)} were chosen")
    folders = [site.library.folder(id) for id in ids]
    strange = [folder.name for folder in folders if folder.parent.name != "train"]
    if strange:
        raise UserError(f"{', '.join(strange)}: only runs of train are compared")
    names = [folder.name for folder in folders]
    done = {name: epochs(library.lines(folder)) for name, folder in zip(names, folders, strict=True)}
    configs = {name: library.config(folder) for name, folder in zip(names, folders, strict=True)}
    results = {name: site.library.result(folder) for name, folder in zip(names, folders, strict=True)}
    return markup.page(
        "compare.html",
        "Comparison",
        "runs",
        verdict=verdict(results),
        runs=list(zip(ids, names, strict=True)),
        curves=markup.blocks(curves(done)),
        differing=markup.blocks(differing(configs)),
        results=markup.blocks([outcome(results)]),
        matrices=markup.blocks(_matrices(folders, names)),
    )


def verdict(results: dict[str, Any]) -> str:
    """Say which training is best, by test accuracy or, where not all were tested, by validation."""
    for field, words in (("test_accuracy", "test accuracy"), ("val_accuracy", "validation accuracy")):
        known = {name: getattr(result, field, None) for name, result in results.items()}
        values = {name: value for name, value in known.items() if value is not None}
        if len(values) == len(known):
            ordered = sorted(values, key=lambda name: values[name], reverse=True)
            first, second = ordered[0], ordered[1]
            ahead = 100 * (values[first] - values[second])
            if ahead == 0:
                return f"{first} and {second} have the same {words}, {values[first]:.2%}."
            return f"{first} is ahead with {values[first]:.2%} {words}, {ahead:.2f} points before {second}."
    return "Not all of them have ended: their curves can be compared."


def curves(done: Mapping[str, Sequence[Epoch]]) -> list[Block]:
    """One plot per quantity with a curve per run."""
    plots: list[Block] = []
    for title, field, label, scale in CURVES:
        series = []
        for name, found in done.items():
            values = {epoch.epoch: getattr(epoch, field) for epoch in found}
            known = {epoch: scale * value for epoch, value in values.items() if value is not None}
            if known:
                series.append(Series(name=name, x=tuple(known), y=tuple(known.values())))
        if series:
            plots.append(Lines(title=title, series=tuple(series), x_label="epoch", y_label=label))
    return plots


def differing(configs: dict[str, dict[str, Any]]) -> list[Block]:
    """The settings in which the runs differ, one column per run."""
    first, *others = configs.values()
    fields = dict.fromkeys(field for other in others for field in changed(first, other))
    if not fields:
        return [Text(text="All settings are the same.")]
    rows = ((field, *(shown_runs.cell(one.get(field)) for one in configs.values())) for field in fields)
    return [Table(columns=("setting", *configs), rows=tuple(rows))]


def outcome(results: dict[str, Any]) -> Table:
    """What came out of each run."""
    rows = []
    for name, result in results.items():
        values = [getattr(result, field) if isinstance(result, Trained) else None for field in OUTCOME]
        percent = [None if value is None else f"{value:.2%}" for value in values[:2]]
        rows.append((name, *percent, *values[2:]))
    return Table(columns=("run", *OUTCOME.values()), rows=tuple(rows))


def _matrices(folders: Sequence[Path], names: Sequence[str]) -> list[Block]:
    """The confusion matrices under the names of their runs."""
    blocks: list[Block] = []
    for folder, name in zip(folders, names, strict=True):
        figure = shown_runs.confusion(folder)
        if figure is not None:
            blocks.append(figure.model_copy(update={"title": f"{name}: {figure.title}"}))
    return blocks


ROUTES = (get("/compare", compare),)
