"""A run of `rank`: continue or open its folder, score what is left, evaluate, and write what people look at.

Top-level imports are free of torch, so that a finished run is shown again at once.
"""

import dataclasses
import re
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vitruvius.arch import tables
from vitruvius.core import files, integrity, records, runs
from vitruvius.core.config import Flags, changed
from vitruvius.core.errors import Interrupted, UserError
from vitruvius.core.runs import RunFolder
from vitruvius.core.signals import StopRequest
from vitruvius.datasets import own_pictures
from vitruvius.ranking.results import ONLY, NoiseCeiling, Result
from vitruvius.ranking.settings import Config

if TYPE_CHECKING:
    from vitruvius.ranking.score import Scored, Scoring


class Prepared(NamedTuple):
    """A checked request: the networks' names, what is scored, the name of the data and the environment."""

    names: tuple[str, ...]
    scoring: "Scoring"
    data: str
    environment: dict[str, Any]


def continue_named(config: Config, flags: Flags) -> Flags:
    """Turn `--name` of an existing run with the same settings into `--resume`; refuse other settings."""
    folder = Path(flags.runs) / "rank" / (flags.name or "")
    if flags.resume is not None or flags.name is None or not (folder / "config.json").is_file():
        return flags
    before = config.read_older(files.read_object(folder / "config.json", follow=False))
    now = config.model_dump(mode="json")
    fields = [field for field in changed(before, now) if field not in config.changeable]
    if fields:
        pairs = "; ".join(f"{field} was {before.get(field)!r}, now {now.get(field)!r}" for field in fields)
        raise UserError(f"the run {folder} was made otherwise ({pairs}): choose another --name")
    return dataclasses.replace(flags, resume=str(folder), name=None)


def finished(folder: RunFolder, config: Config) -> Result | None:
    """Return the result of a run that is complete and was made from the input files as they are now."""
    manifest = integrity.read_manifest(folder.folder)
    if manifest is None or manifest.environment.get("inputs") != inputs(config):
        return None
    if runs.check(folder.folder):  # a damaged table or page is written again, and damaged scores anew
        return None
    try:
        return files.read_as(runs.verify(folder.folder, "result.json"), Result)
    except UserError:
        return None


def inputs(config: Config) -> dict[str, str]:
    """Return the SHA-256 of each file that the settings name, and of the listing of the user's own images."""
    table = tables.file(config.archs)
    words = (*config.archs, *config.proxies, config.data)
    paths = [table] if table else []
    paths += [Path(word.rpartition(":")[0]) for word in words if ".py:" in word]
    found = {str(path): files.sha256(path) for path in paths if path.is_file()}
    if own_pictures(config.data):
        member, _, argument = config.data.partition(":")
        path = Path(config.data_dir or ".") / re.sub(r"(?<=.)@\d+$", "", argument)
        found[config.data] = files.tree_hash(path if member == "folder" else path.parent)
    return found


def prepare(config: Config) -> Prepared:
    """Read the data and the networks; every fault of the request is refused here."""
    from vitruvius.ranking import candidates, score
    from vitruvius.training.batches import require_classes

    for column, table in _accuracy_columns(config).items():
        tables.refuse_bad_accuracies(table, column)
        tables.measured_on(table, column)
    _noise_ceiling(config)
    proxies = score.locate_proxies(config.proxies)
    data = config.load(limit=config.batch * config.seeds)
    require_classes(data)
    networks = candidates.networks(config.archs, data, config.batch)
    seeds = range(config.seed, config.seed + config.seeds)
    batches = {seed: score.minibatch(data, config.batch, seed) for seed in seeds}
    scoring = score.Scoring(tuple(networks.values()), score.Shared(proxies, batches))
    environment = runs.environment(threads=1, data_sha256=data.sha256, inputs=inputs(config))
    return Prepared(tuple(networks), scoring, data.name, environment)


def score_rest(
    folder: RunFolder, config: Config, scoring: "Scoring", stop: StopRequest
) -> "Generator[records.Record, None, dict[str, Scored]]":
    """Score what the folder does not hold yet; every score is on disk before the next one is requested."""
    from vitruvius.ranking import score

    lines, faults = folder.intact_records()
    for fault in faults:
        yield records.Note(text=f"{fault}; it is scored again", warning=True)
    done = score.read(lines, scoring)
    if done:
        yield records.Note(text=f"{len(done)} of {len(scoring.tasks)} were scored before")
    for record in score.score_all(scoring, dict(done), config.spread, config.workers):
        folder.keep(record)
        done[record.key] = record
        yield record
        yield records.Progress(done=len(done), total=len(scoring.tasks), label="scoring")
        if stop.signal is not None:
            name = folder.folder.name
            raise Interrupted(f"stopped; what is scored is kept: --resume {name} goes on", stop.signal)
    return done


def finish(
    folder: RunFolder, config: Config, prepared: Prepared, done: "dict[str, Scored]", began: float
) -> Result:
    """Read the accuracies, now that every score is on disk, evaluate the scores and write the run's files."""
    from vitruvius.ranking import report, score, verdict

    table = score.score_table(prepared.scoring, done)
    shown, elsewhere = _columns_for(config, prepared.data)
    known = _accuracies(shown, len(prepared.names))
    ranked = verdict.candidates(prepared.names, prepared.scoring.networks, table, known)
    named = {column: tables.measured_on(path, column) for column, path in shown.items()}
    result = Result(
        archs=verdict.in_order(ranked),
        evaluation={column: verdict.evaluate(table, ranked, column, config.seed) for column in known},
        best={proxy: verdict.best(prepared.names, rows) for proxy, rows in table.items()},
        noise_ceiling=_noise_ceiling(config) if shown else None,
        data=prepared.data,
        measured_on=named if len(named) > 1 else dict(zip([ONLY], named.values(), strict=False)),
        measured_elsewhere=elsewhere,
        seconds=round(time.monotonic() - began, 2),
        run=str(folder.folder),
        config=config,
    )
    folder.keep(result)
    report.write(folder.folder, result)
    folder.seal(prepared.environment)
    return result


def _accuracy_columns(config: Config) -> dict[str, Path]:
    """Return the accuracy columns that evaluate the scores, which never see them; each with its table."""
    table = tables.file(config.archs)
    if table is None and config.accuracy is not None:
        raise UserError(f"--accuracy {config.accuracy}: only a table of networks has accuracies")
    return dict.fromkeys(tables.columns(table, config.accuracy), table) if table else {}


def _columns_for(config: Config, data: str) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the accuracy columns that say something about these data, and the data of the others.

    A column that `--accuracy` names is wanted whatever it was measured on; the result names its data. A part
    of a data set, as in `fashion_mnist (mini)`, is the same data.
    """
    shown: dict[str, Path] = {}
    elsewhere: dict[str, None] = {}
    for column, table in _accuracy_columns(config).items():
        measured_on = tables.measured_on(table, column)
        if measured_on in (None, data, data.partition(" (")[0]) or config.accuracy is not None:
            shown[column] = table
        elif measured_on:
            elsewhere[measured_on] = None
    return shown, tuple(elsewhere)


def _accuracies(columns: dict[str, Path], count: int) -> dict[str, Sequence[float | None]]:
    """Return the accuracies of the `count` networks by column; call it after the last score is on disk."""
    found = {column: tables.accuracies(table, column) for column, table in columns.items()}
    if len(found) > 1:
        return {**found}
    return {ONLY: next(iter(found.values()), (None,) * count)}


def _noise_ceiling(config: Config) -> NoiseCeiling | None:
    """Return the noise ceiling that the table records beside its accuracies, if it does."""
    table = tables.file(config.archs)
    found = tables.about(table, "noise_ceiling") if table else None
    try:
        ceiling = None if found is None else NoiseCeiling(**found)
    except (TypeError, UserError) as error:
        raise UserError(f"{table}: noise_ceiling: {error}") from None
    return ceiling if _accuracy_columns(config) else None
