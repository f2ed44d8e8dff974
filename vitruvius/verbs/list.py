"""List kernels, data sets, presets, runs and the members of every other family, one line each.

vitruvius list
vitruvius list presets
vitruvius list spaces
vitruvius list networks fifty
vitruvius list runs
vitruvius list runs --verify
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from vitruvius.arch import listing
from vitruvius.arch.listing import Member, Network, Preset, Space
from vitruvius.core import config, plugins, records, run_list
from vitruvius.core.blocks import Block, Table
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError, unknown
from vitruvius.measuring import prices

FAMILIES = ("kernels", "datasets", "objectives", "optimisers", "proxies", "checks", "lessons", "verbs")


class Config(config.Config):
    """Which family to list."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "runs")
    family: Positional[str] = "all"
    """kernels, datasets, presets, spaces, networks, runs, ...; by default all but networks and runs."""
    table: Positional[str] = "fifty"
    """With networks: the table whose networks are listed, fifty or a FILE.json."""
    verify: bool = False
    """With runs: compare all files with their checksums; exit code 1 if anything is damaged."""


class Result(records.Result):
    """The members of each family."""

    families: dict[str, tuple[Member, ...]]
    presets: tuple[Preset, ...]
    prediction_error: float | None = None
    """Median relative error of the predicted milliseconds on networks that the price list had not seen."""
    spaces: tuple[Space, ...] = ()
    runs: tuple[run_list.Run, ...] | None = None
    """The run folders, if they were asked for."""
    networks: tuple[Network, ...] = ()
    """The networks of a table, if they were asked for."""
    measured_on: dict[str, str | None] = {}
    """The data on which each column of accuracies was measured."""

    @property
    def exit_code(self) -> int:
        return 1 if any(run.faults for run in self.runs or ()) else 0

    def view(self) -> Iterable[Block]:
        for family, found in self.families.items():
            rows = tuple((member.name, member.summary) for member in found)
            yield Table(title=family, columns=("name", "what it is"), rows=rows)
        if self.presets:
            yield listing.preset_table(self.presets, self.prediction_error)
        if self.spaces:
            yield listing.space_table(self.spaces)
        if self.runs is not None:
            if any(run.faults is not None for run in self.runs):
                yield from run_list.verdict(self.runs)
            yield run_list.table(self.runs)
        if self.networks:
            yield listing.network_table(self.networks, self.measured_on)


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """List one family, or all."""
    present = [family for family in FAMILIES if (plugins.PACKAGE / family).is_dir()]
    if config.verify and config.family != "runs":
        raise UserError(f"list {config.family} --verify: only run folders are verified: list runs --verify")
    if config.family == "runs":
        find = run_list.verified if config.verify else run_list.find
        yield Result(families={}, presets=(), runs=find(Path(flags.runs)))
        return
    if config.family == "networks":
        found, measured_on = listing.networks(config.table)
        yield Result(families={}, presets=(), networks=found, measured_on=measured_on)
        return
    if config.family not in ("all", "presets", "spaces", *present):
        raise unknown("family", config.family, ["all", "presets", "spaces", "networks", "runs", *present])
    families = {}
    for family in present:
        if config.family in ("all", family):
            members = plugins.members(family).values()
            families[family] = tuple(Member(name=member.name, summary=member.summary) for member in members)
    yield Result(
        families=families,
        presets=listing.presets(prices.predicted_ms) if config.family in ("all", "presets") else (),
        spaces=listing.search_spaces() if config.family in ("all", "spaces") else (),
        prediction_error=prices.prediction_error(),
    )
