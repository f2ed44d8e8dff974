"""Slow: killed at a hundred instants; workers killed in processes and under Ray; machines sharing a study."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.searching.conftest import SETTINGS
from vitruvius.core import files
from vitruvius.core.records import Record
from vitruvius.searching.results import Result
from vitruvius.searching.study import Request, Study
from vitruvius.searching.trials import Outcome

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
Run = Callable[..., list[Record]]


def kill(*words: str) -> dict[str, Any]:
    """Run the campaign of killing.py and return what it prints."""
    command = [sys.executable, "-m", "tests.searching.killing", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def found(records: list[Record]) -> dict[str, Any]:
    """What a search has found, without what differs between executors."""
    assert isinstance(records[-1], Result)
    rest = {"run", "search", "config", "order"}
    content = records[-1].model_dump(mode="json", exclude=rest)
    content["spent"]["seconds"] = 0
    return content


def test_killed_at_a_hundred_instants_it_ends_as_if_it_had_not_been() -> None:
    answer = kill("--kills", "100")
    assert answer["kills"] >= 100
    assert set(answer["ends"]) == {answer["whole"]}


def test_a_resumed_search_that_forgets_its_seeds_is_found_out() -> None:
    answer = kill("--kills", "6", "--forget")
    assert set(answer["ends"]) != {answer["whole"]}


def workers(spread: str) -> list[int]:
    """The worker processes below this one: those that the fork server has forked, or Ray's actors."""
    parents, words = dict[int, int](), dict[int, bytes]()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words[int(path.name)] = (path / "cmdline").read_bytes()
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])

    def is_mine(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    word = b"forkserver" if spread == "processes" else b"ray::Actor"
    found = [pid for pid in parents if word in words[pid] and is_mine(pid)]
    if spread == "processes":
        found = [pid for pid in found if word in words.get(parents[pid], b"")]
    return sorted(found)


class Killer(threading.Thread):
    """Kills a worker as soon as there is one, and another each time that a training has ended since."""

    def __init__(self, spread: str, records: Path) -> None:
        super().__init__(daemon=True)
        self.spread, self.records, self.ended, self.kills = spread, records, threading.Event(), 0

    def run(self) -> None:
        seen = -1
        while not self.ended.wait(0.02) and self.kills < 5:
            lines = files.read_lines(self.records) if self.records.exists() else []
            trained = sum(line.get("kind") == "trained" for line in lines)
            is_training = any(line.get("kind") == "stage" and line["stage"] == 3 for line in lines)
            for pid in workers(self.spread)[:1] if is_training and trained > seen else []:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1
                    seen = trained


@pytest.mark.parametrize("spread", ["processes", "ray"])
def test_workers_that_are_killed_lose_nothing_and_do_nothing_twice(
    run: Run, tmp_path: Path, spread: str
) -> None:
    if spread == "ray":
        pytest.importorskip("ray")
    whole = found(run(tmp_path / "whole", trainings=5))
    folder = tmp_path / spread / "search" / "toy"
    killer = Killer(spread, folder / "records.jsonl")
    killer.start()
    try:
        disturbed = run(tmp_path / spread, trainings=5, spread=spread, workers=2)
    finally:
        killer.ended.set()
        killer.join()
    assert killer.kills > 0
    assert found(disturbed) == whole
    study = Study(
        f"sqlite:///{folder / 'study.db'}", "toy", "test", _config(f"sqlite:///{folder / 'study.db'}")
    )
    done = [trial for trial in study.study.get_trials() if trial.state.name in ("COMPLETE", "PRUNED")]
    requests = [tuple(trial.params.values()) for trial in done]
    study.close()
    assert len(requests) == len(set(requests))


@pytest.fixture
def server() -> Iterator[str]:
    """A PostgreSQL server of its own that listens on a socket in a folder; the URL of an empty data base."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    with TemporaryDirectory(prefix="postgres-") as name:
        bin_, folder, is_root = programs[-1].parent, Path(name), os.geteuid() == 0
        if is_root:  # the server refuses to run as root
            shutil.chown(folder, "postgres")

        def as_server(program: str, *words: str) -> None:
            command = ["runuser", "-u", "postgres", "--"] if is_root else []
            command += [str(bin_ / program), "-D", str(folder / "data"), *words]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

        as_server("initdb", "-A", "trust", "-U", "postgres")
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
        as_server("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            as_server("pg_ctl", "-m", "immediate", "stop")


def test_two_searches_share_a_study_and_train_nothing_twice(
    run: Run, place: Path, server: str, tmp_path: Path
) -> None:
    settings = {**SETTINGS, "epochs": 30}  # long enough for both to find something to do
    alone = found(run(tmp_path / "alone", trainings=5, epochs=30))
    words = [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]
    words += [
        f"--data={place / 'toy.py'}:toy",
        f"--space={place / 'space.json'}",
        "--trainings=5",
        "--name=toy",
    ]
    command = [
        sys.executable,
        "-m",
        "vitruvius",
        "search",
        *words,
        f"--storage={server}",
        "--quiet",
        "--json",
    ]
    machines = [
        subprocess.Popen([*command, f"--runs={tmp_path / name}"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for name in ("first", "second")
    ]
    answers = [json.loads(machine.communicate()[0]) for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0]
    for answer in answers:
        assert answer["winner"] == alone["winner"]
        assert answer["networks"] == alone["networks"]
    study = Study(server, "toy", "test", _config(server))
    states = [trial for trial in study.study.get_trials() if trial.state.name in ("COMPLETE", "PRUNED")]
    requests = [tuple(trial.params.values()) for trial in states]
    assert len(requests) == len(set(requests))
    assert len({trial.user_attrs["owner"] for trial in states}) == 2
    study.close()


def _config(url: str) -> str:
    import optuna

    storage = optuna.storages.RDBStorage(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        return str(optuna.load_study(study_name="toy", storage=storage).user_attrs["config"])
    finally:
        storage.remove_session()
        storage.engine.dispose()


def test_what_a_dead_machine_was_training_is_queued_again(server: str) -> None:
    from sqlalchemy import text

    dead, other = (Study(server, "shared", name, "settings") for name in ("dead", "other"))
    wanted = [Request(1, 10)]
    dead.queue(wanted)
    ((trial, _),) = dead.claim(wanted, 1)

    def beats() -> int:
        with other.storage.engine.connect() as connection:
            return int(connection.execute(text("SELECT COUNT(*) FROM trial_heartbeats")).scalar() or 0)

    with dead.alive([trial]):
        while not beats():
            time.sleep(0.01)
        other.queue(wanted)
        assert not other.claim(wanted, 1)  # it lives
    with other.storage.engine.begin() as connection:  # an hour passes
        connection.execute(text("UPDATE trial_heartbeats SET heartbeat = heartbeat - INTERVAL '1 hour'"))
    other.queue(wanted)
    ((again, request),) = other.claim(wanted, 1)
    assert request == wanted[0]
    other.tell(again, Outcome(accuracy=0.5))
    assert other.finished()[request].accuracy == 0.5
    dead.close()
    other.close()
