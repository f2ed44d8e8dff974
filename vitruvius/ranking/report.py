"""What people see of a ranking: tables and verdicts for the terminal, scores.csv, scatters and the page."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vitruvius.arch.arch import Arch
from vitruvius.core import files, plugins
from vitruvius.core.blocks import Block, Panels, Scatter, Table, Text
from vitruvius.core.counted import counted
from vitruvius.ranking.evaluation import Evaluation, evaluations, interval, short, verdicts
from vitruvius.ranking.results import Candidate, Result, answer, networks, remarks
from vitruvius.render import figures
from vitruvius.render import page as html

LABELLED = 8  # points of a small scatter up to which each is labelled with its name
WIDE_RANGE = 10
"""Positive values whose largest is more than this many times the smallest are drawn on a log axis."""


def write(folder: Path, result: Result) -> None:
    """Write scores.csv, a picture per accuracy column, and report.html, from the result alone."""
    files.write(folder / "scores.csv", scores_csv(result))
    for index, column in enumerate(result.evaluation):
        name = re.sub(r"[^\w-]+", "_", f"ranking-{column}" if index else "ranking")
        figures.write_png(panels(result, column), folder / f"{name}.png")
    files.write(folder / "report.html", page(result))


def scores_csv(result: Result) -> str:
    """A line per network: sizes, all fields of its Arch, accuracies, and each score with every seed."""
    rows, columns = result.archs, result.evaluation
    known = [column for column in columns if any(row.accuracy[column] is not None for row in rows)]
    return files.csv_text([_line(row, known, result) for row in rows])


def _line(row: Candidate, columns: Sequence[str], result: Result) -> dict[str, Any]:
    """A score with the name of a size column adds its rank only; a list has an entry per layer."""
    sizes = {"name", "params", "macs", "depth", "width", "peak_bytes", "predicted_ms"}
    line: dict[str, Any] = row.model_dump(include=sizes)
    for field in Arch.model_fields:
        value = None if row.arch is None else getattr(row.arch, field)
        line.setdefault(field, " ".join(map(str, value)) if isinstance(value, tuple) else value)
    line |= {"data": result.data} | {column or "accuracy": row.accuracy[column] for column in columns}
    for proxy, score in row.scores.items():
        if proxy not in line:
            line |= {proxy: score.mean, f"{proxy}_std": score.std}
            values = score.values or (None,) * len(result.seeds)  # older runs kept the mean only
            line |= {f"{proxy}_seed{seed}": value for seed, value in zip(result.seeds, values, strict=True)}
        line |= {f"{proxy}_rank": row.rank[proxy], f"{proxy}_failed": score.failed}
    return line


def panels(result: Result, column: str) -> Panels:
    """A small scatter of each score against accuracy, or against size where no accuracies are known."""
    figures = []
    for proxy in result.proxies:
        figure = scatter(result, column, proxy)
        shown = figure.names if len(figure.names) <= LABELLED else ()
        names = tuple(name.rpartition(": ")[0] for name in shown)
        figures.append(figure.model_copy(update={"names": names}))
    return Panels(
        title=f"{counted(len(result.archs), 'network')} on {result.data}", figures=tuple(figures), columns=3
    )


def scatter(result: Result, column: str, proxy: str) -> Scatter:
    """One score against accuracy in percent, or against parameters; failed scores are left out."""
    found = result.evaluation[column][proxy]
    points = []
    for row in result.archs:
        known, mean = row.accuracy[column], row.scores[proxy].mean
        height = row.params if not found.archs else None if known is None else 100 * known
        if height is not None and mean is not None:
            points.append((mean, height, f"{row.name}: {row.params or 0:,} parameters"))
    x, y, names = zip(*points, strict=True) if points else ((), (), ())
    tau = f"tau {interval(found.kendall)}"
    title = f"{proxy}: {tau if found.archs else f'tau with params {short(found.kendall_with_params)}'}"
    height_name = f"{result.accuracy_name(column)}, in %" if found.archs else "parameters"
    labels = {"x_label": proxy, "y_label": height_name}
    is_log = {"log_x": _spans_decades(x), "log_y": not found.archs and _spans_decades(y)}
    return Scatter(title=title, x=x, y=y, names=names, **labels, **is_log)


def _spans_decades(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE_RANGE


def page(result: Result) -> str:
    """The interactive report: hovering names a network and its size, choosing a score sorts the table."""
    again, first = result.reranking, result.asked[0]
    blocks: list[Block] = []
    if again:
        blocks += [Text(text=again.sentence, style="title"), again.table(len(again.rows))]
    blocks += answer(result)
    blocks += [scatter(result, column, first) for column in result.evaluation if not result.exit_code]
    for column, evaluation in result.evaluation.items():
        blocks += [evaluations(result.accuracy_name(column), evaluation), *verdicts(evaluation)]
        blocks += [_details(evaluation)] if any(found.archs for found in evaluation.values()) else []
    blocks += [*remarks(result), networks(result, result.proxies, len(result.archs))]
    for column in result.evaluation:
        title = result.accuracy_name(column) if result.measured_on else "Scores"
        blocks += [Text(text=title, style="title")]
        blocks += [scatter(result, column, proxy) for proxy in result.proxies if proxy != first]
    asked = tuple((key, json.dumps(value)) for key, value in result.config.model_dump(mode="json").items())
    blocks += [Text(text="What was asked", style="title"), Table(columns=("setting", ""), rows=asked)]
    ranks = {proxy: {row.name: row.rank[proxy] for row in result.archs} for proxy in result.proxies}
    script = (plugins.PACKAGE / "ranking" / "sort.js").read_text()
    return html.page(f"Ranking on {result.data}", blocks, interactive=True, script=script, data=ranks)


def _details(evaluation: Mapping[str, Evaluation]) -> Table:
    """The statistics that the terminal leaves out."""
    columns = ("score", "gain [95 %]", "Spearman [95 %]", "tau with depth", "regret at 1 / 5", "verdict")
    rows = (
        (name, interval(e.gain), interval(e.spearman), short(e.kendall_with_depth))
        + (f"{e.regret_at_1:.2f} / {e.regret_at_5:.2f}" if e.archs else None, e.verdict)
        for name, e in evaluation.items()
    )
    return Table(columns=columns, rows=tuple(rows))
