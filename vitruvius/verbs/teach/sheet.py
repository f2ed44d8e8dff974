"""Make exercise sheets: every variant has other numbers, pleasant ones, and as hard as the lesson's own.

OUT/sheets holds what students get (a sheet, and a JSON and a CSV file to fill), OUT/key the worked solutions
and OUT/key.json what `vitruvius teach grade` needs.

vitruvius teach sheet attention,bptt --variants 2 --seed 7 --out exercises
vitruvius teach sheet sentence_graph --variants 1 --format notebook --out words
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vitruvius.core import config, records
from vitruvius.core.config import Flags, Names, Positional
from vitruvius.core.errors import UserError


class Config(config.Config):
    """Which lessons, how many variants, in which format."""

    lessons: Positional[Names] = ()
    """The lessons that are asked, separated by commas."""
    variants: Annotated[int, Field(ge=1, le=500)] = 1
    """Sheets with different numbers."""
    seed: int = 0
    """The same seed gives the same sheets."""
    format: Literal["html", "latex", "markdown", "notebook"] = "html"
    """html, latex, markdown or notebook."""
    out: str = ""
    """The folder that is made; it must not hold a key already."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Draw, solve and write all sheets."""
    if not config.lessons:
        raise UserError("which lessons? vitruvius teach sheet LESSON[,LESSON...] --out FOLDER")
    if not config.out:
        raise UserError("--out FOLDER is needed: the sheets are written there")
    if len(set(config.lessons)) < len(config.lessons):
        raise UserError(f"a lesson is named twice: {', '.join(config.lessons)}")
    from vitruvius.teaching import key, publish

    folder = Path(config.out)
    publish.refuse_to_overwrite(folder)
    made, solved = key.make(config.lessons, config.variants, config.seed)
    for done in publish.write(folder, config.format, made, solved):
        yield records.Progress(done=done, total=config.variants, label="sheets")
    yield publish.Sheets(
        folder=str(folder),
        lessons=config.lessons,
        variants=config.variants,
        format=config.format,
        seed=config.seed,
    )
