"""The accuracies that a table of networks records: they evaluate the scores, which never see them."""

from collections.abc import Sequence

from vitruvius.arch import tables
from vitruvius.core.errors import UserError
from vitruvius.ranking.results import ONLY, NoiseCeiling
from vitruvius.ranking.settings import RankConfig

ByColumn = dict[str, Sequence[float | None]]


def refuse_bad(config: RankConfig) -> None:
    """Refuse a table whose accuracies are not numbers in range, before the first score is computed."""
    columns, table = _columns(config), tables.file(config.archs)
    if table is not None:
        for column in columns:
            tables.refuse_bad_accuracies(table, column)
    noise_ceiling(config)


def read(config: RankConfig, count: int) -> ByColumn:
    """Return the accuracies of the `count` networks by column; call it after the last score is on disk."""
    table, columns = tables.file(config.archs), _columns(config)
    if table is None or not columns:
        return {ONLY: (None,) * count}
    found = {column: tables.accuracies(table, column) for column in columns}
    return {**found} if len(found) > 1 else {ONLY: found[columns[0]]}


def noise_ceiling(config: RankConfig) -> NoiseCeiling | None:
    """Return the noise ceiling that the table records beside its accuracies, if it does."""
    table = tables.file(config.archs)
    found = tables.about(table, "noise_ceiling") if table else None
    try:
        ceiling = None if found is None else NoiseCeiling(**found)
    except (TypeError, UserError) as error:
        raise UserError(f"{table}: noise_ceiling: {error}") from None
    return ceiling if _columns(config) else None


def _columns(config: RankConfig) -> list[str]:
    """Return the names of the accuracy columns that evaluate the scores."""
    table = tables.file(config.archs)
    if table is not None:
        return tables.columns(table, config.accuracy)
    if config.accuracy is not None:
        raise UserError(f"--accuracy {config.accuracy}: only a table of networks has accuracies")
    return []
