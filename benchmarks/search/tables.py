"""What the choices of `search` are worth on tables of networks whose accuracies are known.

    vitruvius rank --proxies all --name fifty
    vitruvius rank --archs PUBLIC.json --data noise:3x32x32/100 --batch 8 --proxies all --name public
    python -m benchmarks.search.tables runs/rank/fifty runs/rank/public
    python -m benchmarks.search.tables runs/rank/fifty --quick            few repetitions

Regret: in every repetition a random part of the networks under a random cap on parameters is the pool; each
way of choosing trains k = 5, 10, 20 of them (looks their accuracies up) and loses the points between the best
of the pool and the best it has trained. The search chooses by its prior, then by its surrogate once that is
used. The best single score is the one with the highest tau on the whole table: it is chosen in hindsight.

Few labels: k accuracies are known, the rest is ordered by the surrogate as `rank --known` does it; tau within
size counts pairs within 10 % of parameters.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import record
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.ranking import seeds, statistics, surrogate
from vitruvius.ranking.results import Result
from vitruvius.searching import promotion

KS = (5, 10, 20)
REPETITIONS = 200
SHARE = 0.8
"""Part of the networks that a repetition has."""
Floats = NDArray[np.float64]


class Table(NamedTuple):
    """Networks with their scores and accuracies."""

    name: str
    archs: list[Arch]
    params: Floats
    scores: dict[str, Floats]
    labels: dict[str, Floats]


def read(run: Path) -> Table:
    """Read networks, scores and accuracies of a finished ranking, seeds averaged as `rank` does it."""
    result = files.read_as(run / "result.json", Result)
    rows = sorted(result.archs, key=lambda row: row.name)
    scores = {}
    for name in result.proxies:
        values = [row.scores[name].values or (None,) * result.config.seeds for row in rows]
        found = np.array([[-np.inf if value is None else value for value in row] for row in values])
        scores[name] = seeds.order(found)
    labels = {
        column or "accuracy": np.array([row.accuracy.get(column) for row in rows], dtype=float)
        for column in rows[0].accuracy
    }
    archs = [row.arch for row in rows if row.arch is not None]
    assert len(archs) == len(rows), "modules of one's own have no structure"
    params = np.array([float(cost.cost(arch).params) for arch in archs])
    return Table(run.name, archs, params, scores, labels)


def by_search(
    prior: Floats, features: surrogate.Groups, accuracy: Floats, params: Floats, k: int
) -> list[int]:
    """Choose k networks as the search does, one training after the other."""
    order = dict(enumerate(prior.tolist()))
    chosen: list[int] = []
    while len(chosen) < k:
        known = np.full(len(prior), np.nan)
        known[chosen] = accuracy[chosen]
        fit = surrogate.fit(prior, features, known, params) if len(chosen) >= surrogate.ENOUGH else None
        if fit is not None and fit.is_better:
            left = {n: float(fit.prediction_n[n]) for n in order if n not in chosen}
            chosen += promotion.promoted(left, 1)
        else:
            told = {n: float(accuracy[n]) for n in chosen}
            chosen += promotion.first(order, 1, told, chosen, wanted=[int(params.argmax())])
    return chosen


def regrets(table: Table, label: str, repetitions: int) -> list[dict[str, Any]]:
    """Return the median and mean regret of every way of choosing, in points, for every k."""
    known = np.flatnonzero(np.isfinite(table.labels[label]))
    taus = {
        name: statistics.tau(values[known], table.labels[label][known]) or 0.0
        for name, values in table.scores.items()
    }
    best = max((name for name in taus if name != "params"), key=taus.__getitem__)
    lost: dict[tuple[str, int], list[float]] = {}
    for repetition in range(repetitions):
        random = np.random.default_rng(repetition)
        pool = random.permutation(random.choice(known, int(SHARE * len(known)), replace=False))
        cap = np.quantile(table.params[pool], random.uniform(0.6, 1.0))
        pool = pool[table.params[pool] <= cap]
        accuracy, params = table.labels[label][pool], table.params[pool]
        scores = {name: values[pool] for name, values in table.scores.items()}
        features = surrogate.groups([table.archs[index] for index in pool], scores)
        for k in KS:
            ways: Mapping[str, Sequence[int]] = {
                "search": by_search(surrogate.prior(scores), features, accuracy, params, min(k, len(pool))),
                "random": list(range(min(k, len(pool)))),
                "largest": np.argsort(-params, kind="stable")[:k].tolist(),
                "best score": np.argsort(-scores[best], kind="stable")[:k].tolist(),
            }
            for way, chosen in ways.items():
                lost.setdefault((way, k), []).append(
                    100 * float(accuracy.max() - accuracy[list(chosen)].max())
                )
    return [
        {
            "table": table.name,
            "label": label,
            "k": k,
            "way": way,
            "score": best if way == "best score" else None,
        }
        | {"median": float(np.median(values)), "mean": float(np.mean(values))}
        for (way, k), values in lost.items()
    ]


def few_labels(table: Table, label: str, repetitions: int) -> list[dict[str, Any]]:
    """Return the mean tau, and tau within size, on the networks whose accuracy is not known."""
    known = np.flatnonzero(np.isfinite(table.labels[label]))
    archs, params = [table.archs[index] for index in known], table.params[known]
    scores = {name: values[known] for name, values in table.scores.items()}
    accuracy, prior = table.labels[label][known], surrogate.prior(scores)
    features, rows = surrogate.groups(archs, scores), []
    for k in KS:
        found = []
        for repetition in range(repetitions):
            random = np.random.default_rng(repetition)
            labelled = random.choice(len(known), k, replace=False)
            rest = np.setdiff1d(np.arange(len(known)), labelled)
            values = np.full(len(known), np.nan)
            values[labelled] = accuracy[labelled]
            fit = surrogate.fit(prior, features, values, params)
            order = fit.prediction_n if fit is not None and fit.is_better else prior
            for way, predicted in (("surrogate", order), ("params", params)):
                tau = statistics.tau(predicted[rest], accuracy[rest]) or 0.0
                found.append((way, tau, within(predicted[rest], accuracy[rest], params[rest])))
        for way in ("surrogate", "params"):
            taus = np.array([row[1:] for row in found if row[0] == way])
            mean, (low, high) = taus.mean(0), np.percentile(taus, [2.5, 97.5], axis=0)
            row = {"table": table.name, "label": label, "k": k, "way": way, "tau": mean[0], "within": mean[1]}
            rows.append(row | {"within_low": low[1], "within_high": high[1]})
    return [{key: float(v) if isinstance(v, np.floating) else v for key, v in row.items()} for row in rows]


def within(x: Floats, y: Floats, params: Floats) -> float:
    """Return tau over the pairs of nearly equal size."""
    signs = (
        np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y)) * statistics.similar_size(params)
    )
    return float(signs.sum() / max(1.0, np.abs(signs).sum()))


def conclude(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say for every label whether the search loses no more than the best other way, and less than random."""
    said = []
    for table, label in dict.fromkeys((row["table"], row["label"]) for row in rows):
        mine = {
            (row["way"], row["k"]): row["median"]
            for row in rows
            if (row["table"], row["label"]) == (table, label)
        }
        others = [way for way in dict.fromkeys(way for way, _ in mine) if way != "search"]
        worse = [k for k in KS if mine["search", k] > min(mine[way, k] for way in others) + 1e-9]
        better = [k for k in KS if mine["search", k] < mine["random", k]]
        said.append(
            f"{table} {label}: worse than the best other at k = {worse}, better than random at k = {better}"
        )
    return said


def main() -> None:
    """Judge on the networks of every ranking that is given, print and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+", help="finished rankings of networks with accuracies")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    repetitions = 20 if options.quick else REPETITIONS
    found = [read(run) for run in options.runs]
    rows = [row for table in found for label in table.labels for row in regrets(table, label, repetitions)]
    few = [row for table in found for label in table.labels for row in few_labels(table, label, repetitions)]
    for row in rows:
        print(
            f"{row['table']:>20} {row['label']:>18} k {row['k']:>2} {row['way']:>10}: median "
            f"{row['median']:.3f}"
        )
    for row in few:
        print(
            f"{row['table']:>20} {row['label']:>18} k {row['k']:>2} {row['way']:>10}: tau {row['tau']:.2f}, "
            f"within {row['within']:.2f}"
        )
    print("\n".join(conclude(rows)))
    if not options.quick:
        record.write("search_tables", rows, few_labels=few, repetitions=repetitions)


if __name__ == "__main__":
    main()
