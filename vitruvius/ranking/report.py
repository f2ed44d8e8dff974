"""What people see of a ranking: tables and verdicts for the terminal, scores.csv, scatters and the page."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vitruvius.core import files, plugins
from vitruvius.core.blocks import Block, Cell, Panels, Scatter, Table, Text
from vitruvius.ranking.results import ONLY, Candidate, Evaluation, Interval, IntervalWithinSize, Result
from vitruvius.render import figures
from vitruvius.render import page as html

SHOWN, SHOWN_SCORES, SHOWN_NAMES = 50, 2, 6
"""Networks and scores in the terminal's table, names in a sentence; the files hold all."""
LABELLED = 8  # points of a small scatter up to which each is labelled with its name
WIDE_RANGE = 20
"""Positive values whose largest is more than this many times the smallest are drawn on a log axis."""
STRUCTURAL = plugins.constant(plugins.PACKAGE / "proxies" / "__init__.py", "STRUCTURAL")
"""Scores that only count; they are shown beside those that were asked for."""
LEGEND = (
    "tau: Kendall's tau-b with accuracy; rho: Spearman; within size: tau over pairs within 10 % of parameters"
    "; params: tau with parameters; seeds: tau between seeds; regret: points lost by the top 1 / 5"
)


def write(folder: Path, result: Result) -> None:
    """Write scores.csv, a picture per accuracy column, and report.html, from the result alone."""
    files.write(folder / "scores.csv", scores_csv(result))
    for index, column in enumerate(result.evaluation):
        name = re.sub(r"[^\w-]+", "_", f"ranking-{column}" if index else "ranking")
        figures.write_png(panels(result, column), folder / f"{name}.png")
    files.write(folder / "report.html", page(result))


def summary(result: Result) -> Iterator[Block]:
    """The terminal's view: the networks in order, how well each score orders them, and verdicts in words."""
    asked = [proxy for proxy in result.proxies if proxy not in STRUCTURAL]
    yield networks(result, asked[:SHOWN_SCORES], SHOWN)
    for column, evaluation in result.evaluation.items():
        yield evaluations(column, evaluation)
        yield from verdicts(evaluation)
    yield from remarks(result)
    yield Text(text=f"{result.data}, {result.seconds:.1f} s; run: {result.run}", style="note")


def networks(result: Result, shown: Sequence[str], most: int) -> Table:
    """The networks in order of the first score."""
    rows, first = result.archs, result.proxies[0]
    with_accuracy = any(row.accuracy.get(ONLY) is not None for row in rows)

    def cells(row: Candidate) -> tuple[Cell, ...]:
        known = row.accuracy.get(ONLY)
        accuracy = [None if known is None else f"{known:.2%}"] * with_accuracy
        means = [row.scores[proxy].mean for proxy in shown]
        return row.rank[first], row.name, row.params, row.macs, row.depth, row.width, *accuracy, *means

    sizes = ("place", "network", "parameters", "MACs", "depth", "width")
    columns = (*sizes, *["accuracy"] * with_accuracy, *shown)
    title, shown_rows = f"{len(rows)} networks by {first}", tuple(map(cells, rows[:most]))
    note = f"{len(rows) - most:,} more in scores.csv" if len(rows) > most else ""
    return Table(title=title, columns=columns, rows=shown_rows, note=note)


def evaluations(column: str, evaluation: Mapping[str, Evaluation]) -> Table:
    """A row per score: how well it orders the networks; narrow enough for 100 columns."""
    count = next(iter(evaluation.values())).archs
    rows: list[tuple[str, ...]] = []
    for name, e in evaluation.items():
        params, depth, seeds = map(short, (e.kendall_with_params, e.kendall_with_depth, e.seed_agreement))
        if count:
            taus = interval(e.kendall), short(e.spearman.value), within(e.kendall_within_size)
            rows.append((name, *taus, params, seeds, f"{e.regret_at_1:.1f} / {e.regret_at_5:.1f}"))
        else:
            rows.append((name, params, depth, seeds))
    if count:
        title = f"What the scores are worth{f' for {column}' if column else ''} ({count} accuracies)"
        names = ("score", "tau [95 %]", "rho", "within size, pairs", "params", "seeds", "regret 1 / 5")
        return Table(title=title, columns=names, rows=tuple(rows))
    known = f"too few accuracies of {column} are known" if column else "accuracies are not known"
    columns = ("score", "tau with params", "with depth", "between seeds")
    return Table(title=f"What the scores count ({known})", columns=columns, rows=tuple(rows))


def short(value: float | None) -> str:
    """A correlation with two digits.

    >>> short(0.523), short(-0.1), short(1.0), short(None)
    ('.52', '-.10', '1.00', '-')
    """
    return "-" if value is None else f"{value:.2f}".replace("0.", ".", 1)


def interval(found: Interval) -> str:
    """A correlation with its interval.

    >>> interval(Interval(value=0.523, low=-0.1, high=0.68))
    '.52 [-.10 .68]'
    """
    return "-" if found.value is None else f"{short(found.value)} [{short(found.low)} {short(found.high)}]"


def within(found: IntervalWithinSize) -> str:
    """A correlation within size with the number of pairs it rests on."""
    return f"{'too few' if found.value is None else interval(found)}, {found.pairs}"


def verdicts(evaluation: Mapping[str, Evaluation]) -> Iterator[Text]:
    """The scores by verdict, with how many were compared: the luckiest of many looks good."""
    names: dict[str, list[str]] = {}
    for name, found in evaluation.items():
        if name != "params" and found.archs:
            names.setdefault(found.verdict, []).append(name)
    compared = sum(map(len, names.values()))
    for verdict, members in names.items():
        text = f"{verdict} ({len(members)} of {compared} compared): {', '.join(members)}"
        yield Text(text=text, style="good" if verdict.startswith("beats") else "plain")


def remarks(result: Result) -> Iterator[Text]:
    """A legend of the tables, winners and ties, the noise ceiling of the accuracies, and failed scores."""
    if any(found.archs for by_proxy in result.evaluation.values() for found in by_proxy.values()):
        yield Text(text=LEGEND, style="note")
    for proxy in result.proxies:
        if proxy not in STRUCTURAL:
            yield Text(text=winner(result, proxy))
    ceiling = result.noise_ceiling
    if ceiling:
        tau, within_size = interval(ceiling.kendall), within(ceiling.kendall_within_size)
        text = f"noise ceiling: two trainings of the same networks agree with tau {tau}, within size "
        yield Text(text=f"{text}{within_size} pairs; no score can be judged beyond that", style="note")
    scores = [(f"{row.name}, {proxy}", score) for row in result.archs for proxy, score in row.scores.items()]
    failed = [f"{name}: {score.failed}" for name, score in scores if score.failed]
    if failed:
        text = f"failed scores, ranked last: {len(failed)}; {_some(failed, '; ', 3)}"
        yield Text(text=text, style="warning")


def winner(result: Result, proxy: str) -> str:
    """The winner by a score, the networks that tie with it, or why there is none."""
    best, seeds = result.best[proxy], result.config.seeds
    if not best:
        return f"{proxy}: no network has a score"
    if seeds < 2:
        first = [row.name for row in result.archs if row.rank[proxy] == 1]
        are = f"{_some(first, ', ')} {'are' if len(first) > 1 else 'is'} first"
        return f"{proxy}: {are}, but one seed cannot name a winner"
    if len(best) == 1:
        return f"{proxy}: {best[0]} wins"
    return f"{proxy}: a tie of {len(best)} within two standard errors over {seeds} seeds: {_some(best, ', ')}"


def scores_csv(result: Result) -> str:
    """All scores, a line per network; a score with the name of a size column adds its rank only."""
    return files.csv_text([_line(row) for row in result.archs])


def _line(row: Candidate) -> dict[str, Any]:
    line: dict[str, Any] = row.model_dump(include={"name", "params", "macs", "depth", "width"})
    line |= {column or "accuracy": value for column, value in row.accuracy.items()}
    for proxy, score in row.scores.items():
        if proxy not in line:
            line |= {proxy: score.mean, f"{proxy}_std": score.std}
        line[f"{proxy}_rank"] = row.rank[proxy]
    return line


def panels(result: Result, column: str) -> Panels:
    """A small scatter of each score against accuracy, or against size where no accuracies are known."""
    figures = []
    for proxy in result.proxies:
        figure = scatter(result, column, proxy)
        shown = figure.names if len(figure.names) <= LABELLED else ()
        names = tuple(name.rpartition(": ")[0] for name in shown)
        figures.append(figure.model_copy(update={"names": names}))
    return Panels(title=f"{len(result.archs)} networks on {result.data}", figures=tuple(figures), columns=3)


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
    labels = {"x_label": proxy, "y_label": f"{column or 'accuracy'} in %" if found.archs else "parameters"}
    is_log = {"log_x": _spans_decades(x), "log_y": not found.archs and _spans_decades(y)}
    return Scatter(title=title, x=x, y=y, names=names, **labels, **is_log)


def _spans_decades(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE_RANGE


def page(result: Result) -> str:
    """The interactive report: hovering names a network and its size, choosing a score sorts the table."""
    blocks: list[Block] = [*remarks(result)]
    for column, evaluation in result.evaluation.items():
        blocks += [evaluations(column, evaluation), *verdicts(evaluation), _details(evaluation)]
    blocks += [networks(result, result.proxies, len(result.archs))]
    for column in result.evaluation:
        blocks += [Text(text=column or "Scores", style="title")]
        blocks += [scatter(result, column, proxy) for proxy in result.proxies]
    asked = tuple((key, json.dumps(value)) for key, value in result.config.model_dump(mode="json").items())
    blocks += [Text(text="What was asked", style="title"), Table(columns=("setting", ""), rows=asked)]
    ranks = {proxy: {row.name: row.rank[proxy] for row in result.archs} for proxy in result.proxies}
    script = (plugins.PACKAGE / "ranking" / "sort.js").read_text()
    return html.page(f"Ranking on {result.data}", blocks, interactive=True, script=script, data=ranks)


def _details(evaluation: Mapping[str, Evaluation]) -> Table:
    """The statistics that the terminal leaves out."""
    columns = ("score", "Spearman [95 %]", "tau with depth", "regret at 1", "regret at 5", "verdict")
    rows = (
        (name, interval(e.spearman), short(e.kendall_with_depth), e.regret_at_1, e.regret_at_5, e.verdict)
        for name, e in evaluation.items()
    )
    return Table(columns=columns, rows=tuple(rows))


def _some(items: Sequence[str], between: str, most: int = SHOWN_NAMES) -> str:
    more = f"{between}and {len(items) - most} more" if len(items) > most else ""
    return between.join(items[:most]) + more
