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
from typing import Any

import pytest

from tests.searching.conftest import SETTINGS
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


def children(name: bytes) -> list[int]:
    """The worker processes below this one whose command line holds a word."""
    found_ids = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if name in (path / "cmdline").read_bytes():
                found_ids.append(int(path.name))
    return found_ids


@pytest.mark.parametrize(("spread", "word"), [("processes", b"forkserver"), ("ray", b"ray::Actor")])
def test_workers_that_are_killed_lose_nothing_and_do_nothing_twice(
    run: Run, tmp_path: Path, spread: str, word: bytes
) -> None:
    if spread == "ray":
        pytest.importorskip("ray")
    whole = found(run(tmp_path / "whole", trainings=5))
    before, ended = set(children(word)), threading.Event()

    def killer() -> None:
        kills = 0
        while not ended.wait(3.0) and kills < 4:
            mine = [pid for pid in children(word) if pid not in before]
            workers = mine[1:] if spread == "processes" else mine  # the first is the server that forks
            for pid in workers[:1]:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    kills += 1

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        disturbed = run(tmp_path / spread, trainings=5, spread=spread, workers=2)
    finally:
        ended.set()
        thread.join()
    assert found(disturbed) == whole


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of its own; the URL of an empty data base."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    bin_, folder = programs[-1].parent, tmp_path_factory.mktemp("postgres")
    is_root = os.geteuid() == 0
    if is_root:  # the server refuses to run as root
        for path in (folder, *folder.parents[:2]):
            path.chmod(0o755)
        shutil.chown(folder, "postgres")

    def as_server(*words: str) -> None:
        command = ["runuser", "-u", "postgres", "--", *words] if is_root else list(words)
        subprocess.run(command, check=True, capture_output=True, cwd=folder)

    data, port = folder / "data", 20_000 + os.getpid() % 20_000
    as_server(str(bin_ / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres")
    settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    as_server(str(bin_ / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", settings, "start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        as_server(str(bin_ / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")


def test_two_searches_share_a_study_and_train_nothing_twice(
    run: Run, place: Path, server: str, tmp_path: Path
) -> None:
    alone = found(run(tmp_path / "alone", trainings=5))
    words = [f"--{key.replace('_', '-')}={value}" for key, value in SETTINGS.items()]
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
    states = [trial for trial in study.study.get_trials() if trial.state.name == "COMPLETE"]
    requests = [tuple(trial.params.values()) for trial in states]
    assert len(requests) == len(set(requests))
    assert len({trial.user_attrs["owner"] for trial in states}) == 2
    study.close()


def _config(url: str) -> str:
    import optuna

    return str(
        optuna.load_study(study_name="toy", storage=url.replace("://", "+psycopg://")).user_attrs["config"]
    )


def test_what_a_dead_machine_was_training_is_queued_again(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitruvius.searching.study.BEAT", 1)
    monkeypatch.setattr("vitruvius.searching.study.GRACE", 2)
    dead, other = (Study(server, "shared", name, "settings") for name in ("dead", "other"))
    wanted = [Request(1, 10)]
    dead.queue(wanted)
    ((trial, _),) = dead.claim(wanted, 1)
    with dead.alive([trial]):
        time.sleep(4)
        other.queue(wanted)
        assert not other.claim(wanted, 1)  # it lives
    time.sleep(4)
    other.queue(wanted)
    ((again, request),) = other.claim(wanted, 1)
    assert request == wanted[0]
    other.tell(again, Outcome(accuracy=0.5))
    assert other.finished()[request].accuracy == 0.5
    dead.close()
    other.close()
