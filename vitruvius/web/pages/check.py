"""Check a student's values: the numbers of the question are in the address, what was written is sent.

The same code as `explain --check`: the first wrong step, the mistake behind it, hints in three levels.
"""

from random import Random
from typing import Any
from urllib.parse import parse_qsl

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from vitruvius import lessons
from vitruvius.core.blocks import Text
from vitruvius.core.errors import UserError
from vitruvius.teaching import answers, sheets, solution, verdict
from vitruvius.teaching.solution import Solution
from vitruvius.web import check_form, lesson_address, markup
from vitruvius.web.site import Site, get, post

MOST_FIELDS = 500


def empty(site: Site, request: Request) -> Response:
    """Show the question and the fields, without the answer."""
    return _page(request, {})


def check(site: Site, request: Request, body: bytes) -> Response:
    """Judge what was written; the form keeps it."""
    if len(body) > answers.LIMIT:
        raise UserError(f"answers have at most {answers.LIMIT:,} bytes, these have {len(body):,}")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise UserError("the answers are not the fields of this form") from None
    return _page(request, dict(pairs))


def _page(request: Request, written: dict[str, str]) -> Response:
    name, filled = lesson_address.name(request), lesson_address.filled(request)
    solved = solution.solve(name, lesson_address.question(filled).model_dump())
    shown = check_form.fields(solved, written)
    title, query = lesson_address.title(name), lesson_address.query(filled)
    content: dict[str, Any] = {"verdict": "", "refusal": "", "wrong": False, "hint": _hint(written)}
    if written:
        content |= _judged(solved, shown, content["hint"])
    return markup.page(
        "check.html",
        f"Check your work: {title}",
        "lessons",
        name=name,
        lesson=title,
        question=_question(solved),
        fields=shown,
        query=query,
        **content,
    )


def _question(solved: Solution) -> Markup:
    """The task in words and its numbers, as an exercise sheet has them."""
    exercise = lessons.exercise(solved.lesson)
    if exercise is None:
        return Markup()
    drawn, own = exercise.draw(Random(0)), type(solved.question)().model_dump(mode="json")
    now = solved.question.model_dump(mode="json")
    names = [field for field in now if field in drawn or now[field] != own[field]]
    return markup.blocks([Text(text=sheets.task(solved)), *sheets.given(solved, names)], "q-")


def _judged(solved: Solution, shown: tuple[check_form.Field, ...], hint: int) -> dict[str, Any]:
    try:
        found = verdict.checked(solved, check_form.values(shown), hint)
    except UserError as error:
        return {"refusal": f"{error}."}
    return {"verdict": markup.blocks(found.blocks, "v-", "h3"), "wrong": found.first_wrong is not None}


def _hint(written: dict[str, str]) -> int:
    level = written.get("hint", "0")
    return int(level) if level in ("0", "1", "2", "3") else 0


ROUTES = (
    get("/lessons/{name}/check", empty),
    post("/lessons/{name}/check", check),
)
