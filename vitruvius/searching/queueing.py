"""Work through the queue of trainings: claim, train here, in processes or on Ray, record; wait for others."""

import os
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from vitruvius.core import files
from vitruvius.core.counted import counted
from vitruvius.core.errors import Interrupted
from vitruvius.core.records import Note, Progress, Record
from vitruvius.core.signals import StopRequest
from vitruvius.ranking import spread
from vitruvius.ranking.spread import Lost
from vitruvius.searching import prepare, trials
from vitruvius.searching.results import Trained
from vitruvius.searching.state import Search
from vitruvius.searching.study import Request
from vitruvius.searching.trials import Outcome, Shared, Task
from vitruvius.training import seeds

POLL = 0.5
"""Seconds between two looks at what other machines have finished."""
CLAIMED_PER_WORKER = 2
"""Trainings of a shared study that a machine takes at a time for each of its workers."""


def train(search: Search, requests: Sequence[Request]) -> Generator[Record, None, None]:
    """Train until every request is finished; what is finished is not done again."""
    study, config = search.study, search.prepared.config
    most = CLAIMED_PER_WORKER * prepare.workers(config) if study.is_shared else len(requests)
    waited = False
    while left := [request for request in requests if request not in study.finished()]:
        study.queue(left)
        claimed = study.claim(requests, most)
        if not claimed:
            refuse_if_stopped(search)
            if not waited:
                yield Note(text=f"waiting for {counted(len(left), 'training')} of other machines")
            waited = True
            time.sleep(POLL)
            continue
        tasks = [task(search, request) for _, request in claimed]
        shared = shared_by_all(search)
        job = spread.Job(trials.train, shared, config.device)
        answers = spread.results(job, tasks, config.spread, config.workers, chunk=1)
        trial_list = [trial for trial, _ in claimed]
        with study.alive(trial_list), closing(answers):
            for index, (trial, request) in enumerate(claimed):
                answer = next(answers)
                outcome = Outcome(failed=answer.reason) if isinstance(answer, Lost) else answer
                if outcome.interrupted:
                    study.release(trial_list[index:])
                    refuse_if_stopped(search)
                    raise Interrupted("stopped; what is trained is kept", 15)
                if shared.travels:
                    folder = training_folder(search, request.network, request.replicate)
                    trials.put_files(folder, outcome.files)
                study.tell(trial, outcome, request.steps if request.steps < search.plan.steps else None)
                yield _kept(search, request, outcome)
                done = len(requests) - len(left) + index + 1
                yield Progress(done=done, total=len(requests), label="training")
                if search.stop.signal is not None:
                    study.release(trial_list[index + 1 :])
                    refuse_if_stopped(search)
    _keep_missing(search, requests)


def task(search: Search, request: Request) -> Task:
    """Return what a worker needs to know; its seed depends on (seed, number, replicate) alone."""
    prepared = search.prepared
    seed = seeds.derive(prepared.config.seed, "trial", request.network, request.replicate)
    folder = training_folder(search, request.network, request.replicate)
    content = trials.get_files(folder) if prepared.config.spread == "ray" else {}
    return Task(folder.name, prepared.settings(request.network), seed, request.steps, content)


def shared_by_all(search: Search) -> Shared:
    """Return what all trainings share."""
    prepared = search.prepared
    return Shared(
        settings=prepare.shared_settings(prepared.config),
        data=trials.Arrays.of(prepared.data),
        folder=os.path.abspath(search.folder.folder),
        environment=prepared.training_environment,
        allow_inexact=search.allow_inexact,
        travels=prepared.config.spread == "ray",
    )


def training_folder(search: Search, number: int, replicate: int = 0) -> Path:
    """Return the run folder of a training."""
    return search.folder.path("train") / f"{search.prepared.name(number)}-{replicate + 1}"


def accuracies(search: Search, steps: int) -> dict[int, float]:
    """Return the accuracies after so many steps, by network."""
    return {
        request.network: outcome.accuracy
        for request, outcome in search.study.finished().items()
        if request.steps == steps and request.replicate == 0 and outcome.accuracy is not None
    }


def steps_done(search: Search) -> dict[tuple[int, int], int]:
    """Return how many steps each training has taken, by network and replicate."""
    found: dict[tuple[int, int], int] = {}
    for request, outcome in search.study.finished().items():
        if outcome.accuracy is not None:
            key = request.network, request.replicate
            found[key] = max(found.get(key, 0), request.steps)
    return found


def failed(search: Search) -> set[int]:
    """Return the networks of which a training has failed."""
    return {request.network for request, outcome in search.study.finished().items() if outcome.failed}


def first_failure(search: Search) -> str:
    """Return the reason of the first training that failed."""
    failed = [outcome.failed for outcome in search.study.finished().values() if outcome.failed]
    return failed[0] if failed else "no training has ended"


def refuse_if_stopped(search: Search) -> None:
    """Stop where Ctrl-C or SIGTERM has asked for it."""
    if search.stop.signal is not None:
        name = search.folder.folder.name
        raise Interrupted(f"stopped; what is trained is kept: --resume {name} goes on", search.stop.signal)


@contextmanager
def announced(stop: StopRequest, folder: Path) -> Iterator[None]:
    """Inside, a request to stop is written as a file that the trainings of all processes look at."""
    path, ended = folder / trials.STOP, threading.Event()
    path.unlink(missing_ok=True)

    def watch() -> None:
        while not ended.wait(0.1):
            if stop.signal is not None:
                files.write(path, "")
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        path.unlink(missing_ok=True)


def _kept(search: Search, request: Request, outcome: Outcome) -> Trained:
    record = Trained(
        network=search.prepared.name(request.network),
        steps=request.steps,
        replicate=request.replicate,
        accuracy=outcome.accuracy,
        failed=outcome.failed,
        timing={"seconds": round(outcome.seconds, 2), "spent": round(search.spent, 1)},
    )
    search.folder.keep(record)
    return record


def _keep_missing(search: Search, requests: Sequence[Request]) -> None:
    """Keep the records of trainings that other machines have done, or whose record a kill has prevented."""
    lines = [line for line in search.folder.records() if line.get("kind") == "trained"]
    known = {(line["network"], line["steps"], line["replicate"]) for line in lines}
    finished = search.study.finished()
    for request in requests:
        key = search.prepared.name(request.network), request.steps, request.replicate
        if key not in known and request in finished:
            _kept(search, request, finished[request])
