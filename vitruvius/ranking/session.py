"""A run of `rank`: continue or open its folder, score what is left, evaluate, and write what people look at.

Top-level imports are free of torch, so that a finished run is shown again at once.
"""

import dataclasses
import os
import re
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vitruvius.arch import tables
from vitruvius.core import files, integrity, records, runs
from vitruvius.core.config import Flags, changed
from vitruvius.core.errors import Interrupted, UserError
from vitruvius.core.runs import RunFolder
from vitruvius.core.signals import StopRequest
from vitruvius.datasets import own_pictures
from vitruvius.measuring import prices
from vitruvius.ranking import accuracies
from vitruvius.ranking.results import WORKLOAD, Result, Workload
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
    paths += [Path(config.accuracies)] if config.accuracies else []
    paths += [Path(word.rpartition(":")[0]) for word in words if ".py:" in word]
    found = {str(path): files.sha256(path) for path in paths if path.is_file()}
    if own_pictures(config.data):
        member, _, argument = config.data.partition(":")
        path = Path(config.data_dir or ".") / re.sub(r"(?<=.)@\d+$", "", argument)
        found[config.data] = files.tree_hash(path if member == "folder" else path.parent)
    return found


def prepare(config: Config) -> Prepared:
    """Read the data and the networks; every fault of the request is refused here."""
    from vitruvius.ranking import candidates, known, memory, score
    from vitruvius.training.batches import require_classes
    from vitruvius.training.device import choose_device

    accuracies.refuse_bad(config)
    if (config.spread, config.device) != ("ray", "cuda"):  # with Ray the GPUs are those of the cluster
        choose_device(config.device)
    if config.known is not None:
        known.refuse(config.known, tables.file(config.archs))
    proxies = score.locate_proxies(config.proxies)
    data = config.load(limit=config.batch * config.seeds)
    require_classes(data)
    networks = candidates.networks(config.archs, data, config.batch)
    accuracies.refuse_unknown(config, networks)
    seeds = range(config.seed, config.seed + config.seeds)
    started = (config.workers or os.cpu_count() or 1) if config.spread == "processes" else 0
    memory.refuse_batches(data.shape, config.batch, config.seeds, 1 + started)
    batches = {seed: score.minibatch(data, config.batch, seed) for seed in seeds}
    scoring = score.Scoring(tuple(networks.values()), score.Shared(proxies, batches, config.device))
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
    work = Workload(networks=len(scoring.networks), seeds=config.seeds)
    files.write_json(folder.path(WORKLOAD), work.model_dump())
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
    from vitruvius.ranking import aggregates, report, score, verdict
    from vitruvius.ranking import known as known_accuracies

    table = aggregates.with_aggregates(score.score_table(prepared.scoring, done), config.proxies)
    known = accuracies.read(config, prepared.data, prepared.names)
    peaks, networks = score.peak_bytes(prepared.scoring, done), prepared.scoring.networks
    ranked = verdict.candidates(prepared.names, networks, table, known.columns, peaks)
    reranking = None
    if config.known is not None and (path := tables.file(config.archs)):
        values = tables.accuracies(path, config.known)
        reranking = known_accuracies.rerank(config.known, prepared.names, networks, table, values)
    result = Result(
        archs=verdict.in_order(ranked),
        evaluation={name: verdict.evaluate(table, ranked, name, config.seed) for name in known.columns},
        reranking=reranking,
        best={proxy: verdict.best(prepared.names, rows) for proxy, rows in table.items()},
        noise_ceiling=accuracies.noise_ceiling(config) if known.measured_on else None,
        data=prepared.data,
        data_sha256=prepared.environment.get("data_sha256"),
        measured_on=known.measured_on,
        measured_elsewhere=known.elsewhere,
        prediction_error=prices.prediction_error(),
        cpu_seconds=round(sum(sum(one.timing.values()) for one in done.values()), 2),
        seconds=round(time.monotonic() - began, 2),
        run=str(folder.folder),
        config=config,
    )
    folder.keep(result)
    report.write(folder.folder, result)
    folder.seal(prepared.environment)
    return result
