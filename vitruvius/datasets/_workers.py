"""Processes that decode pictures side by side; one that a picture kills is replaced and the picture named."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

from vitruvius.core.errors import WorkFailed
from vitruvius.core.plugins import PACKAGE
from vitruvius.datasets._decoder import Location, Outcome
from vitruvius.datasets._survey import Fit

TASK = 32  # pictures that a process is given at a time
MOST_DEATHS = 5  # of processes that have never answered: it is not the pictures that kill them


class Target(NamedTuple):
    """The file that the pixels go to."""

    path: Path
    pictures: int
    side: int
    fit: Fit


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def decode(locations: Sequence[Location], target: Target, workers: int) -> Iterator[list[Outcome]]:
    """Decode pictures in `workers` processes; yield what is done as it is done, in any order."""
    tasks: SimpleQueue[list[Location] | None] = SimpleQueue()
    done: SimpleQueue[list[Outcome] | BaseException] = SimpleQueue()
    cut = [list(locations[start : start + TASK]) for start in range(0, len(locations), TASK)]
    for task in cut:
        tasks.put(task)
    running = [Worker(target) for _ in range(min(workers, len(cut)))]
    for worker in running:
        tasks.put(None)
        Thread(target=_serve, args=(worker, tasks, done), daemon=True).start()
    try:
        for _ in cut:
            outcomes = done.get()
            if isinstance(outcomes, BaseException):
                raise outcomes
            yield outcomes
    finally:
        for worker in running:
            worker.stop()


class Worker:
    """A process that decodes, started again where a picture has killed it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.stopped = False
        self.has_answered = False
        self.deaths = 0
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        words = [sys.executable, "-m", "vitruvius.datasets._decoder", *map(str, self.target)]
        search = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        return subprocess.Popen(  # nosec B603 # our own program, without a shell
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": search},
        )

    def decode(self, task: list[Location]) -> list[Outcome]:
        """Return the outcomes of a task; if it kills the process, those of its pictures one by one."""
        answer = self._ask(task)
        if answer:
            self.has_answered = True
            return [Outcome(*outcome) for outcome in json.loads(answer)]
        if self.stopped:
            return []
        self._end()
        self.deaths += 1
        if not self.has_answered and self.deaths > MOST_DEATHS:
            cure = "VITRUVIUS_CACHE_LIMIT=0 decodes in this process"
            raise WorkFailed(f"the processes that decode pictures die before their first answer; {cure}")
        self.process = self._start()
        if len(task) == 1:
            return [Outcome(task[0].row, fault="it kills the process that decodes it")]
        return [outcome for location in task for outcome in self.decode([location])]

    def _ask(self, task: list[Location]) -> str:
        """Return the answer to a task, nothing if the process has died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
            return self.process.stdout.readline()
        except (OSError, ValueError):
            return ""

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what was left in the pipe has no reader
                if stream is not None:
                    stream.close()

    def stop(self) -> None:
        """End the process."""
        self.stopped = True
        self._end()


def _serve(
    worker: Worker,
    tasks: "SimpleQueue[list[Location] | None]",
    done: "SimpleQueue[list[Outcome] | BaseException]",
) -> None:
    """Give a process one task after the other."""
    try:
        while (task := tasks.get()) is not None:
            done.put(worker.decode(task))
    except BaseException as error:
        done.put(error)
