"""The application: the pages of the folder `pages`, the files that they load, and what happens on errors."""

import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vitruvius.core import plugins
from vitruvius.core.errors import UserError, VitruviusError, reason
from vitruvius.web import assets, markup
from vitruvius.web.library import Library
from vitruvius.web.security import Door, Guard
from vitruvius.web.site import Site
from vitruvius.web.workers import Workers


def application(door: Door, runs: Path, workers: Workers) -> ASGIApp:
    """The whole site behind its guard; `runs` is the folder whose runs are shown."""
    routes: list[Route] = []
    for name in plugins.members("web/pages"):
        routes += import_module(f"vitruvius.web.pages.{name}").ROUTES
    routes.append(Route("/static/{name:path}", _asset))
    handlers: dict[Any, Any] = {
        HTTPException: _refused,
        VitruviusError: _failed,
        OSError: _unreadable,
        ClientDisconnect: _left,
        Exception: _broken,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.site = Site(door, Library(runs), workers)
    return Guard(app, door)


async def _asset(request: Request) -> Response:
    return assets.asset(request)


async def _refused(request: Request, error: HTTPException) -> Response:
    unknown = error.status_code == 404 and error.detail == "Not Found"
    answer = _said(request, error.status_code, "There is no such page." if unknown else error.detail)
    answer.headers.update(error.headers or {})
    return answer


async def _failed(request: Request, error: VitruviusError) -> Response:
    return _said(request, 400 if isinstance(error, UserError) else 503, _sentence(str(error)))


async def _unreadable(request: Request, error: OSError) -> Response:
    """Answer where a file could not be read: a run may vanish while it is shown."""
    name = Path(str(error.filename)).name if error.filename else "a file"
    return _said(request, 404, f"{name} could not be read: {reason(error)}. The run may have been removed.")


async def _left(request: Request, error: ClientDisconnect) -> Response:
    """Whoever sent half a request has gone; nobody reads this."""
    return Response(status_code=400)


async def _broken(request: Request, error: Exception) -> Response:
    """Say that the fault is ours, and show it where the server was started."""
    traceback.print_exception(error)
    return _said(request, 500, "A fault of this program; the terminal in which it was started shows it.")


def _said(request: Request, status: int, sentence: str) -> Response:
    """A page for a person, a line of text for a script."""
    if "text/html" in request.headers.get("accept", ""):
        return markup.refusal(status, sentence)
    return PlainTextResponse(sentence, status)


def _sentence(text: str) -> str:
    """A message of the command line as a sentence of a page."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
