"""Run a training script, unmodified, under watch: what is wrong, in which line, and how to fix it.

Everything after the script belongs to it. Exit code 1 if an error (with --fail-on warning also
a warning) is found, otherwise the script's own. Processes that the script starts are watched too.
With --name the report is kept in a run folder, which `vitruvius serve` shows. With --format the
script's own output goes to stderr, so that stdout holds the report alone.

vitruvius doctor run --steps 200 train.py --epochs 3
vitruvius doctor run --json train.py
vitruvius doctor run --table train.py
vitruvius doctor run --fail-on warning train.py
vitruvius doctor run --format sarif train.py
vitruvius doctor run --explain zero_grad
vitruvius doctor run --name monday train.py
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from vitruvius.core import config, plugins, records, runs
from vitruvius.core.config import Flags, Positional, Rest
from vitruvius.core.errors import UserError

if TYPE_CHECKING:
    from vitruvius.doctor.results import Explained


class Config(config.RunConfig):
    """Which script is run, and for how long."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "name", "runs")
    letters: ClassVar[Mapping[str, str]] = {"module": "m"}

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
    format: Literal["text", "sarif", "github", "junit"] = "text"
    """How the report is written: text, SARIF 2.1.0, GitHub workflow commands or JUnit XML."""
    explain: str = ""
    """Run nothing: show what this bug is, a sick and a healthy program, and the lesson behind it."""
    table: bool = False
    """Also measure gradient accumulation: a batch of each network in every (batch, steps)."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Run the script under watch and report; or explain a bug."""
    _refuse(config, flags)
    if config.explain:
        yield _explained(config.explain)
        return
    from vitruvius.doctor import children, formats, report, script
    from vitruvius.doctor.results import Document

    to_stderr = flags.json or config.format != "text"
    words = (config.script, config.arguments, config.steps, to_stderr, config.table, config.module)
    with runs.opened("doctor", config, flags) if flags.name else nullcontext() as opened:
        result = script.run_script(*words).model_copy(update={"fail_on": config.fail_on})
        if children.is_worker():  # of torchrun: rank 0 reports for all
            children.leave(result, children.torchrun_folder())
            return
        result = children.collected(result)
        if opened:
            report.write(opened[0], config.script, result)
    if config.format == "text":
        yield result
    else:
        yield Document(text=formats.FORMATS[config.format](result), code=result.exit_code)


def _refuse(config: Config, flags: Flags) -> None:
    """Refuse a missing script, and options that would silently be ignored."""
    if config.explain and config.script:
        raise UserError("--explain runs nothing: leave the script out, or --explain")
    if not config.explain and not config.script:
        raise UserError("which script? vitruvius doctor run [--steps N] [--json] SCRIPT.py [ARGUMENTS...]")
    if flags.json and config.format != "text":
        raise UserError(f"--json and --format {config.format} are two formats: leave one out")


def _explained(bug: str) -> "Explained":
    """What a check says about itself, and its lesson."""
    from vitruvius.doctor.results import Explained

    check = plugins.module("checks", bug)
    lesson = getattr(check, "LESSON", None)
    summary = plugins.members("lessons")[lesson].summary if lesson else ""
    return Explained(
        bug=bug,
        text=inspect.cleandoc(check.__doc__ or ""),
        looks_for=inspect.getdoc(getattr(check, bug)) or "",
        sick=check.SICK,
        healthy=check.HEALTHY,
        lesson=lesson,
        lesson_summary=summary,
    )
