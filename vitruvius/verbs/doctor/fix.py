"""Mend the proven bugs of a training script: try each patch on a copy, run it again, show the diff.

Only bugs whose edit follows from the source are mended, and only if a run of the changed copy shows that
they are gone; the others are named with the reason. The script itself changes with --write only. Exit code 1
if an error is left.

vitruvius doctor fix --steps 200 train.py --epochs 3
vitruvius doctor fix --write train.py
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from vitruvius.core import config, plugins, records
from vitruvius.core.config import Flags, Positional, Rest
from vitruvius.core.errors import UserError


class Config(config.Config):
    """Which script is mended."""

    script: Positional[str] = ""
    """The Python script that trains."""
    arguments: Rest = ()
    """The arguments of the script."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Stop each run after so many optimiser steps; default: the whole script."""
    write: bool = False
    """Write the mended copy over the script."""
    bug: str = ""
    """Mend this bug only (or several, A,B); an exact warning is mended only if it is named here."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Diagnose the script, try the patches one by one on a copy, and report."""
    if not config.script:
        raise UserError("which script? vitruvius doctor fix [--write] [--steps N] SCRIPT.py [ARGUMENTS...]")
    bugs = tuple(filter(None, config.bug.split(",")))
    for bug in bugs:
        plugins.module("checks", bug)  # refuses an unknown name with its neighbours
    from vitruvius.doctor import fixing
    from vitruvius.doctor.results import Fixed
    from vitruvius.doctor.script import compiled

    script = Path(config.script)
    compiled(script)
    before = script.read_bytes()
    run_copy = fixing.runner(script, config.arguments, config.steps)
    for record in fixing.fixed(script, run_copy, bugs):
        if isinstance(record, Fixed) and config.write and record.mended:
            fixing.write(script, before, fixing.encoded(record.source, before))
            record = record.model_copy(update={"written": True})
        yield record
