"""Presets, search spaces and tables of networks as rows with what each network costs."""

from collections.abc import Callable, Sequence
from typing import Any

from vitruvius.arch import cost, spaces, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.blocks import Cell, Table
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError

COLUMNS = ("name", "parameters", "multiply-adds", "MiB per image", "peak MiB")
BATCH = 64
"""Images of the training step whose memory is told."""


class Member(Strict):
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


class Network(Strict):
    """A network of a table with every field, what it costs, and its known accuracies."""

    name: str
    params: int
    macs: int
    fields: dict[str, Any]
    """All fields of the Arch, defaults included."""
    accuracy: dict[str, float]
    """By column of the table; those that are not known are left out."""


def presets(predicted_ms: Callable[[Arch], float | None]) -> tuple[Preset, ...]:
    """Price the networks that ship with the package; their milliseconds are predicted by the caller."""
    found = []
    for name, (summary, arch) in tables.presets().items():
        price = cost.cost(arch)
        peak = price.training_bytes(BATCH)
        costs = {**price._asdict(), "peak_bytes": peak, "predicted_ms": predicted_ms(arch)}
        found.append(Preset(name=name, summary=summary, **costs))
    return tuple(found)


def search_spaces() -> tuple[Space, ...]:
    """Count the networks of every search space."""
    named = {name: spaces.get(name) for name in spaces.names()}
    return tuple(
        Space(name=name, summary=space.summary, networks=space.count(), images=space.images)
        for name, space in named.items()
    )


def networks(table: str) -> tuple[tuple[Network, ...], dict[str, str | None]]:
    """Return the networks of a table with all their fields, and on which data each column was measured."""
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
    return tuple(found), measured


def preset_table(found: Sequence[Preset], prediction_error: float | None) -> Table:
    """The presets with what they cost; predicted milliseconds where this machine has a price list."""
    with_ms = prediction_error is not None
    rows = []
    for one in found:
        mebibytes = [number / 2**20 for number in (one.activation_bytes, one.peak_bytes)]
        milliseconds = [one.predicted_ms] * with_ms
        rows.append((one.name, one.params, one.macs, *mebibytes, *milliseconds, one.summary))
    columns = (*COLUMNS, *["predicted ms"] * with_ms, "what it is")
    note = f"MiB per image: what training keeps of it; peak MiB: a training step with {BATCH} images"
    if prediction_error is not None:
        note = f"{note}; {legend(prediction_error)}"
    return Table(title="presets", columns=columns, rows=tuple(rows), note=note)


def legend(error: float) -> str:
    """Say what a column of predicted milliseconds means, and how far it is off.

    >>> legend(0.052)
    'predicted ms: of one image on this machine, within 5 % (median)'
    """
    return f"predicted ms: of one image on this machine, within {100 * error:.0f} % (median)"


def space_table(found: Sequence[Space]) -> Table:
    """Show a row per search space."""
    rows = [(one.name, one.networks, "{} to {}".format(*one.images), one.summary) for one in found]
    return Table(title="spaces", columns=("name", "networks", "image side", "what it is"), rows=tuple(rows))


def network_table(found: Sequence[Network], measured_on: dict[str, str | None]) -> Table:
    """Show a row per network; fields that all networks share are said once, below."""
    varying = [f for f in Arch.model_fields if len({str(one.fields[f]) for one in found}) > 1]
    columns = [column for column in measured_on if any(column in one.accuracy for one in found)]
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        fields = (_cell(one.fields[field]) for field in varying)
        known = (f"{one.accuracy[c]:.2%}" if c in one.accuracy else None for c in columns)
        rows.append((one.name, one.params, one.macs, *fields, *known))
    same = ", ".join(f"{f} {_cell(found[0].fields[f])}" for f in Arch.model_fields if f not in varying)
    named = tuple(f"{c} ({measured_on[c]})" if measured_on[c] else c for c in columns)
    heads = ("name", "parameters", "multiply-adds", *varying, *named)
    return Table(title="networks", columns=heads, rows=tuple(rows), note=f"the same in all: {same}")


def _cell(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
