"""Map a pure function over tasks: in this process, in child processes, or on the machines of a Ray cluster.

`work(shared, task)` must be a module-level function that depends on its arguments alone. Results come in the
order of the tasks and are bit-identical for every executor, because torch computes with one thread
everywhere. A worker that dies (killed, out of memory) is replaced and its task repeated; a task that ends
every worker is `Lost`.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection
from typing import Any, NamedTuple, TypeAlias

import torch

from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.ranking.settings import Executor
from vitruvius.training import device

Chunk: TypeAlias = Sequence[Any]
Results: TypeAlias = Callable[[], list[Any]]
"""Returns the results of a chunk, or raises what its work has raised."""
TRIES = 3
ENDED = f"the process that worked on it was ended {TRIES} times (out of memory?)"
LARGEST_CHUNK = 8
"""Tasks sent together: sending takes about a millisecond, losing a worker repeats the whole chunk."""


class Job(NamedTuple):
    """The function applied to each task, `work(shared, task)`; `shared` is sent to each worker once."""

    work: Callable[[Any, Any], Any]
    shared: Any
    device: str = "cpu"
    """What it computes on: a Ray actor sees a GPU only if it asks for one."""


class Lost(NamedTuple):
    """The reason why a task has no result."""

    reason: str


def results(
    job: Job, tasks: Sequence[Any], executor: Executor = "here", workers: int = 0, chunk: int = LARGEST_CHUNK
) -> Generator[Any, None, None]:
    """Yield the result of each task, in order; `workers` 0 is one per core (of the cluster, with Ray).

    At most `chunk` tasks are sent to a worker at once.
    """
    if executor == "here" or not tasks:
        with device.threads(1):  # sums over several threads round differently
            for task in tasks:
                yield job.work(job.shared, task)
        return
    if executor == "ray":
        yield from _on_ray(job, tasks, workers, chunk)
    else:
        workers = min(workers or os.cpu_count() or 1, len(tasks))
        yield from _in_order(_in_processes(job, _chunks(tasks, workers, chunk), workers))


def require(executor: Executor) -> Any:
    """Return the package that an executor needs; refuse where it is not installed."""
    if executor != "ray":
        return None
    try:
        import ray
    except ImportError:
        raise UserError("--spread ray needs Ray: pip install 'vitruvius[ray]'") from None
    return ray


def _chunks(tasks: Sequence[Any], workers: int, most: int) -> list[Chunk]:
    """Split the tasks into slices, small enough that every worker gets several."""
    size = max(1, min(most, len(tasks) // (4 * workers)))
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _in_order(ended: Iterator[tuple[int, Results]]) -> Iterator[Any]:
    """Yield the results of chunks that end in any order, each as soon as all chunks before it have ended."""
    waiting: dict[int, Results] = {}
    position = 0
    for number, found in ended:
        waiting[number] = found
        while position in waiting:
            yield from waiting.pop(position)()
            position += 1


def _in_processes(job: Job, chunks: Sequence[Chunk], workers: int) -> Iterator[tuple[int, Results]]:
    """Yield the number of each chunk that has ended, and its results; in the order in which they end."""
    left = dict(enumerate(chunks))
    while left:
        with suppress(BrokenProcessPool):
            for number, future in _pooled(job, left, workers):
                if isinstance(future.exception(), BrokenProcessPool):
                    break
                del left[number]
                yield number, future.result
        # Processes take chunks in order: one of those that come first among the unfinished ended its worker.
        for number in list(left)[:workers]:
            found = [_retry_alone(job, task) for task in left.pop(number)]
            yield number, partial(list, found)


def _pooled(job: Job, chunks: Mapping[int, Chunk], workers: int) -> Iterator[tuple[int, "Future[list[Any]]"]]:
    """Yield chunks as they end. A long one keeps no other process waiting."""
    waiting = deque(chunks.items())
    running: dict[Future[list[Any]], int] = {}
    with _pool(job, workers) as pool:
        while waiting or running:
            while waiting and len(running) <= 2 * workers:  # few enough that an interruption loses little
                number, chunk = waiting.popleft()
                running[pool.submit(_run_chunk, chunk)] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future


def _retry_alone(job: Job, task: Any) -> Any:
    for _ in range(TRIES):
        with suppress(BrokenProcessPool), _pool(job, 1) as pool:
            return pool.submit(_run_chunk, [task]).result()[0]
    return Lost(ENDED)


@contextmanager
def _pool(job: Job, workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes that know the job, forked from a server that has imported torch once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, job.work.__module__])
    for _ in range(TRIES):
        pool = ProcessPoolExecutor(workers, context, _init_child, (job.work, job.shared))
        try:
            pool.submit(os.getpid).result()
            break
        except BrokenProcessPool:
            _shut_down(pool)
    else:
        cure = "(from a script of your own, call this below `if __name__ == '__main__':`)"
        raise WorkFailed(f"worker processes end as soon as they start; choose --spread here {cure}")
    try:
        yield pool
    finally:
        _shut_down(pool)


def _shut_down(pool: ProcessPoolExecutor) -> None:
    """End the workers: those that are idle at once, those that work when their tasks are done.

    An idle worker holds the lock of the queue. If it were killed from outside while the pool waits for its
    workers, the others could never read that they may end.
    """
    idle = [] if pool._pending_work_items else list((pool._processes or {}).values())
    manager: Any = pool._executor_manager_thread
    pool.shutdown(wait=not idle, cancel_futures=True)
    for process in idle:
        process.kill()
    if manager is not None:
        manager.join()


_job: Job


def _init_worker(work: Callable[[Any, Any], Any], shared: Any) -> None:
    """Make this process a worker."""
    global _job
    _job = Job(work, shared)
    torch.set_num_threads(1)


def _init_child(work: Callable[[Any, Any], Any], shared: Any) -> None:
    """Make this child process a worker that ignores Ctrl-C, which its parent handles, and exits with it."""
    _init_worker(work, shared)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent() -> None:  # the workers of a killed process would wait for tasks for ever
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()


def _run_chunk(chunk: Chunk) -> list[Any]:
    return [_job.work(_job.shared, task) for task in chunk]


class Actor:
    """A worker on a Ray cluster."""

    def __init__(self, work: Callable[[Any, Any], Any], shared: Any) -> None:
        _init_worker(work, shared)

    def do(self, chunk: Chunk) -> list[Any]:
        """Return the results of a chunk of tasks."""
        return _run_chunk(chunk)


def _on_ray(job: Job, tasks: Sequence[Any], workers: int, size: int) -> Iterator[Any]:
    """Distribute chunks to actors, one core and if need be one GPU each, which Ray restarts when they die."""
    ray = require("ray")
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
    # The driver may run on a small machine: the cluster's cores count, and no actor waits for one for ever.
    cluster, gpus = ray.cluster_resources(), int(job.device == "cuda")
    most = max(1, int(cluster.get("CPU", 1)))
    if gpus:
        most = min(most, int(cluster.get("GPU", 0)))
        if not most:
            raise UserError("--device cuda: the Ray cluster has no GPU")
    workers = min(workers or most, most, len(tasks))
    shared = ray.put(job.shared)
    made = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=-1, max_task_retries=TRIES - 1)(Actor)
    actors = [made.remote(job.work, shared) for _ in range(workers)]

    def alone(task: Any) -> Any:
        try:
            return ray.get(actors[0].do.remote([task]))[0]
        except ray.exceptions.RayActorError:
            return Lost(ENDED)

    def results_of(answer: Any, chunk: Chunk) -> list[Any]:
        try:
            return list(ray.get(answer))
        except ray.exceptions.RayActorError:
            return [alone(task) for task in chunk]

    def ended() -> Iterator[tuple[int, Results]]:
        waiting, free = deque(enumerate(_chunks(tasks, workers, size))), deque(actors)
        running: dict[Any, tuple[int, Chunk, Any]] = {}
        while waiting or running:
            while waiting and free:
                number, chunk = waiting.popleft()
                actor = free.popleft()
                running[actor.do.remote(chunk)] = number, chunk, actor
            (answer,), _ = ray.wait(list(running), num_returns=1)
            number, chunk, actor = running.pop(answer)
            free.append(actor)
            yield number, partial(results_of, answer, chunk)

    try:
        yield from _in_order(ended())
    finally:
        for actor in actors:
            ray.kill(actor)
