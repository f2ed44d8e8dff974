"""A run of `search`: open or continue folder and study, run the stages, keep the winner, write the report."""

import shutil
from collections.abc import Generator, Sequence
from pathlib import Path

from vitruvius.core import files, integrity, runs
from vitruvius.core.config import Flags
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.core.records import Note, Record
from vitruvius.core.runs import RunFolder
from vitruvius.core.signals import StopRequest
from vitruvius.ranking.evaluation import Interval
from vitruvius.searching import gains, own_study, prepare, queueing, report, stages, winner
from vitruvius.searching.plan import SEEDS, Plan
from vitruvius.searching.prepare import Prepared
from vitruvius.searching.results import Chosen, Gain, Network, Result, Spent
from vitruvius.searching.settings import Config
from vitruvius.searching.state import Search
from vitruvius.searching.study import Request


def finished(folder: RunFolder) -> Result | None:
    """Return the result of a search that is complete and undamaged."""
    if not files.is_regular(folder.path("result.json")) or runs.check(folder.folder):
        return None
    manifest = integrity.read_manifest(folder.folder)
    if manifest is None or "result.json" not in manifest.files:
        return None
    return files.read_as(folder.path("result.json"), Result)


def resumed(folder: RunFolder, config: Config, flags: Flags) -> Prepared:
    """Prepare a search again as it was; refuse another machine, other versions or other data."""
    lines, _ = folder.intact_records()
    plans = [line for line in lines if line.get("kind") == "plan"]
    fields = {key: value for key, value in plans[0].items() if key != "kind"} if plans else None
    prepared = prepare.prepare(config, flags, Plan(**fields) if fields else None)
    manifest = integrity.read_manifest(folder.folder)
    before = manifest.environment if manifest else {}
    now = prepared.environment
    differing = [
        f"{key} was {before[key]}, is {now.get(key)}" for key in before if before[key] != now.get(key)
    ]
    if differing and not flags.allow_inexact:
        cure = "(--allow-inexact goes on all the same and marks its runs)"
        raise UserError(f"{folder.folder.name} cannot be continued to the bit: {'; '.join(differing)} {cure}")
    return prepared


def run(
    folder: RunFolder, prepared: Prepared, flags: Flags, stop: StopRequest
) -> Generator[Record, None, None]:
    """Run the stages of a new or a resumed search; the last record is its result."""
    lines, faults = folder.intact_records()
    for fault in faults:
        yield Note(text=f"{fault}; it is done again", warning=True)
    if integrity.read_manifest(folder.folder) is None:
        folder.seal(prepared.environment)
    if not any(line.get("kind") == "plan" for line in lines):
        folder.keep(prepared.plan)
    study, fault = own_study.opened(folder, prepared, lines)
    if fault:
        yield Note(text=f"{fault}; it is made anew from records and trainings", warning=True)
    try:
        search = Search(prepared, folder, study, stop, lines, flags.allow_inexact)
        if left := study.requeue_own():
            yield Note(text=f"running when the search stopped, and going on: {counted(left, 'training')}")
        with queueing.announced(stop, folder.folder):
            finalists, baselines = yield from stages.run(search)
        result = finish(search, finalists, baselines, flags)
    finally:
        study.close()
    folder.keep(result)
    report.write(folder.folder, result)
    # The outcomes of the trainings are recorded, and the winner's run is kept.
    shutil.rmtree(folder.path("train"), ignore_errors=True)
    folder.seal(prepared.environment)
    yield result


def finish(search: Search, finalists: list[int], baselines: dict[str, int], flags: Flags) -> Result:
    """Compare what was trained fully, keep the winner as a run of its own and read the test images once."""
    prepared, config = search.prepared, search.prepared.config
    networks = _networks(search, finalists, baselines)
    best = _winner(search, networks)
    networks = [best if network.number == best.number else network for network in networks]
    within = [network for network in networks if prepared.fits(network.number)]
    images, bits, spread = len(prepared.data.validation), _bits(search), _variance(networks)
    found = [
        Gain(
            over=over,
            network=prepared.name(number),
            points=gains.difference(
                bits.get(best.number, ()), bits.get(number, ()), spread, images, len(finalists)
            ),
            is_winner=number == best.number,
        )
        for over, number in baselines.items()
    ]
    tested, run = _keep_winner(search, best, flags)
    files.write_json(search.folder.path("winner.json"), best.arch.model_dump(mode="json"))
    kind = config.front or "params"
    outcomes = search.study.finished().values()
    return Result(
        winner=best,
        test_accuracy=tested,
        test_images=len(prepared.data.test),
        validation_images=images,
        gains=tuple(found),
        equals=_equals(best, networks, bits, spread, images),
        spent=Spent(
            trainings=sum(queueing.steps_done(search).values()) / search.plan.steps,
            networks=len(networks),
            seconds=round(search.spent, 1),
            failed=sum(bool(outcome.failed) for outcome in outcomes),
        ),
        plan=search.plan,
        front=gains.front(within, kind),
        front_price=kind,
        networks=tuple(networks),
        learned=tuple(search.learned),
        order=_order(config),
        drawn=prepared.drawn.tried,
        fitting=prepared.drawn.fitting,
        space=prepared.space,
        data=prepared.data.name,
        seed=config.seed,
        run=run,
        search=str(search.folder.folder),
        config=config,
    )


def _networks(search: Search, finalists: Sequence[int], baselines: dict[str, int]) -> list[Network]:
    """Return all networks that were trained, the best first, those that failed last."""
    prepared, finished = search.prepared, search.study.finished()
    roles = {number: ["finalist"] for number in finalists}
    for over, number in baselines.items():
        roles.setdefault(number, []).append(over.split()[1] if "preset" not in over else "preset")
    prior, found = search.prior, []
    for number in dict.fromkeys(request.network for request in finished):
        mine = {request: outcome for request, outcome in finished.items() if request.network == number}
        reached = {
            r.steps: o.accuracy for r, o in mine.items() if o.accuracy is not None and r.replicate == 0
        }
        ended = [mine.get(Request(number, search.plan.steps, seed)) for seed in range(SEEDS)]
        failed = [outcome.failed for outcome in mine.values() if outcome.failed]
        candidate, ms = prepared.networks[number], search.ms.get(number)
        found.append(
            Network(
                name=prepared.name(number),
                number=number,
                arch=candidate.arch,
                params=candidate.params,
                macs=candidate.macs,
                ms=ms[0] if ms else None,
                ms_is_measured=bool(ms and ms[1]),
                short={steps: value for steps, value in reached.items() if steps < search.plan.steps},
                full=tuple(o.accuracy for o in ended if o is not None and o.accuracy is not None),
                prior=prior.get(number),
                failed=failed[0] if failed else "",
                roles=tuple(roles.get(number, ())),
            )
        )
    return _with_intervals(search, found)


def _with_intervals(search: Search, networks: list[Network]) -> list[Network]:
    spread, images = _variance(networks), len(search.prepared.data.validation)
    found = [n.model_copy(update={"interval": gains.accuracy(n.full, spread, images)}) for n in networks]
    return sorted(
        found, key=lambda n: (-(n.interval.value or 0.0), -max(n.short.values(), default=0.0), n.number)
    )


def _winner(search: Search, networks: Sequence[Network]) -> Network:
    """Return the fully trained network within the budget that has the highest accuracy."""
    limit = search.prepared.config.max_ms
    for network in networks:
        fast = limit is None or network.ms is None or network.ms <= limit
        if network.full and fast and search.prepared.fits(network.number):
            return network.model_copy(update={"roles": ("winner", *network.roles)})
    raise WorkFailed(f"no network was trained to its end: {queueing.first_failure(search)}")


def _variance(networks: Sequence[Network]) -> tuple[float, int]:
    return gains.seed_variance({network.name: network.full for network in networks})


def _bits(search: Search) -> dict[int, list[str]]:
    """Return, for each fully trained network and seed, which validation images were classified correctly."""
    found: dict[int, list[str]] = {}
    for request, outcome in sorted(search.study.finished().items()):
        if request.steps == search.plan.steps and outcome.correct:
            found.setdefault(request.network, []).append(outcome.correct)
    return found


def _equals(
    best: Network,
    networks: Sequence[Network],
    bits: dict[int, list[str]],
    spread: tuple[float, int],
    images: int,
) -> tuple[str, ...]:
    others = [n for n in networks if n.full and n.number != best.number and n.number in bits]
    found = []
    for network in others:
        points = gains.difference(bits[best.number], bits[network.number], spread, images, len(others))
        if points.low is not None and points.low <= 0:
            found.append(network.name)
    return tuple(found)


def _keep_winner(search: Search, best: Network, flags: Flags) -> tuple[Interval, str]:
    """Copy the winner's first training to runs/train; return its test accuracy and its folder."""
    training = queueing.training_folder(search, best.number)
    chosen = [line for line in search.folder.records() if line.get("kind") == "chosen"]
    known = next((line["why"] for line in chosen if line["step"] == "winner"), None)
    if known is None:
        folder = search.folder.folder
        known = str(winner.free_folder(folder.parent.parent, folder.name))
        search.folder.keep(Chosen(step="winner", networks=(best.number,), why=known))
    if not training.is_dir() and not Path(known).is_dir():
        where = "the machine that trained it keeps its run"
        return Interval(), f"{search.prepared.name(best.number)}-1 ({where})"
    kept = winner.keep(search.prepared, training, Path(known), flags.allow_inexact)
    images = len(search.prepared.data.test)
    tested = Interval() if kept.test_accuracy is None else gains.tested(kept.test_accuracy, images)
    return tested, known


def _order(config: Config) -> str:
    """Say what depended on the order in which trainings ended, and on the clock."""
    if config.hours is not None:
        return "How many networks were trained depended on the clock (--hours); --trainings does not."
    several = config.storage is not None or config.spread != "here"
    ends = "Rungs wait for all their trainings, so nothing depended on the order in which these ended"
    return f"{ends}{', or on which worker did them' if several else ''}."
