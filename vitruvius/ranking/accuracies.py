"""The accuracies that evaluate scores: columns of a table of networks, or `--accuracies FILE.json` by name.

They are checked before anything is scored and read after the last score is on disk. The file holds
`{"accuracies": {network: fraction}, "data": name}`, or the networks alone.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from vitruvius.arch import tables
from vitruvius.core import files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError, unknown
from vitruvius.ranking.evaluation import NoiseCeiling
from vitruvius.ranking.results import ONLY
from vitruvius.ranking.settings import Config


class AccuracyFile(Strict):
    """Accuracies of networks by name, and the data on which they were measured."""

    accuracies: dict[str, Annotated[float, Field(ge=0, le=1)] | None]
    data: str | None = None


def refuse_bad(config: Config) -> None:
    """Refuse accuracies that are none, before anything is scored."""
    if config.accuracies is not None:
        if config.accuracy is not None:
            given = f"--accuracy {config.accuracy}: --accuracies"
            raise UserError(f"{given} {config.accuracies} has no columns; leave one of both out")
        _read(Path(config.accuracies))
    for column, table in _columns(config).items():
        tables.refuse_bad_accuracies(table, column)
        tables.measured_on(table, column)
    noise_ceiling(config)


def refuse_unknown(config: Config, names: Collection[str]) -> None:
    """Refuse a file that names networks which are not ranked."""
    if config.accuracies is not None:
        for name in _read(Path(config.accuracies)).accuracies:
            if name not in names:
                raise unknown(f"network for {config.accuracies}", name, names)


class Known(Strict):
    """Accuracies by column, each with its data, and the data of columns that are not shown."""

    columns: dict[str, tuple[float | None, ...]]
    measured_on: dict[str, str | None]
    elsewhere: tuple[str, ...] = ()


def read(config: Config, data: str, names: Sequence[str]) -> Known:
    """Return the accuracies that say something about these data; call it after the last score is on disk.

    A column that `--accuracy` names is wanted whatever it was measured on; the result names its data. A part
    of a data set, as in `fashion_mnist (mini)`, is the same data. A column without any value is left out.
    """
    if config.accuracies is not None:
        file = _read(Path(config.accuracies))
        values = tuple(file.accuracies.get(name) for name in names)
        return Known(columns={ONLY: values}, measured_on={ONLY: file.data})
    shown: dict[str, tuple[float | None, ...]] = {}
    measured: dict[str, str | None] = {}
    elsewhere: dict[str, None] = {}
    for column, table in _columns(config).items():
        where = tables.measured_on(table, column)
        if where in (None, data, data.partition(" (")[0]) or config.accuracy is not None:
            values = tuple(tables.accuracies(table, column))
            if any(value is not None for value in values):
                shown[column], measured[column] = values, where
        elif where:
            elsewhere[where] = None
    if len(shown) < 2:  # the only column needs no name
        shown = {ONLY: next(iter(shown.values()), (None,) * len(names))}
        measured = dict(zip([ONLY], measured.values(), strict=False))
    return Known(columns=shown, measured_on=measured, elsewhere=tuple(elsewhere))


def noise_ceiling(config: Config) -> NoiseCeiling | None:
    """Return the noise ceiling that the table records beside its accuracies, if it does."""
    table = tables.file(config.archs)
    found = tables.about(table, "noise_ceiling") if table and config.accuracies is None else None
    try:
        ceiling = None if found is None else NoiseCeiling(**found)
    except (TypeError, UserError) as error:
        raise UserError(f"{table}: noise_ceiling: {error}") from None
    return ceiling if _columns(config) else None


def _columns(config: Config) -> dict[str, Path]:
    """Return the accuracy columns of the table of networks, each with its table."""
    table = tables.file(config.archs)
    if table is None and config.accuracy is not None:
        raise UserError(f"--accuracy {config.accuracy}: only a table of networks has columns of accuracies")
    if config.accuracies is not None or table is None:
        return {}
    return dict.fromkeys(tables.columns(table, config.accuracy), table)


def _read(path: Path) -> AccuracyFile:
    content = files.read_object(path, "accuracies by network")
    if "accuracies" not in content:
        content = {"accuracies": content}
    return files.typed(path, AccuracyFile, content)
