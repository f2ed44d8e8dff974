"""The address of a lesson: its name, and the numbers that are not its own."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.core.errors import UserError, unknown
from vitruvius.web.form import Form, form


def name(request: Request) -> str:
    """Return the lesson that an address names; 404 if there is none."""
    asked = str(request.path_params["name"])
    if asked not in (known := plugins.members("lessons")):
        raise HTTPException(404, f"There is {unknown('lesson', asked, known)}")
    return asked


def filled(request: Request) -> Form:
    """Return the form of the lesson with the numbers of the address."""
    return form(lessons.get(name(request)).Question, _sent(request))


def question(found: Form) -> lessons.Question:
    """Return the question of a form; refuse numbers that cannot be taken."""
    if found.question is None:
        said = [*(field.refusal for field in found.fields), found.refusal]
        raise UserError("; ".join(filter(None, said)))
    return found.question


def query(found: Form) -> str:
    """Return the end of an address that holds the numbers which are not the lesson's own."""
    pairs = urlencode([(field.name, field.text) for field in found.fields if field.text != field.default])
    return f"?{pairs}" if pairs else ""


def title(lesson: str) -> str:
    """Return the name of a lesson as a heading."""
    return lesson.replace("_", " ").capitalize()


def _sent(request: Request) -> Mapping[str, str]:
    return {field: text for field, text in request.query_params.items() if field != "token"}
