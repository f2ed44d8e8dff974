"""How far a run is, in a sentence and as a bar, and how long the rest will take at its speed so far."""

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.core.integrity import RECORDS
from vitruvius.core.run_list import is_running
from vitruvius.ranking.results import WORKLOAD, Workload
from vitruvius.searching.plan import Plan
from vitruvius.searching.results import Stage, Trained
from vitruvius.training.results import epochs
from vitruvius.web import library

Lines = Sequence[dict[str, Any]]


class Progress(Strict):
    """What is done, and what is left of it if that is known."""

    sentence: str
    done: int
    total: int | None = None
    seconds_left: float | None = None


Rule = Callable[[Path, dict[str, Any], Lines], Progress]


class State(Progress):
    """How far a run is, and whether it goes on."""

    state: str
    """running, finished or unfinished."""


def state(folder: Path, config: dict[str, Any], lines: Lines) -> State:
    """Say how far a run is; the time left is told while it goes on."""
    verb = folder.parent.name
    word = "finished" if (folder / "result.json").is_file() else "unfinished"
    word = "running" if is_running(folder) else word
    rule: Rule = RULES.get(verb, _counted)
    found = rule(folder, config, lines)
    sentence, left = found.sentence, found.seconds_left if word == "running" else None
    if left is not None:
        sentence += f" · {duration(left)} left"
    elif word == "running" and found.total and not found.done:
        sentence += " · the first one is under way"
    elif word == "unfinished" and verb in RULES:
        sentence += f" · stopped; vitruvius {verb} --resume {folder.name} goes on"
    return State(state=word, sentence=sentence, done=found.done, total=found.total, seconds_left=left)


def _by_epochs(folder: Path, config: dict[str, Any], lines: Lines) -> Progress:
    total = config.get("epochs")
    if not isinstance(total, int) or isinstance(total, bool):
        return _counted(folder, config, lines)
    numbers = [line["epoch"] for line in lines if isinstance(line.get("epoch"), int)]
    count = min(max(numbers, default=0), total)
    if not count:
        return Progress(sentence=f"Epoch 0 of {total}", done=0, total=total)
    timed = epochs(lines) if folder.parent.name == "train" else []
    spent = sum(epoch.timing.seconds for epoch in timed) or _elapsed(folder)
    left = spent / count * (total - count)
    return Progress(sentence=f"Epoch {count} of {total}", done=count, total=total, seconds_left=left)


def _ranking(folder: Path, config: dict[str, Any], lines: Lines) -> Progress:
    """Networks times seeds; a ranking in other processes has as many CPU-seconds in a second."""
    scored = [line for line in lines if line.get("kind") == "scored"]
    if not files.is_regular(folder / WORKLOAD):
        return _counted(folder, config, scored, "score")
    work = files.read_as(folder / WORKLOAD, Workload)
    total, done = work.networks * work.seeds, min(len(scored), work.networks * work.seeds)
    of_seeds = f" with {work.seeds} seeds" if work.seeds > 1 else ""
    sentence = f"{done} of {total} scored: {counted(work.networks, 'network')}{of_seeds}"
    left = None
    if done:
        spent = sum(_sum(line.get("timing")) for line in scored)
        left = spent / len(scored) * (total - done) / _workers(config)
    return Progress(sentence=sentence, done=done, total=total, seconds_left=left)


def _search(folder: Path, config: dict[str, Any], lines: Lines) -> Progress:
    """Steps of the plan, or seconds of --hours; left is what the stage has told, less what was spent."""
    plans, stages = library.typed(folder, lines, Plan), library.typed(folder, lines, Stage)
    trained = library.typed(folder, lines, Trained)
    if not plans:
        return _counted(folder, config, trained, "training")
    reached: dict[tuple[str, int], int] = {}
    for one in trained:
        key = (one.network, one.replicate)
        reached[key] = max(one.steps, reached.get(key, 0))
    count, total = len({one.network for one in trained}), plans[-1].total_steps
    sentence = f"{counted(count, 'network')} trained so far"
    left, spent = None, 0.0
    if stages:
        stage = stages[-1]
        sentence = f"{stage.stage}. {stage.text} · {sentence}"
        told, began = stage.timing.get("left"), stage.timing.get("spent") or 0.0
        spent = max([one.timing.get("spent", 0.0) for one in trained], default=0.0)
        left = None if told is None else max(0.0, told - max(0.0, spent - began))
    done, hours = sum(reached.values()), config.get("hours")
    if isinstance(hours, int | float):  # spent in as many rounds as they pay for
        done, total = round(spent), round(3600 * hours)
    return Progress(sentence=sentence, done=min(done, total), total=total, seconds_left=left)


def _counted(folder: Path, config: dict[str, Any], lines: Sequence[Any], noun: str = "record") -> Progress:
    count = len(lines)
    return Progress(sentence=f"{counted(count, noun)} so far", done=count)


RULES: dict[str, Rule] = {
    "train": _by_epochs,
    "pretrain": _by_epochs,
    "rank": _ranking,
    "search": _search,
}
"""By verb, those that can be resumed; the records of other runs are counted."""


def _workers(config: dict[str, Any]) -> int:
    """Processes that share the scoring of a ranking."""
    if config.get("spread", "here") == "here":
        return 1
    given = config.get("workers")
    return given if isinstance(given, int) and given > 0 else os.cpu_count() or 1


def _sum(timing: Any) -> float:
    values = timing.values() if isinstance(timing, dict) else ()
    return sum(float(value) for value in values if isinstance(value, int | float))


def _elapsed(folder: Path) -> float:
    """Return the seconds between the settings and the last record of a run."""
    try:
        return max(0.0, (folder / RECORDS).stat().st_mtime - (folder / "config.json").stat().st_mtime)
    except OSError:
        return 0.0


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(3.2), duration(75), duration(7200)
    ('about 4 seconds', 'about 2 minutes', 'about 2.0 hours')
    """
    if seconds < 60:
        return f"about {counted(math.ceil(seconds), 'second')}"
    minutes = counted(math.ceil(seconds / 60), "minute")
    return f"about {minutes}" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
