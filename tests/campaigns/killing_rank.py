"""Kills a tiny ranking at random instants, resumes it, and compares its end with that of an undisturbed one.

The harness is that of the search's `killing.py`. Run as `python -m tests.campaigns.killing_rank`.
"""

import hashlib
import json
from pathlib import Path

from tests.searching import killing
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.ranking.settings import Config
from vitruvius.verbs import rank

TABLE = [{"arch": {"patch": 4, "width": 8, "depth": depth, "heads": 2, "mlp": 8}} for depth in (1, 2, 3)]


def once(place: Path, runs: Path, spread: str, workers: int) -> None:
    """Start or continue the ranking and go on to its end."""
    table = place / "table.json"
    if not table.exists():
        files.write_json(table, TABLE)
    given = Config(
        archs=(str(table),), data=f"{place / 'toy.py'}:toy", batch=8, seeds=3, spread=spread, workers=workers
    )
    started = (runs / "rank" / "toy" / "config.json").exists()
    config = Config(spread=spread, workers=workers) if started else given
    flags = Flags(runs=str(runs), resume="toy") if started else Flags(runs=str(runs), name="toy")
    for _ in rank.run(config, flags):
        pass


def fingerprint(runs: Path) -> str:
    """The SHA-256 of the scores and of the result, timing and places aside."""
    folder = runs / "rank" / "toy"
    lines = [{**line, "timing": None} for line in files.read_lines(folder / "records.jsonl")]
    result = files.read_json(folder / "result.json")
    for key in ("run", "config", "seconds", "cpu_seconds"):
        del result[key]
    content = json.dumps([sorted(map(str, lines)), result])
    return hashlib.sha256(content.encode()).hexdigest()


if __name__ == "__main__":
    killing.once, killing.fingerprint = once, fingerprint
    killing.main()
