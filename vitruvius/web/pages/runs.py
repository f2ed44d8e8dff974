"""Runs: the table of all run folders, and the page of each: its report, live while it goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from vitruvius.core import files, records
from vitruvius.core.errors import UserError
from vitruvius.core.run_list import is_running
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.ranking.results import Result as Ranked
from vitruvius.web import library, live, markup, progress, shown_runs
from vitruvius.web.security import REPORT_POLICY
from vitruvius.web.site import Site, get, png, stream

REPORT_LIMIT = 64 * 2**20
DRAWN: dict[str, tuple[str, ...]] = {
    "train": ("curves", "confusion"),
    "pretrain": ("loss", "accuracy"),
    "rank": ("ranking",),
    "search": ("front",),
}
"""Pictures of a run that its page draws anew, by verb and the beginning of their names."""
OWN_PAGE = ("train", "rank", "search", "pretrain", "doctor")
"""Verbs whose runs have a page here; the others show their report.html in a frame."""


def index(site: Site, request: Request) -> Response:
    """List all runs as a table that can be filtered and sorted."""
    runs = site.library.runs()
    verbs = sorted({one.run.verb for one in runs})
    return markup.page("runs.html", "Runs", "runs", runs=runs, verbs=verbs, root=str(site.library.root))


def run(site: Site, request: Request) -> Response:
    """Show one run: verdict, pictures, tables, settings; what cannot be read is said in its place."""
    folder = site.library.folder(request.path_params["id"])
    entry = site.library.entry(folder)
    content: dict[str, Any] = {"kind": "other", "blocks": "", "fault": ""}
    result: records.Result | None = None
    try:
        result = site.library.result(folder)
        content |= _content(folder, result)
        content["settings"] = shown_runs.settings(folder.parent.name, library.config(folder))
    except UserError as error:
        content["fault"] = str(error)
    return markup.page(
        "run.html",
        folder.name,
        "runs",
        **{"settings": (), "live": None, **content},
        blocks_of=lambda table: markup.blocks([table]),
        id=request.path_params["id"],
        run=entry,
        headline=site.library.headline(folder),
        pictures=_pictures(folder),
        has_report=files.is_regular(folder / "report.html"),
        has_page=folder.parent.name in OWN_PAGE,
        has_model=files.is_regular(folder / "model.safetensors") and folder.parent.name == "train",
    )


def _pictures(folder: Path) -> dict[str, str]:
    """The pictures that the page does not draw itself: id and name of each."""
    drawn = DRAWN.get(folder.parent.name, ())
    kept = {id: path.stem for id, path in library.pictures(folder).items() if not path.stem.startswith(drawn)}
    return {id: stem.replace("-", " ").replace("_", " ") for id, stem in kept.items()}


def _content(folder: Path, result: records.Result | None) -> dict[str, Any]:
    """What the page of a run shows, by the kind of its result."""
    if result is None or (folder.parent.name in ("train", "pretrain") and is_running(folder)):
        lines = list(library.lines(folder))
        shown = markup.blocks(live.figures(folder, lines))
        return {
            "kind": "live",
            "live": progress.state(folder, library.config(folder), lines),
            "blocks": shown or Markup('<div class="plots"></div>'),
        }
    if isinstance(result, Ranked):
        return {"kind": "ranking", "ranking": shown_runs.ranking(result)}
    if isinstance(result, Diagnosis):
        return {"kind": "doctor", **shown_runs.diagnosis(folder, result)}
    blocks = BLOCKS.get(folder.parent.name, shown_runs.plain)(folder, result)
    return {"kind": "other", "blocks": markup.blocks(blocks)}


BLOCKS: dict[str, Callable[[Path, Any], Any]] = {
    "train": shown_runs.training,
    "pretrain": shown_runs.pretraining,
    "search": shown_runs.search,
}


def picture(site: Site, request: Request) -> Response:
    """Send one of a run's pictures."""
    folder = site.library.folder(request.path_params["id"])
    path = library.pictures(folder).get(request.path_params["picture"])
    if path is None:
        raise HTTPException(404, "This run has no such picture; it may have been removed.")
    return png(files.read(path, REPORT_LIMIT))


def report(site: Site, request: Request) -> Response:
    """Send a run's own report.html, shut off from this site."""
    folder = site.library.folder(request.path_params["id"])
    answer = Response(files.read(folder / "report.html", REPORT_LIMIT), media_type="text/html")
    answer.headers["Content-Security-Policy"] = REPORT_POLICY
    return answer


ROUTES = (
    get("/runs", index),
    get("/runs/{id}", run),
    get("/runs/{id}/report", report),
    get("/runs/{id}/pictures/{picture}", picture),
    stream("/runs/{id}/events", live.events),
)
