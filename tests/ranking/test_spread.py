"""Work spread over processes gives what it gives here, and survives workers that are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from vitruvius.core.errors import UserError
from vitruvius.ranking import spread
from vitruvius.ranking.spread import Job, Lost


def summed(shared: float, task: int) -> tuple[float, int]:
    """A sum whose last bits depend on the number of threads, and that number."""
    values = torch.randn(300_000, generator=torch.Generator().manual_seed(task))
    return float((values * shared).sum()), torch.get_num_threads()


def fragile(folder: str, task: int) -> int:
    """Task 3 kills its worker the first time, task 5 every time."""
    mark = Path(folder) / str(task)
    if task == 5 or (task == 3 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


def failing(shared: Any, task: int) -> int:
    raise ValueError(f"task {task}")


def test_processes_give_the_same_results_in_the_same_order() -> None:
    before = torch.get_num_threads()
    here = list(spread.results(Job(summed, 1.1), range(20)))
    apart = list(spread.results(Job(summed, 1.1), range(20), "processes", 2))
    assert here == apart
    assert {threads for _, threads in here} == {1}
    assert torch.get_num_threads() == before


def test_a_killed_worker_costs_nothing_and_a_task_that_kills_every_worker_is_lost(tmp_path: Path) -> None:
    found = list(spread.results(Job(fragile, str(tmp_path)), range(9), "processes", 2))
    assert found == [Lost(spread.ENDED) if task == 5 else task * task for task in range(9)]


def patient(folder: str, task: int) -> bool:
    """Task 0 waits for all others, but not for ever."""
    (Path(folder) / str(task)).touch()
    for _ in range(2000 if task == 0 else 0):
        if len(os.listdir(folder)) == 20:
            return True
        time.sleep(0.01)
    return task > 0


def test_a_long_task_keeps_no_other_process_waiting(tmp_path: Path) -> None:
    found = list(spread.results(Job(patient, str(tmp_path)), range(20), "processes", 2, chunk=1))
    assert found == [True] * 20


def test_of_many_tasks_behind_a_long_one_those_that_end_their_worker_are_found(tmp_path: Path) -> None:
    """Every seventh task ends its worker each time, while task 0 goes on."""
    found = list(spread.results(Job(deadly, str(tmp_path)), range(20), "processes", 2, chunk=1))
    assert found == [Lost(spread.ENDED) if task % 7 == 6 else task for task in range(20)]


def deadly(folder: str, task: int) -> int:
    if task % 7 == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2 if task == 0 else 0.0)
    return task


def test_an_error_in_the_work_itself_is_not_swallowed() -> None:
    with pytest.raises(ValueError, match="task 0"):
        list(spread.results(Job(failing, None), range(3), "processes", 2))


def test_nothing_to_do_starts_no_process() -> None:
    assert list(spread.results(Job(failing, None), [], "processes", 2)) == []


def test_a_missing_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'vitruvius\[ray\]'"):
        list(spread.results(Job(failing, None), [1], "ray"))


ORPHANS = """
import time
from vitruvius.ranking import spread
def waiting(shared, task):
    print("working", flush=True)
    time.sleep(120)
    print("went on", flush=True)
if __name__ == "__main__":
    list(spread.results(spread.Job(waiting, None), [1, 2], "processes", 2))
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ORPHANS)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert [parent.stdout.readline() for _ in range(2)] == ["working\n"] * 2
        parent.kill()
        assert parent.stdout.read() == ""  # which ends when the last worker has closed it


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ORPHANS.replace('if __name__ == "__main__":', "if True:"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert "if __name__ == '__main__':" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_ray_gives_the_same_results_and_survives_killed_workers(tmp_path: Path) -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        here = list(spread.results(Job(summed, 1.1), range(20)))
        assert list(spread.results(Job(summed, 1.1), range(20), "ray", 2)) == here
        found = list(spread.results(Job(fragile, str(tmp_path)), range(9), "ray", 2))
        assert found == [Lost(spread.ENDED) if task == 5 else task * task for task in range(9)]
    finally:
        ray.shutdown()


class OneCoreHere:
    """As much of Ray as `spread` uses: a cluster of some cores, whose actors run in this process."""

    class exceptions:
        RayActorError = RuntimeError

    def __init__(self, cores: float, gpus: float = 0) -> None:
        self.cores, self.gpus, self.actors, self.most = cores, gpus, 0, 0
        self.asked: dict[str, Any] = {}

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cores, "memory": 1e9, **({"GPU": self.gpus} if self.gpus else {})}

    def put(self, value: Any) -> Any:
        return value

    get = put

    def wait(self, answers: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return answers[-num_returns:], answers[:-num_returns]  # the last that was asked ends first

    def kill(self, actor: Any) -> None:
        self.actors -= 1

    def remote(self, **options: Any) -> Any:
        self.asked, cluster = options, self

        class Made:
            @staticmethod
            def remote(work: Any, shared: Any) -> Any:
                cluster.actors += 1
                cluster.most = max(cluster.most, cluster.actors)
                return Made()

            class do:
                @staticmethod
                def remote(chunk: Any) -> Any:
                    return tuple(task * 2 for task in chunk)

        return lambda actor: Made


@pytest.mark.parametrize(
    ("cores", "workers", "made"), [(6.0, 0, 6), (6.0, 3, 3), (2.0, 8, 2), (64.0, 0, 9), (0.5, 0, 1)]
)
def test_ray_workers_are_as_many_as_the_cluster_has_cores(
    cores: float, workers: int, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = OneCoreHere(cores)
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert list(spread.results(Job(failing, None), range(9), "ray", workers)) == [2 * n for n in range(9)]
    assert ray.most == made
    assert (ray.asked["num_cpus"], ray.asked["num_gpus"]) == (1, 0)


def test_ray_workers_that_need_a_gpu_get_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = OneCoreHere(6.0, gpus=2.0)
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert list(spread.results(Job(failing, None, "cuda"), [1, 2, 3], "ray")) == [2, 4, 6]
    assert (ray.most, ray.asked["num_gpus"]) == (2, 1)
    monkeypatch.setitem(sys.modules, "ray", OneCoreHere(6.0))
    with pytest.raises(UserError, match="the Ray cluster has no GPU"):
        list(spread.results(Job(failing, None, "cuda"), [1], "ray"))
