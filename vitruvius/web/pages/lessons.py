"""Lessons: the list by subject, and each one worked with the numbers in its address.

A number that is changed is computed and proved again by the lesson itself; what cannot be taken is said
beside its field. The address holds the numbers, so that a link to a computation can be mailed.
"""

import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.teaching import report, work
from vitruvius.teaching.results import Worked
from vitruvius.web import lesson_address, markup
from vitruvius.web.site import Site, get, sends

FORMATS = {
    "html": "text/html",
    "latex": "application/x-tex",
    "markdown": "text/markdown",
    "json": "application/json",
}


def index(site: Site, request: Request) -> Response:
    """List the lessons by subject; `?search=` hides those whose name and summary have not all the words."""
    asked = request.query_params.get("search", "")
    words = asked.lower().replace("_", " ").split()
    subjects = {
        subject: [(entry, _has(words, f"{entry.name} {entry.summary} {subject}")) for entry in entries]
        for subject, entries in work.listing().subjects.items()
    }
    return markup.page("lessons.html", "Lessons", "lessons", subjects=subjects, asked=asked)


def _has(words: list[str], text: str) -> bool:
    """Whether a text has all the words, as static/site/lessons.js finds them."""
    plain = text.lower().replace("_", " ")
    return all(word in plain for word in words)


def lesson(site: Site, request: Request) -> Response:
    """Show a lesson worked with the numbers in the address, and the form that changes them."""
    name, filled = lesson_address.name(request), lesson_address.filled(request)
    worked, refusal = None, filled.refusal
    if filled.question is not None:
        try:
            worked = work.worked(name, filled.question.model_dump())
        except UserError as error:
            refusal = str(error)
    return markup.page(
        "lesson.html",
        lesson_address.title(name),
        "lessons",
        name=name,
        summary=plugins.members("lessons")[name].summary,
        subject=report.subject(name),
        form=filled,
        refusal=refusal,
        refused=refusal or any(field.refusal for field in filled.fields),
        worked=_shown(worked) if worked else None,
        query=lesson_address.query(filled),
        formats=FORMATS,
    )


def download(site: Site, request: Request) -> Response:
    """Send a worked lesson as one document, or as a zip of the document and its pictures."""
    name, format = lesson_address.name(request), request.path_params["format"]
    if format not in FORMATS:
        raise HTTPException(404, f"There is no format '{format}': choose {', '.join(FORMATS)}.")
    worked = work.worked(name, lesson_address.question(lesson_address.filled(request)).model_dump())
    file = f"{name}{report.ENDINGS[format]}"
    if format in ("html", "json"):
        return sends(report.document(worked, format, name), FORMATS[format], file)
    with TemporaryDirectory() as folder:
        path = Path(folder) / file
        report.write(worked, format, name, path)
        written = sorted(Path(folder).iterdir())
        if len(written) == 1:
            return sends(path.read_bytes(), FORMATS[format], path.name)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for one in written:
                archive.write(one, one.name)
    return sends(packed.getvalue(), "application/zip", f"{name}.zip")


def _shown(worked: Worked) -> dict[str, Any]:
    """A worked lesson in the order of the page: verdict and answer, steps, proofs."""
    steps = [
        markup.blocks(report.step_blocks(number, step), f"s{number}-")
        for number, step in enumerate(worked.steps, 1)
    ]
    _, *answer = report.answer_blocks(worked.answer, worked.steps)  # the page has its own heading
    passed = sum(proof.passed for proof in worked.checks)
    return {
        "verdict": f"{passed} of {len(worked.checks)} proofs hold",
        "proved": passed == len(worked.checks),
        "answer": markup.blocks(answer, "a-", "h3"),
        "steps": steps,
        "proofs": markup.blocks([block for proof in worked.checks for block in proof.view()], "p-"),
    }


ROUTES = (
    get("/lessons", index),
    get("/lessons/{name}", lesson),
    get("/lessons/{name}/download/{format}", download),
)
