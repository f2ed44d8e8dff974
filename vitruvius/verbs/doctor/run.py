"""Run a training script, unmodified, under watch: what is wrong, in which line, and how to fix it.

Everything after the script belongs to it. Exit code 1 if an error (with --fail-on warning also
a warning) is found, otherwise the script's own. Processes that the script starts are watched too.
With --name the report is kept in a run folder, which `vitruvius serve` shows.

vitruvius doctor run --steps 200 train.py --epochs 3
vitruvius doctor run --json train.py
vitruvius doctor run --table train.py
vitruvius doctor run --fail-on warning train.py
vitruvius doctor run --name monday train.py
"""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags, Positional, Rest
from vitruvius.core.errors import UserError


class Config(config.RunConfig):
    """Which script is run, and for how long."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "name", "runs")

    script: Positional[str] = ""
    """The Python script that trains."""
    arguments: Rest = ()
    """The arguments of the script."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Stop after so many optimiser steps; default: the whole script."""
    module: bool = False
    """SCRIPT is the dotted name of a module, as after `python -m`."""
    fail_on: Literal["error", "warning"] = "error"
    """The least severity that makes the exit code 1."""
    table: bool = False
    """Also measure gradient accumulation: a batch of each network in every (batch, steps)."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Run the script under watch and report."""
    if not config.script:
        raise UserError("which script? vitruvius doctor run [--steps N] [--json] SCRIPT.py [ARGUMENTS...]")
    from vitruvius.doctor import children, report, script

    words = (config.script, config.arguments, config.steps, flags.json, config.table, config.module)
    with runs.opened("doctor", config, flags) if flags.name else nullcontext() as opened:
        result = script.run_script(*words).model_copy(update={"fail_on": config.fail_on})
        if children.is_worker():  # of torchrun: rank 0 reports for all
            children.leave(result, children.torchrun_folder())
            return
        result = children.collected(result)
        if opened:
            report.write(opened[0], config.script, result)
    yield result
