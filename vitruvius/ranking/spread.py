"""Pure work on many tasks: here, in processes on this machine, or on the machines of a Ray cluster.

`work(shared, task)` must be a function of a module that depends on its arguments alone. Results come in the order of
the tasks and are the same to the bit wherever they are made: everywhere torch computes with one thread. A worker that
dies (killed, out of memory) is replaced and its task done again; a task that ends its worker every time is `Lost`.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any, Literal, NamedTuple

import torch

from vitruvius.core.errors import UserError, WorkFailed

Place = Literal["here", "processes", "ray"]
TRIES = 3
ENDED = f"the process that worked on it was ended {TRIES} times (out of memory?)"
LARGEST_CHUNK = 8
"""Tasks that travel together: sending one costs about a millisecond, losing a chunk costs all of it."""


class Job(NamedTuple):
    """What is done with each task: `work(shared, task)`; `shared` is sent to each worker once."""

    work: Callable[[Any, Any], Any]
    shared: Any


class Lost(NamedTuple):
    """Instead of a result: why there is none."""

    reason: str


def results(job: Job, tasks: Sequence[Any], place: Place = "here", workers: int = 0) -> Iterator[Any]:
    """The result of each task, in order; `workers` 0 is one per core."""
    if place == "here" or not tasks:
        with one_thread():
            for task in tasks:
                yield job.work(job.shared, task)
        return
    count = min(workers or os.cpu_count() or 1, len(tasks))
    run = _in_processes if place == "processes" else _on_ray
    yield from run(job, tasks, count)


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch computes with one thread: sums over several threads round differently."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _chunks(tasks: Sequence[Any], workers: int) -> list[Sequence[Any]]:
    """Tasks in slices, small enough that every worker gets several."""
    size = max(1, min(LARGEST_CHUNK, len(tasks) // (4 * workers)))
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _in_processes(job: Job, tasks: Sequence[Any], workers: int) -> Iterator[Any]:
    done = 0
    while done < len(tasks):
        try:
            for result in _pooled(job, tasks[done:], workers):
                yield result
                done += 1
        except BrokenProcessPool:
            # Which of the tasks under way ended its worker is not known: the next ones are done one at a time.
            suspects = tasks[done : done + LARGEST_CHUNK * workers]
            for task in suspects:
                yield _alone(job, task)
                done += 1


def _pooled(job: Job, tasks: Sequence[Any], workers: int) -> Iterator[Any]:
    with _pool(job, workers) as pool:
        under_way: deque[Future[list[Any]]] = deque()
        for chunk in _chunks(tasks, workers):
            under_way.append(pool.submit(_do, chunk))
            if len(under_way) > 2 * workers:  # few enough that an interruption loses little
                yield from under_way.popleft().result()
        while under_way:
            yield from under_way.popleft().result()


def _alone(job: Job, task: Any) -> Any:
    for _ in range(TRIES):
        try:
            with _pool(job, 1) as pool:
                return pool.submit(_do, [task]).result()[0]
        except BrokenProcessPool:
            continue
    return Lost(ENDED)


@contextmanager
def _pool(job: Job, workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes that know the job, forked from a server that has imported torch once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, job.work.__module__])
    pool = ProcessPoolExecutor(workers, context, _begin_child, job)
    try:
        pool.submit(os.getpid).result()
    except BrokenProcessPool:
        raise WorkFailed(
            "worker processes end as soon as they start; choose --spread here "
            "(from a script of your own, call this below `if __name__ == '__main__':`)"
        ) from None
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


_job: Job


def _begin(work: Callable[[Any, Any], Any], shared: Any) -> None:
    """Make this process a worker."""
    global _job
    _job = Job(work, shared)
    torch.set_num_threads(1)


def _begin_child(work: Callable[[Any, Any], Any], shared: Any) -> None:
    """Make this child process a worker that leaves the answer to Ctrl-C to its parent, and ends with it."""
    _begin(work, shared)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """Leave when the parent does: the workers of a killed process would wait for tasks for ever."""
    connection.wait([sentinel])
    os._exit(1)


def _do(chunk: Sequence[Any]) -> list[Any]:
    return [_job.work(_job.shared, task) for task in chunk]


class Actor:
    """A worker on a Ray cluster."""

    def __init__(self, work: Callable[[Any, Any], Any], shared: Any) -> None:
        _begin(work, shared)

    def do(self, chunk: Sequence[Any]) -> list[Any]:
        """The results of some tasks."""
        return _do(chunk)


def _on_ray(job: Job, tasks: Sequence[Any], workers: int) -> Iterator[Any]:
    """Chunks dealt out to actors, which Ray restarts when they die."""
    try:
        import ray
    except ImportError:
        raise UserError("--spread ray needs Ray: pip install 'vitruvius[ray]'") from None
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
    shared = ray.put(job.shared)
    made = ray.remote(max_restarts=-1, max_task_retries=TRIES - 1)(Actor)
    actors = [made.remote(job.work, shared) for _ in range(workers)]
    try:
        chunks = _chunks(tasks, workers)
        under_way = [actors[index % workers].do.remote(chunk) for index, chunk in enumerate(chunks)]
        for chunk, answer in zip(chunks, under_way, strict=True):
            try:
                yield from ray.get(answer)
            except ray.exceptions.RayActorError:
                yield from (_alone_on_ray(actors[0], task) for task in chunk)
    finally:
        for actor in actors:
            ray.kill(actor)


def _alone_on_ray(actor: Any, task: Any) -> Any:
    import ray

    try:
        return ray.get(actor.do.remote([task]))[0]
    except ray.exceptions.RayActorError:
        return Lost(ENDED)
