"""What the page of a finished run shows, as blocks: the verdict first, then the picture, then the tables."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vitruvius.core import files, plugins, records
from vitruvius.core.blocks import Block, Heatmap, Table, Text
from vitruvius.core.errors import UserError
from vitruvius.doctor.results import Quoted
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.ranking import report as ranking_report
from vitruvius.ranking.evaluation import evaluations, verdicts
from vitruvius.ranking.results import Result as Ranked
from vitruvius.ranking.results import remarks
from vitruvius.searching import report as searching_report
from vitruvius.searching.results import Result as Searched
from vitruvius.training import card
from vitruvius.training.results import Readings
from vitruvius.training.results import Result as Trained
from vitruvius.web import library, live, markup


def plain(folder: Path, result: records.Result) -> list[Block]:
    """What the result itself shows."""
    return list(result.view())


def training(folder: Path, result: Trained) -> list[Block]:
    """Curves, confusion matrix, findings of the doctor and facts of a training."""
    blocks: list[Block] = [Text(text=result.about_test, style="note")]
    blocks += live.figures(folder, list(library.lines(folder)))
    matrix = confusion(folder)
    blocks += [matrix] if matrix else []
    found = [(f.severity, f.bug, f.where, f.evidence, f.fix) for f in result.findings]
    if found:
        columns = ("severity", "bug", "where", "evidence", "fix")
        blocks.append(Table(title="Findings of the doctor", columns=columns, rows=tuple(found)))
    return [*blocks, Text(text="Result", style="title"), facts(result)]


def pretraining(folder: Path, result: records.Result) -> list[Block]:
    """Curves and tables of a pretraining; its reconstructions are among the pictures."""
    return [*live.figures(folder, list(library.lines(folder))), *result.view()]


def search(folder: Path, result: Searched) -> list[Block]:
    """The recommended network, the front, and everything that was tried."""
    return searching_report.blocks(result)


def confusion(folder: Path) -> Heatmap | None:
    """How often test images of each class were classified as which, by the newest reading."""
    path = folder / "test.json"
    if not files.is_regular(path):
        return None
    readings = files.read_as(path, Readings).readings
    if not readings:
        return None
    counts = readings[-1].score.confusion
    if not counts:  # too many classes for a matrix
        return None
    return card.confusion(_classes(folder, len(counts)), counts)


def facts(result: records.Result) -> Table:
    """The fields of a result that are one value each, without those that it has not."""
    fields = result.model_dump(mode="json")
    rows = []
    for name, value in fields.items():
        if value not in (None, "") and not isinstance(value, list | dict):
            is_share = name.endswith("accuracy") and isinstance(value, float)
            rows.append((name.replace("_", " "), f"{value:.2%}" if is_share else cell(value)))
    return Table(columns=("result", ""), rows=tuple(rows))


def settings(verb: str, config: Mapping[str, Any]) -> tuple[Table, Table]:
    """The settings of a run that are not the defaults of its verb, and those that are."""
    defaults = _defaults(verb)
    given = {name: value for name, value in config.items() if value not in (None, "", [], {})}
    chosen = [name for name in given if name not in defaults or defaults[name] != given[name]]
    rest = [name for name in given if name not in chosen]
    return _settings_table(given, chosen), _settings_table(given, rest)


def _settings_table(config: Mapping[str, Any], names: Iterable[str]) -> Table:
    return Table(columns=("setting", ""), rows=tuple((name, cell(config[name])) for name in names))


def _defaults(verb: str) -> dict[str, Any]:
    """The settings that a verb has when none is given, as JSON has them; none of an unknown verb."""
    if verb not in plugins.members("verbs"):
        return {}
    made = getattr(plugins.module("verbs", verb), "Config", None)
    fields = made.model_fields.items() if made is not None else ()
    known = {name: field.get_default(call_default_factory=True) for name, field in fields}
    found: dict[str, Any] = json.loads(json.dumps(known, default=str))
    return found


def ranking(result: Ranked) -> dict[str, Any]:
    """A ranking as a table that can be sorted by every score, with a scatter for each."""
    column = next(iter(result.evaluation))
    known = [
        name for name in result.evaluation if any(row.accuracy[name] is not None for row in result.archs)
    ]
    told, about = list(result.evaluation.items()), list(remarks(result))
    said: list[Block] = [text for _, evaluation in told for text in verdicts(evaluation)]
    said += [text for text in about if text.style != "note"]
    said += [evaluations(result.accuracy_name(name), evaluation) for name, evaluation in told]
    said += [text for text in about if text.style == "note"]
    return {
        "said": markup.blocks(said),
        "scores": result.proxies,
        "figure": figure,
        "accuracies": [(name, result.accuracy_name(name)) for name in known],
        "sizes": _sizes(result),
        "rows": result.archs,
        "scatters": [
            (proxy, markup.plot(ranking_report.scatter(result, column, proxy))) for proxy in result.proxies
        ],
    }


def _sizes(result: Ranked) -> dict[str, list[float | None]]:
    """What the networks cost, as far as it is known and not a score, by the name of the column."""
    Column = list[float | None]
    params: Column = [] if "params" in result.proxies else [row.params for row in result.archs]
    peaks: Column = [None if row.peak_bytes is None else row.peak_bytes / 2**20 for row in result.archs]
    times: Column = [row.predicted_ms for row in result.archs]
    columns = {"parameters": params, "peak MiB": peaks, "predicted ms": times}
    return {name: found for name, found in columns.items() if any(one is not None for one in found)}


def figure(value: float) -> str:
    """A score as a cell of a table.

    >>> figure(1463946.0), figure(0.123456), figure(2e20)
    ('1,463,946', '0.1235', '2e+20')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def diagnosis(folder: Path, result: Diagnosis) -> dict[str, Any]:
    """The findings of the doctor with the source lines as they were."""
    quoted = {
        one.where: [(text.lstrip().startswith(">"), text) for text in one.source.splitlines()]
        for one in library.typed(folder, library.lines(folder), Quoted)
    }
    rest = [*result.remarks(), *(block for table in result.tables or () for block in table.view())]
    return {
        "findings": [(found, quoted.get(found.where, [])) for found in result.findings],
        "blocks": markup.blocks(rest),
    }


def _classes(folder: Path, count: int) -> list[str]:
    """The names of the classes, or their numbers where they are not known."""
    from vitruvius.training.predictor import SavedViT

    try:
        names = list(files.read_as(folder / "model.json", SavedViT).classes)
    except UserError:
        names = []
    return names if len(names) == count else [str(number) for number in range(count)]


def cell(value: Any) -> str | int | float | None:
    """A value of a settings file as a cell of a table."""
    if value is None or isinstance(value, str | int | float):
        return "yes" if value is True else "no" if value is False else value
    simple = isinstance(value, list) and all(isinstance(one, str | int | float) for one in value)
    return ", ".join(map(str, value)) if simple else json.dumps(value, ensure_ascii=False)
