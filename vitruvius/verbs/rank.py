"""Rank Vision Transformers without training them, and say how far the ranking can be trusted.

Every network is scored at initialisation by one forward and one backward pass of one minibatch. Where test accuracies
are known, they are read after the last score is on disk and judge the scores, beside plain counting of parameters.

vitruvius rank
vitruvius rank --proxies all --spread processes
vitruvius rank --archs nets.json --data noise:3x32x32 --batch 8 --accuracy c100_kd_acc
vitruvius rank --archs ./mine.py:models --proxies grad_norm,./mine.py:size --data cifar --name mine
"""

import dataclasses
import re
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from vitruvius.arch import tables
from vitruvius.core import config, files, records, runs
from vitruvius.core import signals as stopping
from vitruvius.core.blocks import Block
from vitruvius.core.config import Flags, Names, changed
from vitruvius.core.errors import Interrupted, UserError
from vitruvius.core.signals import Stop
from vitruvius.ranking.results import Ceiling, Standing

if TYPE_CHECKING:
    from vitruvius.ranking.score import Plan, Scored


class Config(config.Config):
    """Which networks are ranked, by which scores, on which images."""

    archs: Annotated[Names, Field(min_length=1)] = ("fifty",)
    """fifty (they ship with accuracies), a FILE.json, presets by name, or ./mine.py:models."""
    proxies: Annotated[Names, Field(min_length=1)] = ("grad_norm", "snip")
    """Scores by name (see `vitruvius list proxies`), all, or ./mine.py:name; the structural ones are always shown."""
    data: str = "fashion_mnist:any"
    """Where the minibatch comes from: fashion_mnist, mnist, noise:3x32x32, folder:PATH, ..."""
    data_dir: str | None = None
    """Where to look for its files first."""
    batch: Annotated[int, Field(ge=1, le=2**16)] = 64
    """Images of the minibatch."""
    seeds: Annotated[int, Field(ge=1, le=1000)] = 3
    """How often weights and minibatch are drawn; scores are means."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """The first of the seeds."""
    accuracy: str | None = None
    """The column of the table that judges the scores; default: each that ends in acc or accuracy."""
    spread: Literal["here", "processes", "ray"] = "here"
    """Where the scores are computed; they are the same everywhere."""
    workers: Annotated[int, Field(ge=0, le=4096)] = 0
    """Processes or Ray actors; 0 = one per core."""


HOW = ("spread", "workers")
"""What changes no score: a run may be continued with other values."""


class Result(records.Result):
    """The networks in the order of the first score, and what each score is worth."""

    archs: tuple[Standing, ...]
    evaluation: dict[str, dict[str, Any]]
    """By score, an `Evaluation`; by column and score where the table has several columns of accuracies."""
    best: dict[str, tuple[str, ...]]
    """By score: the winner, or the networks that two standard errors over the seeds cannot tell from the best."""
    noise_ceiling: Ceiling | None
    """Where the table says so."""
    data: str
    seconds: float
    run: str
    config: Config

    def view(self) -> Iterable[Block]:
        from vitruvius.ranking import report as ranking

        return ranking.summary(self.model_dump(mode="json"))


class Prepared(NamedTuple):
    """What is to be scored, checked."""

    names: tuple[str, ...]
    plan: "Plan"
    data: str
    environment: dict[str, Any]


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Score, then judge, then write the run folder; a finished run is shown as it is."""
    began = time.monotonic()
    flags = _continued(config, flags)
    how = {field: getattr(config, field) for field in HOW}
    prepared = None
    if flags.resume is None:
        prepared = _prepared(config)  # faults are found before there is a folder
    else:
        config = config.model_copy(update={field: Config.model_fields[field].default for field in HOW})
    with runs.opened("rank", config, flags) as (folder, config), stopping.on_signals() as stop:
        config = config.model_copy(update=how)
        if prepared is None:
            shown = _finished(folder, config)
            if shown is not None:
                yield shown
                return
            prepared = _prepared(config)
        done = yield from _scored(folder, config, prepared.plan, stop)
        yield _finish(folder, config, prepared, done, began)


def _continued(config: Config, flags: Flags) -> Flags:
    """The same command with the same --name goes on with its run; another command is refused."""
    folder = Path(flags.runs) / "rank" / (flags.name or "")
    if flags.resume is not None or flags.name is None or not (folder / "config.json").is_file():
        return flags
    before, now = files.read_json(folder / "config.json"), config.model_dump(mode="json")
    other = [
        f"{key} was {before.get(key)!r}, now {now.get(key)!r}"
        for key in changed(before, now)
        if key not in HOW
    ]
    if other:
        raise UserError(f"the run {folder} was made otherwise ({'; '.join(other)}): choose another --name")
    return dataclasses.replace(flags, resume=str(folder), name=None)


def _finished(folder: runs.Run, config: Config) -> Result | None:
    """The result of a run that has nothing left to do: whole, and made from the files as they are now."""
    manifest = folder.path("manifest.json")
    if not manifest.is_file() or files.read_json(manifest)["environment"].get("inputs") != _inputs(config):
        return None
    try:
        return Result(**files.read_json(runs.verify(folder.folder, "result.json")))
    except UserError:
        return None


def _inputs(config: Config) -> dict[str, str]:
    """The SHA-256 of each file that the request names, or of what a folder lists."""
    table = tables.file(config.archs)
    words = (*config.archs, *config.proxies, config.data)
    own = [Path(word.rpartition(":")[0]) for word in words if ".py:" in word]
    found = {str(path): files.sha256(path) for path in ([table] if table else []) + own if path.is_file()}
    if config.data.startswith("folder:"):
        found[config.data] = files.tree_hash(Path(re.sub(r"@\d+$", "", config.data.removeprefix("folder:"))))
    return found


def _prepared(config: Config) -> Prepared:
    """Read the data and the networks; whatever is wrong with the request is said here."""
    from vitruvius import datasets
    from vitruvius.ranking import candidates
    from vitruvius.ranking import score as ranking
    from vitruvius.training.batches import require_classes

    _refuse_bad_table(config)
    proxies = ranking.chosen(config.proxies)
    data = datasets.get(config.data, data_dir=config.data_dir, seed=config.seed)
    require_classes(data)
    networks = candidates.networks(config.archs, data, config.batch)
    seeds = range(config.seed, config.seed + config.seeds)
    batches = {seed: ranking.minibatch(data, config.batch, seed) for seed in seeds}
    plan = ranking.Plan(tuple(networks.values()), ranking.Shared(proxies, batches))
    environment = runs.environment(threads=1, data_sha256=data.sha256, inputs=_inputs(config))
    return Prepared(tuple(networks), plan, data.name, environment)


def _refuse_bad_table(config: Config) -> None:
    """Find faults in the accuracies before the first score; what they say is not looked at."""
    columns, table = _columns(config), tables.file(config.archs)
    if table is not None:
        for column in columns:
            tables.refuse_bad_accuracies(table, column)
    _noise_ceiling(config)


def _columns(config: Config) -> list[str]:
    """The names of the accuracy columns that judge the scores."""
    table = tables.file(config.archs)
    if table is not None:
        return tables.columns(table, config.accuracy)
    if config.accuracy is not None:
        raise UserError(f"--accuracy {config.accuracy}: only a table of networks has accuracies")
    return []


def _scored(
    folder: runs.Run, config: Config, plan: "Plan", stop: Stop
) -> "Generator[records.Record, None, dict[str, Scored]]":
    """Score what the folder does not hold yet; every score is on disk before the next is asked for."""
    from vitruvius.ranking import score as ranking

    done = ranking.read(folder.records(), plan)
    if done:
        yield records.Note(text=f"{len(done)} of {len(plan.tasks)} were scored before")
    for record in ranking.scored(plan, dict(done), config.spread, config.workers):
        folder.keep(record)
        done[record.key] = record
        yield record
        yield records.Progress(done=len(done), total=len(plan.tasks), label="scoring")
        if stop.signal is not None:
            raise Interrupted(
                f"stopped; what is scored is kept: --resume {folder.folder.name} goes on", stop.signal
            )
    return done


def _finish(
    folder: runs.Run, config: Config, prepared: Prepared, done: "dict[str, Scored]", began: float
) -> Result:
    """Read the accuracies, now that every score is on disk, judge the scores and write what people look at."""
    from vitruvius.ranking import evaluation, places, statistics
    from vitruvius.ranking import score as ranking

    table = ranking.table(prepared.plan, done)
    scores = {proxy: places.matrix(rows) for proxy, rows in table.items()}
    standings = places.standings(prepared.names, prepared.plan.networks, table)
    accuracies = _accuracies(config)
    judged = {
        column: evaluation.evaluate(scores, evaluation.sizes_of(standings), values, config.seed)
        for column, values in (accuracies or {"": ()}).items()
    }
    as_json = {
        column: {name: found.model_dump() for name, found in by.items()} for column, by in judged.items()
    }
    tied = {proxy: statistics.tied_with_best(found) for proxy, found in scores.items()}
    result = Result(
        archs=places.in_order(standings, accuracies),
        evaluation=as_json if len(as_json) > 1 else next(iter(as_json.values())),
        best={proxy: tuple(prepared.names[index] for index in indices) for proxy, indices in tied.items()},
        noise_ceiling=_noise_ceiling(config) if accuracies else None,
        data=prepared.data,
        seconds=round(time.monotonic() - began, 2),
        run=str(folder.folder),
        config=config,
    )
    folder.keep(result)
    _draw(folder, result)
    folder.seal(prepared.environment)
    return result


def _accuracies(config: Config) -> dict[str, Sequence[float | None]]:
    """What the table says of its networks, by column; called after the last score is on disk."""
    table = tables.file(config.archs)
    return {column: tables.accuracies(table, column) for column in _columns(config)} if table else {}


def _noise_ceiling(config: Config) -> Ceiling | None:
    table = tables.file(config.archs)
    found = tables.about(table, "noise_ceiling") if table else None
    try:
        return None if found is None else Ceiling(**found)
    except (TypeError, UserError) as error:
        raise UserError(f"{table}: noise_ceiling: {error}") from None


def _draw(folder: runs.Run, result: Result) -> None:
    """Scores, scatters and report: made from the result alone."""
    from vitruvius.ranking import page as ranking_page
    from vitruvius.ranking import report as ranking
    from vitruvius.render import figures

    shown = result.model_dump(mode="json")
    files.write(folder.path("scores.csv"), ranking.table_csv(shown))
    for index, column in enumerate(ranking.evaluations(shown)):
        name = re.sub(r"[^\w-]+", "_", f"ranking-{column}" if index else "ranking")
        figures.write_png(ranking_page.panels(shown, column), folder.path(f"{name}.png"))
    files.write(folder.path("report.html"), ranking_page.page(shown))
