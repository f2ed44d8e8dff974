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
from typing import Any, ClassVar

from vitruvius.arch import cost, tables
from vitruvius.arch import spaces as search_spaces
from vitruvius.arch.arch import Arch
from vitruvius.core import config, plugins, records, run_list
from vitruvius.core.blocks import Block, Cell, Table
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError, unknown
from vitruvius.measuring import prices

FAMILIES = ("kernels", "datasets", "objectives", "optimisers", "proxies", "checks", "lessons", "verbs")
COLUMNS = ("name", "parameters", "multiply-adds", "MiB per image", "peak MiB")
BATCH = 64
"""Images of the training step whose memory is told."""


class Config(config.Config):
    """Which family to list."""

    takes: ClassVar[tuple[str, ...]] = (*config.Config.takes, "runs")
    family: Positional[str] = "all"
    """kernels, datasets, presets, spaces, networks, runs, ...; by default all but networks and runs."""
    table: Positional[str] = "fifty"
    """With networks: the table whose networks are listed, fifty or a FILE.json."""
    verify: bool = False
    """With runs: compare all files with their checksums; exit code 1 if anything is damaged."""


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
    peak_bytes: int
    """Bytes of a training step with 64 images: weights, gradients, AdamW, activations."""
    predicted_ms: float | None
    """Predicted milliseconds of one image on this machine; None without a price list."""


class Space(Member):
    """A search space, with the number of its networks."""

    networks: int
    """Before constraints and budget."""
    images: tuple[int, int]
    """The smallest and the largest side of the images for which it is meant."""


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
            yield self._presets()
        if self.spaces:
            sides = ["{} to {}".format(*one.images) for one in self.spaces]
            spaces = tuple(
                (one.name, one.networks, side, one.summary)
                for one, side in zip(self.spaces, sides, strict=True)
            )
            yield Table(title="spaces", columns=("name", "networks", "image side", "what it is"), rows=spaces)
        if self.runs is not None:
            if any(run.faults is not None for run in self.runs):
                yield from run_list.verdict(self.runs)
            yield run_list.table(self.runs)
        if self.networks:
            yield _network_table(self.networks, self.measured_on)

    def _presets(self) -> Table:
        """The presets with what they cost; predicted milliseconds where this machine has a price list."""
        with_ms, rows = self.prediction_error is not None, []
        for one in self.presets:
            mebibytes = [number / 2**20 for number in (one.activation_bytes, one.peak_bytes)]
            milliseconds = [one.predicted_ms] * with_ms
            rows.append((one.name, one.params, one.macs, *mebibytes, *milliseconds, one.summary))
        columns = (*COLUMNS, *["predicted ms"] * with_ms, "what it is")
        note = f"MiB per image: what training keeps of it; peak MiB: a training step with {BATCH} images"
        if with_ms:
            error = f"within {100 * (self.prediction_error or 0):.0f} % (median)"
            note = f"{note}; predicted ms: of one image on this machine, {error}"
        return Table(title="presets", columns=columns, rows=tuple(rows), note=note)


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
        yield _networks(config.table)
        return
    if config.family not in ("all", "presets", "spaces", *present):
        raise unknown("family", config.family, ["all", "presets", "spaces", "networks", "runs", *present])
    families, presets = {}, []
    for family in present:
        if config.family in ("all", family):
            found = plugins.members(family).values()
            families[family] = tuple(Member(name=member.name, summary=member.summary) for member in found)
    if config.family in ("all", "presets"):
        for name, (summary, arch) in tables.presets().items():
            price = cost.cost(arch)
            peak, predicted = price.training_bytes(BATCH), prices.predicted_ms(arch)
            costs = {**price._asdict(), "peak_bytes": peak, "predicted_ms": predicted}
            presets.append(Preset(name=name, summary=summary, **costs))
    found_spaces = []
    if config.family in ("all", "spaces"):
        for name in search_spaces.names():
            space = search_spaces.get(name)
            about = {"summary": space.summary, "networks": space.count(), "images": space.images}
            found_spaces.append(Space(name=name, **about))
    error = prices.prediction_error()
    yield Result(
        families=families, presets=tuple(presets), spaces=tuple(found_spaces), prediction_error=error
    )


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
