"""List kernels, data sets, presets, runs and the members of every other family, one line each.

vitruvius list
vitruvius list presets
vitruvius list networks fifty
vitruvius list runs
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core import config, plugins, records, run_list
from vitruvius.core.blocks import Block, Cell, Table
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError, unknown

FAMILIES = ("kernels", "datasets", "objectives", "optimisers", "proxies", "checks", "lessons", "verbs")
COLUMNS = ("name", "parameters", "multiply-adds", "weights MiB", "training MiB per image", "what it is")


class Config(config.Config):
    """Which family to list."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "runs")
    family: Positional[str] = "all"
    """kernels, datasets, presets, networks, runs, ...; by default all but the networks and the runs."""
    table: Positional[str] = "fifty"
    """With networks: the table whose networks are listed, fifty or a FILE.json."""


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
    pass_macs: int
    """Multiply-adds of weights with weights, once per forward pass, whatever the batch."""
    pass_bytes: int
    """Bytes that training keeps of them."""


class Network(config.Strict):
    """A network of a table with every field, what it costs, and its known accuracies."""

    name: str
    params: int
    macs: int
    fields: dict[str, Any]
    """All fields of the Arch, defaults included."""
    accuracy: dict[str, float]
    """By column of the table; those that are not known are left out."""


class Result(records.Result):
    """The members of each family."""

    families: dict[str, tuple[Member, ...]]
    presets: tuple[Preset, ...]
    runs: tuple[run_list.Run, ...] | None = None
    """The run folders, if they were asked for."""
    networks: tuple[Network, ...] = ()
    """The networks of a table, if they were asked for."""
    measured_on: dict[str, str | None] = {}
    """The data on which each column of accuracies was measured."""

    def view(self) -> Iterable[Block]:
        for family, found in self.families.items():
            rows = tuple((member.name, member.summary) for member in found)
            yield Table(title=family, columns=("name", "what it is"), rows=rows)
        presets = []
        for one in self.presets:
            sizes = (one.params, one.macs, one.weight_bytes / 2**20, one.activation_bytes / 2**20)
            presets.append((one.name, *sizes, one.summary))
        if presets:
            yield Table(title="presets", columns=COLUMNS, rows=tuple(presets))
        if self.runs is not None:
            yield run_list.table(self.runs)
        if self.networks:
            yield _network_table(self.networks, self.measured_on)


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """List one family, or all."""
    present = [family for family in FAMILIES if (plugins.PACKAGE / family).is_dir()]
    if config.family == "runs":
        yield Result(families={}, presets=(), runs=run_list.find(Path(flags.runs)))
        return
    if config.family == "networks":
        yield _networks(config.table)
        return
    if config.family not in ("all", "presets", *present):
        raise unknown("family", config.family, ["all", "presets", "networks", "runs", *present])
    families, presets = {}, []
    for family in present:
        if config.family in ("all", family):
            found = plugins.members(family).values()
            families[family] = tuple(Member(name=member.name, summary=member.summary) for member in found)
    if config.family in ("all", "presets"):
        for name, (summary, arch) in tables.presets().items():
            presets.append(Preset(name=name, summary=summary, **cost.cost(arch)._asdict()))
    yield Result(families=families, presets=tuple(presets))


def _networks(table: str) -> Result:
    """List the networks of a table with all their fields."""
    path = tables.file([table])
    if path is None:
        raise UserError(f"list networks {table}: choose fifty or a FILE.json")
    columns = tables.columns(path)
    known = [tables.accuracies(path, column) for column in columns]
    found = []
    for index, (name, arch) in enumerate(tables.networks(path)):
        values = {column: rows[index] for column, rows in zip(columns, known, strict=True)}
        accuracy = {column: value for column, value in values.items() if value is not None}
        params, macs = cost.cost(arch)[:2]
        fields = {field: getattr(arch, field) for field in Arch.model_fields}
        found.append(Network(name=name, params=params, macs=macs, fields=fields, accuracy=accuracy))
    measured = {column: tables.measured_on(path, column) for column in columns}
    return Result(families={}, presets=(), networks=tuple(found), measured_on=measured)


def _network_table(networks: tuple[Network, ...], measured_on: dict[str, str | None]) -> Table:
    """Show a row per network; fields that all networks share are said once, below."""
    varying = [f for f in Arch.model_fields if len({str(one.fields[f]) for one in networks}) > 1]
    columns = [column for column in measured_on if any(column in one.accuracy for one in networks)]
    rows: list[tuple[Cell, ...]] = []
    for one in networks:
        fields = (_cell(one.fields[field]) for field in varying)
        known = (f"{one.accuracy[c]:.2%}" if c in one.accuracy else None for c in columns)
        rows.append((one.name, one.params, one.macs, *fields, *known))
    same = ", ".join(f"{f} {_cell(networks[0].fields[f])}" for f in Arch.model_fields if f not in varying)
    named = tuple(f"{c} ({measured_on[c]})" if measured_on[c] else c for c in columns)
    heads = ("name", "parameters", "multiply-adds", *varying, *named)
    return Table(title="networks", columns=heads, rows=tuple(rows), note=f"the same in all: {same}")


def _cell(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
