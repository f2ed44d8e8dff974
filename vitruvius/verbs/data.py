"""Show what a data set holds before anything is trained: classes, parts, sizes, odd files, near-duplicates.

Writes a contact sheet with examples of every class. Exit code 1 if files are unreadable, which would stop a
training.

vitruvius data photos
vitruvius data mnist
vitruvius data photos --fit pad --json
"""

from collections.abc import Iterator
from typing import ClassVar

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags, Positional
from vitruvius.datasets import DataChoice


class Config(config.RunConfig, DataChoice):
    """Which data are looked at."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "name", "runs")
    data: Positional[str] = "mnist"


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Read the data, compare the parts, write the contact sheet and the page."""
    from vitruvius import datasets
    from vitruvius.inspecting import duplicates, report
    from vitruvius.inspecting.results import Result

    asked = config.model_copy(update={"skip_bad": True})  # unreadable files are listed here
    yield from asked.decode()
    data = asked.load()
    with runs.opened("data", config, flags) as (folder, config):
        yield records.Note(text=f"comparing {data.counts} samples")
        comparison = duplicates.compare(data)
        result = Result(survey=datasets.survey(data), comparison=comparison, run=str(folder.folder))
        folder.keep(result)
        report.write(folder.folder, result, data)
        folder.seal(runs.environment(data_sha256=data.sha256))
        yield result
