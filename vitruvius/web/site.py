"""What all pages share, and how a function becomes a page: it runs in a thread of the workers."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from vitruvius.web.library import Library
from vitruvius.web.security import Door
from vitruvius.web.workers import Workers

STREAMS = 32
"""Streams at one time; one more is answered with 503."""


@dataclass
class Site:
    """The address, the runs and the threads of one server."""

    door: Door
    library: Library
    workers: Workers
    streams: int = 0
    """Streams that are open."""


Page = Callable[[Site, Request], Response]
Taker = Callable[[Site, Request, bytes], Response]
Stream = Callable[[Site, Request], AsyncIterator[str]]


def get(path: str, page: Page) -> Route:
    """A page, or a file."""

    async def answer(request: Request) -> Response:
        site: Site = request.app.state.site
        return await site.workers.run(page, site, request)

    return Route(path, answer, methods=["GET"])


def post(path: str, taker: Taker) -> Route:
    """An answer to what was sent."""

    async def answer(request: Request) -> Response:
        site: Site = request.app.state.site
        return await site.workers.run(taker, site, request, await request.body())

    return Route(path, answer, methods=["POST"])


def stream(path: str, events: Stream) -> Route:
    """Server-sent events; at most STREAMS at one time."""

    async def answer(request: Request) -> Response:
        site: Site = request.app.state.site
        if site.streams >= STREAMS:
            raise HTTPException(503, f"{STREAMS} pages are open that follow runs: close one.")
        return StreamingResponse(_counted(site, events(site, request)), media_type="text/event-stream")

    return Route(path, answer, methods=["GET"])


async def _counted(site: Site, events: AsyncIterator[str]) -> AsyncIterator[str]:
    site.streams += 1
    try:
        async for event in events:
            yield event
    finally:
        site.streams -= 1


def sends(content: bytes | str, kind: str, name: str = "") -> Response:
    """A file; with a name it is saved instead of shown."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
    return Response(content, media_type=kind, headers=headers)


png = partial(sends, kind="image/png")
