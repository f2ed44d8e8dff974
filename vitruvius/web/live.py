"""A run while it goes on: how far it is, how long it will take, and its curves, from records.jsonl."""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from vitruvius.core.blocks import Block, Lines, Panels
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.core.integrity import RECORDS
from vitruvius.core.run_list import is_running
from vitruvius.render import interactive
from vitruvius.training import report as training_report
from vitruvius.training.results import Epoch, epochs
from vitruvius.web import library
from vitruvius.web.site import Site

SECONDS = 0.5
"""Between two looks at records.jsonl."""
WITH_EPOCHS = ("train", "pretrain")
"""Verbs whose settings say after how many epochs a run ends."""
SILENCE = 15.0
"""Seconds after which an empty line shows that the stream is alive."""


class State(Strict):
    """How far a run is."""

    state: str
    """running, finished or unfinished."""
    sentence: str
    done: int
    total: int | None = None
    seconds_left: float | None = None


async def events(site: Site, request: Request) -> AsyncIterator[str]:
    """Yield the state and the curves of a run whenever they have changed, until it has ended or is gone."""
    try:
        folder = await site.workers.run(site.library.folder, request.path_params["id"])
    except HTTPException as error:
        yield _event("gone", {"sentence": error.detail})
        return
    before: tuple[Any, ...] = ()
    spoken = time.monotonic()
    while True:
        now = _fingerprint(folder)
        if now is None:
            yield _event("gone", {"sentence": "This run has been removed."})
            return
        if now != before:
            try:
                content = await site.workers.run(snapshot, folder)
            except UserError as error:
                content = {"state": "unfinished", "sentence": str(error), "done": 0, "plots": []}
            except HTTPException:  # busy: look again later
                content = {}
            if content:
                before, spoken = now, time.monotonic()
                yield _event("state", content)
                if content["state"] != "running":
                    return
        elif time.monotonic() - spoken > SILENCE:
            spoken = time.monotonic()
            yield ": alive\n\n"
        await asyncio.sleep(SECONDS)


def snapshot(folder: Path) -> dict[str, Any]:
    """Return the state of a run and its curves as plotly draws them."""
    config, lines = library.config(folder), list(library.lines(folder))
    done = epochs(lines) if folder.parent.name == "train" else []
    drawn = [interactive.drawing(figure) for figure in figures(folder, lines)]
    return {**state(folder, config, lines, done).model_dump(), "plots": drawn}


def state(
    folder: Path, config: dict[str, Any], lines: Sequence[dict[str, Any]], done: Sequence[Epoch]
) -> State:
    """Say how far a run is and how long the rest will take at its speed so far."""
    word = "finished" if (folder / "result.json").is_file() else "unfinished"
    word = "running" if is_running(folder) else word
    total = config.get("epochs")
    if folder.parent.name not in WITH_EPOCHS or not isinstance(total, int) or isinstance(total, bool):
        noun = "training" if folder.parent.name == "search" else "record"
        count = sum(line.get("kind") == "trained" for line in lines) if noun == "training" else len(lines)
        return State(state=word, sentence=f"{count} {noun}{'s' * (count != 1)} so far", done=count)
    numbers = [line["epoch"] for line in lines if isinstance(line.get("epoch"), int)]
    count = min(max(numbers, default=0), total)
    left = None
    if count and word == "running":
        spent = sum(epoch.timing.seconds for epoch in done) or _elapsed(folder)
        left = spent / count * (total - count)
    sentence = f"Epoch {count} of {total}"
    if word == "running":
        sentence += f" · {_duration(left)} left" if left is not None else " · the first one is under way"
    elif word == "unfinished":
        sentence += f" · stopped; vitruvius {folder.parent.name} --resume {folder.name} goes on"
    return State(state=word, sentence=sentence, done=count, total=total, seconds_left=left)


def figures(folder: Path, lines: Sequence[dict[str, Any]]) -> list[Lines]:
    """Return the curves of a training or a pretraining so far."""
    if folder.parent.name == "train":
        done = epochs(lines)
        return _lines([training_report.curves(done)]) if done else []
    if folder.parent.name == "pretrain":
        from vitruvius.pretraining import report as pretraining_report
        from vitruvius.pretraining.results import Points

        points = [Points(**_fields(line)) for line in lines if line.get("kind") == "points"]
        return _lines(pretraining_report.curves(points).values()) if points else []
    return []


def _lines(found: Any) -> list[Lines]:
    blocks: list[Block] = [
        part for figure in found for part in (figure.figures if isinstance(figure, Panels) else (figure,))
    ]
    return [block for block in blocks if isinstance(block, Lines) and block.series]


def _fields(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key != "kind"}


def _fingerprint(folder: Path) -> tuple[Any, ...] | None:
    """Return what changes when a run goes on; None if it is gone."""
    if not (folder / "config.json").is_file():
        return None
    try:
        size = (folder / RECORDS).stat().st_size
    except OSError:
        size = 0
    return size, (folder / "result.json").is_file(), is_running(folder)


def _elapsed(folder: Path) -> float:
    """Return the seconds between the settings and the last record of a run."""
    try:
        return max(0.0, (folder / RECORDS).stat().st_mtime - (folder / "config.json").stat().st_mtime)
    except OSError:
        return 0.0


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(3.2), _duration(75), _duration(7200)
    ('about 4 seconds', 'about 2 minutes', 'about 2.0 hours')
    """
    if seconds < 60:
        return f"about {math.ceil(seconds)} seconds"
    return (
        f"about {math.ceil(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
    )


def _event(name: str, content: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(content, allow_nan=False)}\n\n"
