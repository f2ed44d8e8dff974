"""What a ranking says: the networks in order, what each score is worth, a verdict in words; from the result as JSON."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vitruvius.core import plugins
from vitruvius.core.blocks import Block, Cell, Table, Text

Result = Mapping[str, Any]
SHOWN = 50
"""Networks that a terminal shows; the files hold all."""
SHOWN_SCORES = 2
SHOWN_NAMES = 6
STRUCTURAL = plugins.constant(plugins.PACKAGE / "proxies" / "__init__.py", "STRUCTURAL")
"""Scores that only count; they are shown beside those that were asked for."""


LEGEND = (
    "tau: Kendall's tau-b with accuracy; rho: Spearman; within size: tau over pairs within 10 % of parameters; "
    "params: tau with parameters; seeds: tau between seeds; regret: points lost by the top 1 / 5"
)


def summary(result: Result) -> Iterator[Block]:
    """What a terminal shows: the networks in order, what each score is worth, and a verdict in words."""
    asked = [score for score in scores(result) if score not in STRUCTURAL]
    yield networks(result, asked[:SHOWN_SCORES], SHOWN)
    for column, evaluation in evaluations(result).items():
        yield worth(column, evaluation)
        yield from verdicts(evaluation)
    yield from remarks(result)
    yield Text(text=f"{result['data']}, {result['seconds']:.1f} s; run: {result['run']}", style="note")


def scores(result: Result) -> list[str]:
    """The scores that were asked for, then the structural ones."""
    return list(result["archs"][0]["scores"])


def evaluations(result: Result) -> dict[str, dict[str, Any]]:
    """The evaluation of each score by column of accuracies; the column is '' where there is one or none."""
    found = result["evaluation"]
    is_one = all("verdict" in evaluation for evaluation in found.values())
    return {"": found} if is_one else found


def networks(result: Result, shown: Sequence[str], most: int) -> Table:
    """The networks in order of the first score."""
    rows = result["archs"]
    judged = any(isinstance(row["accuracy"], float) for row in rows)
    first = scores(result)[0]
    return Table(
        title=f"{len(rows)} networks by {first}",
        columns=("place", "network", "parameters", "MACs", "depth", "width", *["accuracy"] * judged, *shown),
        rows=tuple(_row(row, first, judged, shown) for row in rows[:most]),
        note=f"{len(rows) - most:,} more in scores.csv" if len(rows) > most else "",
    )


def _row(row: Mapping[str, Any], first: str, judged: bool, shown: Sequence[str]) -> tuple[Cell, ...]:
    known = None if row["accuracy"] is None or not judged else f"{row['accuracy']:.2%}"
    marks = (row["scores"][proxy]["mean"] for proxy in shown)
    sizes = (row[key] for key in ("name", "params", "macs", "depth", "width"))
    return row["rank"][first], *sizes, *[known] * judged, *marks


def worth(column: str, evaluation: Mapping[str, Any]) -> Table:
    """One row per score: how well it orders the networks; narrow enough for 100 columns."""
    judged = next(iter(evaluation.values()))["archs"]
    if not judged:
        known = f"too few accuracies of {column} are known" if column else "accuracies are not known"
        return Table(
            title=f"What the scores count ({known})",
            columns=("score", "tau with params", "with depth", "between seeds"),
            rows=tuple((name, *_against_sizes(found)) for name, found in evaluation.items()),
        )
    return Table(
        title=f"What the scores are worth{f' for {column}' if column else ''} ({judged} accuracies)",
        columns=("score", "tau [95 %]", "rho", "within size, pairs", "params", "seeds", "regret 1 / 5"),
        rows=tuple((name, *_judged(found)) for name, found in evaluation.items()),
    )


def _judged(found: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        interval(found["kendall"]),
        short(found["spearman"]["value"]),
        within(found["kendall_within_size"]),
        short(found["kendall_with_params"]),
        short(found["seed_agreement"]),
        f"{found['regret_at_1']:.1f} / {found['regret_at_5']:.1f}",
    )


def _against_sizes(found: Mapping[str, Any]) -> tuple[Cell, ...]:
    return tuple(short(found[key]) for key in ("kendall_with_params", "kendall_with_depth", "seed_agreement"))


def short(value: float | None) -> str:
    """A correlation in two digits.

    >>> short(0.523), short(-0.1), short(1.0), short(None)
    ('.52', '-.10', '1.00', '-')
    """
    return "-" if value is None else f"{value:.2f}".replace("0.", ".", 1)


def interval(found: Mapping[str, Any]) -> str:
    """A correlation with its interval.

    >>> interval({"value": 0.523, "low": -0.1, "high": 0.68})
    '.52 [-.10 .68]'
    """
    if found["value"] is None:
        return "-"
    return f"{short(found['value'])} [{short(found['low'])} {short(found['high'])}]"


def within(found: Mapping[str, Any]) -> str:
    """A correlation within size with the number of pairs it rests on."""
    return f"{'too few' if found['value'] is None else interval(found)}, {found['pairs']}"


def verdicts(evaluation: Mapping[str, Any]) -> Iterator[Text]:
    """The scores by verdict; how many were compared stands beside it, because the luckiest of many looks good."""
    names: dict[str, list[str]] = {}
    for name, found in evaluation.items():
        if name != "params" and found["archs"]:
            names.setdefault(found["verdict"], []).append(name)
    compared = sum(map(len, names.values()))
    for verdict, members in names.items():
        style = "good" if verdict.startswith("beats") else "plain"
        yield Text(
            text=f"{verdict} ({len(members)} of {compared} compared): {', '.join(members)}", style=style
        )


def remarks(result: Result) -> Iterator[Text]:
    """How to read the tables, winners and ties, how far accuracies themselves can be trusted, and what failed."""
    if any(found["archs"] for by in evaluations(result).values() for found in by.values()):
        yield Text(text=LEGEND, style="note")
    for proxy in scores(result):
        if proxy not in STRUCTURAL:
            yield Text(text=winner(result, proxy))
    ceiling = result["noise_ceiling"]
    if ceiling:
        yield Text(
            text=f"noise ceiling: two trainings of the same networks agree with tau {interval(ceiling['kendall'])}, "
            f"within size {within(ceiling['kendall_within_size'])} pairs; no score can be judged beyond that",
            style="note",
        )
    failed = [
        f"{row['name']}, {proxy}: {mark['failed']}"
        for row in result["archs"]
        for proxy, mark in row["scores"].items()
        if mark["failed"]
    ]
    if failed:
        yield Text(
            text=f"failed scores, ranked last: {len(failed)}; {_some(failed, '; ', 3)}", style="warning"
        )


def winner(result: Result, proxy: str) -> str:
    """Who wins by a score, or that nobody does."""
    best, seeds = result["best"][proxy], result["config"]["seeds"]
    if not best:
        return f"{proxy}: no network has a score"
    if seeds < 2:
        first = [row["name"] for row in result["archs"] if row["rank"][proxy] == 1]
        are = f"{_some(first, ', ')} {'are' if len(first) > 1 else 'is'} first"
        return f"{proxy}: {are}, but one seed cannot name a winner"
    if len(best) == 1:
        return f"{proxy}: {best[0]} wins"
    return f"{proxy}: a tie of {len(best)} within two standard errors over {seeds} seeds: {_some(best, ', ')}"


def accuracy(row: Mapping[str, Any], column: str) -> float | None:
    """What is known of a network in a column, a fraction."""
    found = row["accuracy"]
    return found[column] if isinstance(found, dict) else found


def table_csv(result: Result) -> str:
    """All scores, a line per network; of a score that is one of its sizes, the place alone."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _line(result, result["archs"][0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_line(result, row) for row in result["archs"])
    return text.getvalue()


def _line(result: Result, row: Mapping[str, Any]) -> dict[str, Any]:
    line = {key: row[key] for key in ("name", "params", "macs", "depth", "width")}
    line |= {column or "accuracy": accuracy(row, column) for column in evaluations(result)}
    for proxy, mark in row["scores"].items():
        if proxy not in line:
            line |= {proxy: mark["mean"], f"{proxy}_std": mark["std"]}
        line[f"{proxy}_rank"] = row["rank"][proxy]
    return line


def _some(items: Sequence[str], between: str, most: int = SHOWN_NAMES) -> str:
    more = f"{between}and {len(items) - most} more" if len(items) > most else ""
    return between.join(items[:most]) + more
