"""A run while it goes on: how far it is, how long it will take, and its curves, from records.jsonl."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from vitruvius.core.blocks import Block, Lines, Panels, Series
from vitruvius.core.errors import UserError
from vitruvius.core.integrity import RECORDS
from vitruvius.core.run_list import is_running
from vitruvius.render import interactive
from vitruvius.training import report as training_report
from vitruvius.training.results import epochs
from vitruvius.web import library, progress
from vitruvius.web.site import Site

SECONDS = 0.5
"""Between two looks at records.jsonl."""
SILENCE = 15.0
"""Seconds after which an empty line shows that the stream is alive."""


async def events(site: Site, request: Request) -> AsyncIterator[str]:
    """Yield the state and the curves of a run whenever they have changed, until it has ended or is gone."""
    try:
        folder = await site.workers.run(site.library.folder, request.path_params["id"])
    except HTTPException as error:
        # Who asks has its page open: the run was there a moment ago.
        yield REMOVED if error.status_code == 404 else _event("gone", {"sentence": error.detail})
        return
    before: tuple[Any, ...] = ()
    spoken = time.monotonic()
    while True:
        now = _fingerprint(folder)
        if now is None:
            yield REMOVED
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
                    await asyncio.sleep(SECONDS)  # half of its files removed, a run looks as if it had ended
                    if _fingerprint(folder) is None:
                        yield REMOVED
                    return
        elif time.monotonic() - spoken > SILENCE:
            spoken = time.monotonic()
            yield ": alive\n\n"
        await asyncio.sleep(SECONDS)


def snapshot(folder: Path) -> dict[str, Any]:
    """Return the state of a run and its curves as plotly draws them."""
    config, lines = library.config(folder), list(library.lines(folder))
    drawn = [interactive.drawing(figure) for figure in figures(folder, lines)]
    return {**progress.state(folder, config, lines).model_dump(), "plots": drawn}


def figures(folder: Path, lines: Sequence[dict[str, Any]]) -> list[Lines]:
    """Return the curves of a training, a pretraining or a search so far."""
    if folder.parent.name == "train":
        done = epochs(lines)
        return _lines([training_report.curves(done)]) if done else []
    if folder.parent.name == "pretrain":
        from vitruvius.pretraining import report as pretraining_report
        from vitruvius.pretraining.results import Points

        points = [Points(**_fields(line)) for line in lines if line.get("kind") == "points"]
        return _lines(pretraining_report.curves(points).values()) if points else []
    if folder.parent.name == "search":
        return _best_so_far(lines)
    return []


def _best_so_far(lines: Sequence[dict[str, Any]]) -> list[Lines]:
    """The best validation accuracy after each training of a search."""
    found = [line.get("accuracy") for line in lines if line.get("kind") == "trained"]
    known = [100.0 * value if isinstance(value, int | float) else 0.0 for value in found]
    if not known:
        return []
    best = Series(
        name="best so far", x=tuple(map(float, range(1, len(known) + 1))), y=tuple(accumulate(known, max))
    )
    each = Series(name="this training", x=best.x, y=tuple(known))
    title, x_label, y_label = "Validation accuracy", "training", "accuracy in %"
    return [Lines(title=title, series=(best, each), x_label=x_label, y_label=y_label)]


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


def _event(name: str, content: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(content, allow_nan=False)}\n\n"


REMOVED = _event("gone", {"sentence": "This run has been removed."})
