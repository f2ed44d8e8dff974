"""The first page: what can be done, and the newest runs."""

from starlette.requests import Request
from starlette.responses import Response

from vitruvius.core import plugins
from vitruvius.web import markup
from vitruvius.web.site import Site, get

NEWEST = 8


def start(site: Site, request: Request) -> Response:
    """Show what can be done here and the newest runs with their best value."""
    runs = site.library.runs()
    count = len(plugins.members("lessons"))
    return markup.page("start.html", "Vitruvius", runs=runs[:NEWEST], total=len(runs), lessons=count)


ROUTES = (get("/", start),)
