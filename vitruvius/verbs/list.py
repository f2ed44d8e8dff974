"""List kernels, data sets, presets, runs and the members of every other family, one line each.

vitruvius list
vitruvius list presets
vitruvius list runs
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from vitruvius.arch import cost, tables
from vitruvius.core import config, plugins, records, run_list
from vitruvius.core.blocks import Block, Table
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import unknown

FAMILIES = ("kernels", "datasets", "objectives", "optimisers", "proxies", "checks", "lessons", "verbs")
COLUMNS = ("name", "parameters", "multiply-adds", "weights MiB", "training MiB per image", "what it is")


class Config(config.Config):
    """Which family to list."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "runs")
    family: Positional[str] = "all"
    """kernels, datasets, presets, runs, ...; by default all but the runs."""


class Member(config.Strict):
    """One member of a family."""

    name: str
    summary: str


class Preset(Member):
    """A network that ships with the package, with what it costs."""

    params: int
    macs: int
    """Multiply-adds of one forward pass of one image."""
    weight_bytes: int
    activation_bytes: int
    """Bytes that training keeps of one image for the backward pass."""


class Result(records.Result):
    """The members of each family."""

    families: dict[str, tuple[Member, ...]]
    presets: tuple[Preset, ...]
    runs: tuple[run_list.Run, ...] | None = None
    """The run folders, if they were asked for."""

    def view(self) -> Iterable[Block]:
        for family, found in self.families.items():
            yield Table(
                title=family, columns=("name", "what it is"), rows=tuple((m.name, m.summary) for m in found)
            )
        if self.presets:
            yield Table(
                title="presets",
                columns=COLUMNS,
                rows=tuple(_row(preset) for preset in self.presets),
            )
        if self.runs is not None:
            yield run_list.table(self.runs)


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """List one family, or all."""
    present = [family for family in FAMILIES if (plugins.PACKAGE / family).is_dir()]
    if config.family == "runs":
        yield Result(families={}, presets=(), runs=run_list.find(Path(flags.runs)))
        return
    if config.family not in ("all", "presets", *present):
        raise unknown("family", config.family, ["all", "presets", "runs", *present])
    wanted = present if config.family == "all" else [family for family in present if family == config.family]
    families = {
        family: tuple(Member(name=m.name, summary=m.summary) for m in plugins.members(family).values())
        for family in wanted
    }
    shown = config.family in ("all", "presets")
    yield Result(families=families, presets=tuple(map(_preset, tables.presets())) if shown else ())


def _preset(name: str) -> Preset:
    summary, arch = tables.presets()[name]
    return Preset(name=name, summary=summary, **cost.cost(arch)._asdict())


def _row(preset: Preset) -> tuple[str | int | float, ...]:
    mib = 2**20
    weights, kept = preset.weight_bytes / mib, preset.activation_bytes / mib
    return preset.name, preset.params, preset.macs, weights, kept, preset.summary
