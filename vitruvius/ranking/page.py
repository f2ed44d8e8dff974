"""Pictures of a ranking: scatters of score against accuracy, and the interactive page; from the result as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from vitruvius.core.blocks import Block, Panels, Scatter, Table, Text
from vitruvius.ranking.report import (
    Result,
    accuracy,
    evaluations,
    interval,
    networks,
    remarks,
    scores,
    short,
    verdicts,
    worth,
)
from vitruvius.render import page as html

NAMED = 8
"""Points of a small scatter up to which each carries its name."""


def panels(result: Result, column: str) -> Panels:
    """A small scatter of each score against accuracy, or against size where no accuracies are known."""
    figures = tuple(_small(scatter(result, column, proxy)) for proxy in scores(result))
    return Panels(title=f"{len(result['archs'])} networks on {result['data']}", figures=figures, columns=3)


def _small(figure: Scatter) -> Scatter:
    """A scatter among many: few points carry their names alone, many none."""
    names = figure.names if len(figure.names) <= NAMED else ()
    return figure.model_copy(update={"names": tuple(name.rpartition(": ")[0] for name in names)})


def scatter(result: Result, column: str, proxy: str) -> Scatter:
    """One score against accuracy in percent, or against size; failed scores are left out."""
    found = evaluations(result)[column][proxy]
    judged = bool(found["archs"])
    points = []
    for row in result["archs"]:
        known, mean = accuracy(row, column), row["scores"][proxy]["mean"]
        height = row["params"] if not judged else None if known is None else 100 * known
        if height is not None and mean is not None:
            points.append((mean, height, f"{row['name']}: {row['params'] or 0:,} parameters"))
    x, y, names = zip(*points, strict=True) if points else ((), (), ())
    title = (
        f"tau {interval(found['kendall'])}"
        if judged
        else f"tau with params {short(found['kendall_with_params'])}"
    )
    label = f"{column or 'accuracy'} in %" if judged else "parameters"
    return Scatter(title=f"{proxy}: {title}", x=x, y=y, names=names, x_label=proxy, y_label=label)


def page(result: Result) -> str:
    """The interactive report: hovering names a network and its parameters, choosing a score sorts the table."""
    blocks: list[Block] = [*remarks(result)]
    for column, evaluation in evaluations(result).items():
        blocks += [worth(column, evaluation), *verdicts(evaluation), _details(evaluation)]
    blocks += [networks(result, scores(result), len(result["archs"]))]
    for column in evaluations(result):
        blocks += [Text(text=column or "Scores", style="title")]
        blocks += [scatter(result, column, proxy) for proxy in scores(result)]
    asked = tuple((key, json.dumps(value)) for key, value in result["config"].items())
    blocks += [Text(text="What was asked", style="title"), Table(columns=("setting", ""), rows=asked)]
    before, end, after = html.page(f"Ranking on {result['data']}", blocks, interactive=True).rpartition(
        "</body>"
    )
    ranks = {proxy: {row["name"]: row["rank"][proxy] for row in result["archs"]} for proxy in scores(result)}
    data = json.dumps(ranks).replace("<", "\\u003c")  # a name may hold </script>
    return f"{before}<script>const ranks = {data};\n{SORT}</script>\n{end}{after}"


SORT = """
const tables = [...document.querySelectorAll("table")];
const table = tables.find(table => table.caption && table.caption.textContent.includes(" networks by "));
const choice = document.createElement("select");
choice.ariaLabel = "sort by";
for (const score of Object.keys(ranks)) choice.add(new Option(score));
choice.onchange = () => {
  const place = row => ranks[choice.value][row.cells[1].textContent];
  const rows = [...table.tBodies[0].rows].sort((a, b) => place(a) - place(b));
  for (const row of rows) row.cells[0].textContent = place(row);
  table.tBodies[0].append(...rows);
};
table.caption.textContent = table.caption.textContent.replace(/ by .*/, " by ");
table.caption.append(choice);
"""


def _details(evaluation: Mapping[str, Any]) -> Table:
    """Everything there is, for a page."""
    return Table(
        columns=("score", "Spearman [95 %]", "tau with depth", "regret at 1", "regret at 5", "verdict"),
        rows=tuple(
            (
                name,
                interval(found["spearman"]),
                short(found["kendall_with_depth"]),
                found["regret_at_1"],
                found["regret_at_5"],
                found["verdict"],
            )
            for name, found in evaluation.items()
        ),
    )
