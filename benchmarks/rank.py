"""Ranking: the time of whole commands, of each proxy, and how it grows with the number of networks.

    python -m benchmarks.rank                 about ten minutes on two cores, writes the results
    python -m benchmarks.rank --quick         few networks on any machine, writes nothing
    python -m benchmarks.rank --table RUN     the taus of a finished run by score and column, as Markdown

Fails if the fifty take more than 20 s (grad_norm, snip) or 120 s (all proxies), 100 networks of the public
dialect more than 120 s with two processes, the time grows faster than the number of networks, or grad_norm
and snip together are less than 1.8 times as fast as two fresh networks and passes, or differ from them."""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import record
from vitruvius.core import files
from vitruvius.core.blocks import Table
from vitruvius.core.errors import UserError
from vitruvius.ranking.evaluation import interval, short, within
from vitruvius.ranking.results import Result
from vitruvius.render import text as render

SEED = 0
SPACE: dict[str, tuple[Any, ...]] = {  # of public ViT benchmarks
    "hidden_dim": (192, 216, 240),
    "depth": (12, 13, 14),
    "num_heads": (3, 4),
    "mlp_ratio": (3.5, 4.0),
}
FIFTY_LIMIT, FIFTY_ALL_LIMIT, PUBLIC_LIMIT = 20.0, 120.0, 120.0
FASTER, EQUAL = 1.8, 1e-5
GROWTH_LIMIT = 1.1
"""Largest exponent of the time in the number of networks that still counts as linear."""
ROUNDS = 5
Row = dict[str, Any]


def public(count: int) -> list[Row]:
    """Different networks drawn from the public space, in its dialect."""
    source = random.Random(SEED)
    found: dict[str, Row] = {}
    while len(found) < count:
        depth = source.choice(SPACE["depth"])
        arch = {
            "hidden_dim": source.choice(SPACE["hidden_dim"]),
            "depth": depth,
            **{
                name: [source.choice(SPACE[name]) for _ in range(depth)]
                for name in ("num_heads", "mlp_ratio")
            },
        }
        found[json.dumps(arch)] = {"arch": arch}
    return list(found.values())


def command(folder: str, name: str, *words: str) -> tuple[float, Path]:
    """Wall seconds of one `vitruvius rank`, start-up included, and its run folder."""
    began = time.perf_counter()
    arguments = ["rank", "--runs", folder, "--name", name, "--quiet", *words]
    subprocess.run([sys.executable, "-m", "vitruvius", *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began, Path(folder) / "rank" / name


def per_proxy(run: Path) -> Row:
    """Mean CPU-seconds of each proxy for one network and seed; a shared pass is counted for the first that
    needs it.
    """
    spent: dict[str, list[float]] = defaultdict(list)
    for line in files.read_lines(run / "records.jsonl"):
        for proxy, seconds in line["timing"].items():
            spent[proxy].append(seconds)
    return {proxy: round(sum(seconds) / len(seconds), 5) for proxy, seconds in spent.items()}


def commands(folder: str, quick: bool) -> Iterator[Row]:
    """The commands that people wait for."""
    table = Path(folder) / "public.json"
    files.write_json(table, public(4 if quick else 100))
    two = ("--spread", "processes", "--workers", "2")
    noise = (
        "--archs",
        str(table),
        "--data",
        "noise:3x32x32",
        "--batch",
        "8",
        "--seeds",
        "1",
        "--proxies",
        "all",
        *two,
    )
    wanted: list[tuple[str, tuple[str, ...], float]] = [("public dialect, all proxies", noise, PUBLIC_LIMIT)]
    if not quick:
        wanted += [("fifty, grad_norm and snip", (), FIFTY_LIMIT)]
        wanted += [("fifty, all proxies", ("--proxies", "all"), FIFTY_ALL_LIMIT)]
        wanted += [("fifty, all proxies, two processes", ("--proxies", "all", *two), FIFTY_ALL_LIMIT)]
    for index, (what, words, limit) in enumerate(wanted):
        seconds, run = command(folder, str(index), *words)
        yield {
            "what": what,
            "seconds": round(seconds, 1),
            "limit": limit,
            "cpu_seconds_per_network": per_proxy(run),
        }


def growth(folder: str, counts: tuple[int, ...]) -> Row:
    """Seconds of scoring and judging for more and more networks, and the exponent with which they grow."""
    points = []
    for count in counts:
        table = Path(folder) / f"{count}.json"
        source = random.Random(SEED)
        files.write_json(table, [{**row, "test_acc": source.uniform(0, 100)} for row in public(count)])
        noise = (
            "--data",
            "noise:3x32x32",
            "--batch",
            "8",
            "--seeds",
            "1",
            "--spread",
            "processes",
            "--workers",
            "2",
        )
        _, run = command(folder, f"growth{count}", "--archs", str(table), *noise)
        points.append((count, files.read_json(run / "result.json")["seconds"]))
    (few, fast), (many, slow) = points[0], points[-1]
    exponent = math.log(slow / fast) / math.log(many / few)
    return {"what": "growth", "seconds": dict(points), "exponent": round(exponent, 3), "limit": GROWTH_LIMIT}


def sharing(rounds: int) -> Row:
    """grad_norm and snip by one pass against a fresh network and pass for each: CPU-seconds and values."""
    import torch

    from benchmarks.fifty import draw
    from vitruvius import proxies
    from vitruvius.nn.vit import build

    torch.set_num_threads(1)
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    archs = [arch for _, arch in draw()[::10]]
    names = ("grad_norm", "snip")

    def scores(groups: tuple[tuple[str, ...], ...]) -> tuple[float, list[float]]:
        began, found = time.process_time(), []
        for arch in archs:
            for group in groups:
                once = proxies.one_pass(build(arch, SEED), x, y, seed=SEED)
                found += [proxies.get(name)(once) for name in group]
        return time.process_time() - began, found

    scores((names,))  # the first pass of a process pays for torch's own start
    shared, fresh = [], []
    for _ in range(rounds):
        shared.append(scores((names,)))
        fresh.append(scores(tuple((name,) for name in names)))
    apart = max(abs(a / b - 1) for a, b in zip(shared[0][1], fresh[0][1], strict=True))
    times = [median(seconds for seconds, _ in found) for found in (shared, fresh)]
    return {
        "what": "grad_norm and snip together",
        "shared_seconds": round(times[0], 4),
        "fresh_seconds": round(times[1], 4),
        "faster": round(times[1] / times[0], 2),
        "limit": FASTER,
        "largest_relative_difference": apart,
    }


def failures(rows: list[Row]) -> list[str]:
    """What misses its target."""
    found = []
    for row in rows:
        if row["what"] == "growth":
            found += [f"grows with exponent {row['exponent']}"] if row["exponent"] > row["limit"] else []
        elif "faster" in row:
            found += [f"only {row['faster']} times as fast"] if row["faster"] < row["limit"] else []
            found += ["shared scores differ"] if row["largest_relative_difference"] > EQUAL else []
        elif row["seconds"] > row["limit"]:
            found += [f"{row['what']}: {row['seconds']} s, at most {row['limit']} s"]
    return found


def table(run: Path) -> str:
    """Tau of every score with every column of accuracies (of one column also within size), and what it
    counts.
    """
    columns = Result(**files.read_json(run / "result.json")).evaluation
    first, alone = next(iter(columns.values())), len(columns) == 1
    rows = [
        (
            score,
            *(interval(column[score].kendall) for column in columns.values()),
            *([interval(found.gain), within(found.kendall_within_size)] if alone else []),
            short(found.kendall_with_params),
            short(found.kendall_with_depth),
            short(found.seed_agreement),
        )
        for score, found in first.items()
    ]
    names = (name.removesuffix("_acc") or "accuracy" for name in columns)
    lone = ["gain over the best count", "within size, pairs"] if alone else []
    heads = ("score", *names, *lone, "with params", "with depth", "between seeds")
    return render.markdown([Table(columns=heads, rows=tuple(rows))])


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.rank", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few networks, nothing written, nothing judged")
    parser.add_argument("--table", type=Path, metavar="RUN", help="only print the taus of a finished run")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        return
    quick = options.quick
    try:
        load = 0.0 if quick else record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        rows = [sharing(1 if quick else ROUNDS)]
        rows += [*commands(folder, quick), growth(folder, (4, 8) if quick else (10, 100, 1000))]
    for row in rows:
        print(json.dumps(row))
    if quick:
        return
    print(record.write("rank", rows, load=load))
    if missed := failures(rows):
        raise SystemExit("\n".join(missed))


if __name__ == "__main__":
    main()
