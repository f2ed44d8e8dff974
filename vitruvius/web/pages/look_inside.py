"""Look inside a network: the viewer on the one that ships, or on any training run.

A network that fits is sent to the browser, which computes it; a larger one is computed here.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.web import look, markup, trained, weights
from vitruvius.web.site import Site, get, post, sends

SHIPPED = "shipped"
_networks = look.Networks()


class Model(Strict):
    """The part of a run's model.json that says which network it holds."""

    model_config = {"extra": "ignore"}
    arch: Arch


def page(site: Site, request: Request) -> Response:
    """Show the viewer on the network that the address names."""
    id = request.query_params.get("run", SHIPPED)
    runs = [one for one in site.library.runs() if one.run.verb == "train" and one.headline]
    name, fault, where = "mnist-slim", "", "browser"
    if id != SHIPPED:
        folder = site.library.folder(id)
        name = folder.name
        try:
            arch = files.read_as(folder / "model.json", Model).arch
            where = "browser" if look.fits_browser(arch) else "server"
        except UserError as error:
            fault = str(error)
    title = "Look inside" if id == SHIPPED else f"Look inside {name}"
    return markup.page("look.html", title, "look", id=id, name=name, runs=runs, fault=fault, where=where)


def network(site: Site, request: Request) -> Response:
    """Send a network as the file that the viewer reads."""
    if request.path_params["id"] == SHIPPED:
        return sends(files.read(trained.SHIPPED, trained.FILE_LIMIT), "application/octet-stream")
    return sends(weights.pack(_shown(site, request)), "application/octet-stream")


def description(site: Site, request: Request) -> Response:
    """Say what a network is, for a viewer whose network is computed here."""
    return JSONResponse(look.description(_shown(site, request)))


def forward(site: Site, request: Request, body: bytes) -> Response:
    """Answer with the scores and the attention weights of a picture."""
    shown = _shown(site, request)
    return sends(look.answer(shown, *look.read_question(shown, body)), "application/octet-stream")


def detail(site: Site, request: Request, body: bytes) -> Response:
    """Answer with the numbers behind one token."""
    shown = _shown(site, request)
    return JSONResponse(look.detail(shown, *look.read_question(shown, body)))


def _shown(site: Site, request: Request) -> weights.Viewable:
    id = request.path_params["id"]
    return _networks.shipped() if id == SHIPPED else _networks.of_run(site.library.folder(id))


ROUTES = (
    get("/look", page),
    get("/look/{id}/network", network),
    get("/look/{id}/description", description),
    post("/look/{id}/forward", forward),
    post("/look/{id}/detail", detail),
)
