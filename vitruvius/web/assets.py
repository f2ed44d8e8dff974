"""The files that pages load: scripts, styles, plotly. The set is fixed when the server starts."""

import hashlib
import mimetypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from vitruvius.core import plugins
from vitruvius.render import interactive

FOLDER = Path(__file__).parent / "static"
KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def known() -> dict[str, Path]:
    """Return all files by the end of their address."""
    found = {
        path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.is_file()
    }
    found["style.css"] = plugins.PACKAGE / "render" / "templates" / "style.css"
    plotly = find_spec("plotly")
    if plotly is not None and plotly.origin:
        found["plotly.js"] = Path(plotly.origin).parent / "package_data" / "plotly.min.js"
    return found


def asset(request: Request) -> Response:
    """Send one of the files; a browser that has it already is told so."""
    path = known().get(request.path_params["name"])
    if path is None:
        raise HTTPException(404, "There is no such file.")
    content, tag = _read(path)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    kind = KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Response(content, media_type=kind, headers=headers)


@cache
def _read(path: Path) -> tuple[bytes, str]:
    content = interactive.script().encode() if path.name == "plotly.min.js" else path.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:20]}"'
