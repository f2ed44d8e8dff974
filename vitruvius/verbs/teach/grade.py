"""Grade what students hand in: points per step, the first wrong step, the mistake, and what follows from it.

Each file (JSON or CSV) belongs to one student and names the variant: {"student": "Ada", "variant": 3,
"answers": {"attention": {...}}}. A file that cannot be read is named and does not end the grading.

vitruvius teach grade exercises/key.json handed_in --out grades
"""

from collections.abc import Iterator
from pathlib import Path

from vitruvius.core import config, records
from vitruvius.core.config import Flags, Names, Positional
from vitruvius.core.errors import UserError


class Config(config.Config):
    """Which key, and whose answers."""

    key: Positional[str] = ""
    """The key.json of the sheets."""
    answers: Positional[Names] = ()
    """Files that were handed in, or folders of them."""
    out: str = ""
    """Also write grades.html, grades.csv, steps.csv and grades.json into this folder."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Grade every student, show the table and the overview of the class."""
    if not config.key or not config.answers:
        raise UserError("what is graded? vitruvius teach grade KEY.json ANSWERS... (files or folders)")
    from vitruvius.teaching import grade, key
    from vitruvius.teaching.results import Part

    made = key.read(Path(config.key))
    files = grade.files_of(config.answers)
    handed_in = []
    for done, path in enumerate(files):
        yield records.Progress(done=done, total=len(files), label=path.name)
        handed_in.append(grade.one(made, path))
    result = grade.collected(handed_in)
    yield Part(blocks=result.blocks)
    if config.out:
        yield records.Note(text=grade.write(result, Path(config.out)))
    yield result
