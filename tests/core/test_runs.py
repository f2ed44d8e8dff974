"""Run folders: one process at a time, resumed under the recorded config, damage detected."""

import hashlib
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from vitruvius.core import files, runs
from vitruvius.core.config import Flags, RunConfig
from vitruvius.core.errors import UserError
from vitruvius.core.records import Note, Result


class Toy(RunConfig):
    changeable: ClassVar[tuple[str, ...]] = ("epochs",)
    epochs: int = 10
    lr: float = 0.1


def flags(root: Path, **more: object) -> Flags:
    return Flags(runs=str(root), **more)  # type: ignore[arg-type]


def test_a_run_holds_config_records_result_and_manifest(tmp_path: Path) -> None:
    with runs.opened("train", Toy(epochs=3), flags(tmp_path, name="a")) as (run, config):
        assert config.epochs == 3
        run.keep(Note(text="hello"))
        run.keep(Result())
        run.seal({})
    assert sorted(path.name for path in (tmp_path / "train/a").iterdir()) == [
        ".lock",
        "config.json",
        "manifest.json",
        "records.jsonl",
        "result.json",
    ]
    assert run.records() == [{"kind": "note", "text": "hello", "warning": False}]


def test_a_name_is_used_once(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")):
        pass
    with (
        pytest.raises(UserError, match="--resume a"),
        runs.opened("train", Toy(), flags(tmp_path, name="a")),
    ):
        pass


def test_resume_follows_the_recorded_config_and_lets_only_the_end_differ(tmp_path: Path) -> None:
    with runs.opened("train", Toy(lr=0.5), flags(tmp_path, name="a")):
        pass
    with runs.opened("train", Toy(epochs=20), flags(tmp_path, resume="a")) as (run, config):
        assert config == Toy(epochs=20, lr=0.5)
        assert not run.is_new
    with (
        pytest.raises(UserError, match="lr was 0.5, now 0.3"),
        runs.opened("train", Toy(lr=0.3), flags(tmp_path, resume="a")),
    ):
        pass


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="first")):
        pass
    with pytest.raises(UserError, match="did you mean 'first'"):
        runs.find("frist", "train", str(tmp_path))


@pytest.mark.parametrize("name", ["..", ".", "-x", "x" * 101])
def test_a_name_is_one_folder(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(UserError, match="folder name"),
        runs.opened("train", Toy(), flags(tmp_path, name=name)),
    ):
        pass


@pytest.mark.parametrize("option", ["name", "runs", "resume"])
def test_a_name_that_cannot_be_recorded_is_refused_before_the_work(tmp_path: Path, option: str) -> None:
    given: dict[str, Any] = {
        "runs": str(tmp_path),
        option: f"{tmp_path}/\udcff" if option == "runs" else "\udcff",
    }
    with (
        pytest.raises(UserError, match=f"--{option} .* UTF-8"),
        runs.opened("train", Toy(), Flags(**given)),
    ):
        pass
    with pytest.raises(UserError, match=f"--{option} .* UTF-8"):
        runs.refuse_used_name("train", Flags(**given))
    assert not list(tmp_path.iterdir())


def test_damage_is_detected(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")) as (run, _):
        run.path("model.safetensors").write_bytes(b"weights")
        run.seal({})
    assert runs.verify(run.folder, "model.safetensors").name == "model.safetensors"
    run.path("model.safetensors").write_bytes(b"weightz")
    with pytest.raises(UserError, match="damaged"):
        runs.verify(run.folder, "model.safetensors")


def _race(root: str, barrier: object, wins: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    try:
        with runs.opened("train", Toy(), Flags(runs=root, resume="a")):
            wins.put("won")  # type: ignore[attr-defined]
            barrier.wait()  # type: ignore[attr-defined]
    except UserError as error:
        wins.put(str(error))  # type: ignore[attr-defined]
        barrier.wait()  # type: ignore[attr-defined]


def test_of_several_processes_on_one_folder_exactly_one_wins(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")):
        pass
    fork = multiprocessing.get_context("fork")
    barrier, wins = fork.Barrier(4), fork.Queue()
    racers = [fork.Process(target=_race, args=(str(tmp_path), barrier, wins)) for _ in range(4)]
    for racer in racers:
        racer.start()
    outcomes = [wins.get(timeout=300) for _ in racers]
    for racer in racers:
        racer.join()
    assert outcomes.count("won") == 1
    assert all("in use by process" in outcome for outcome in outcomes if outcome != "won")


HOLD = """
import sys
from vitruvius.core import files, runs
from vitruvius.core.config import Flags, RunConfig
with runs.opened("train", RunConfig(), Flags(runs=sys.argv[1], name="a")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_refusal_names_the_holder_and_a_killed_process_frees_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(UserError, match=f"in use by process {holder.pid} on "),
            runs.opened("train", RunConfig(), flags(tmp_path, resume="a")),
        ):
            pass
        holder.kill()
    with runs.opened("train", RunConfig(), flags(tmp_path, resume="a")) as (run, _):
        assert not run.is_new


def test_a_read_only_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match="cannot make the run folder"),
        runs.opened("train", Toy(), Flags(runs=str(tmp_path / "file"))),
    ):
        pass


def test_unnamed_runs_of_the_same_second_do_not_collide(tmp_path: Path) -> None:
    with ExitStack() as stack:
        opened = [stack.enter_context(runs.opened("train", Toy(), flags(tmp_path))) for _ in range(6)]
        assert len({run.folder for run, _ in opened}) == 6


def test_a_name_is_checked_under_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process makes the run of that name between the making of the folder and the lock."""
    locked = runs._locked

    @contextmanager
    def late(folder: Path) -> Iterator[None]:
        (folder / "config.json").write_text("{}")
        with locked(folder):
            yield

    monkeypatch.setattr(runs, "_locked", late)
    with (
        pytest.raises(UserError, match="exists: continue it"),
        runs.opened("train", Toy(), flags(tmp_path, name="a")),
    ):
        pass
    assert (tmp_path / "train/a/config.json").read_text() == "{}"


def test_a_folder_that_lost_its_config_is_neither_reused_nor_unknown(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")) as (run, _):
        run.path("state").mkdir()
    run.path("config.json").unlink()
    with (
        pytest.raises(UserError, match="has no config.json but holds state"),
        runs.opened("train", Toy(), flags(tmp_path, name="a")),
    ):
        pass
    with pytest.raises(UserError, match="config.json: is missing"):
        runs.find("a", "train", str(tmp_path))


@pytest.mark.parametrize("name", [".lock", ".holder"])
def test_a_link_in_place_of_a_hidden_file_does_not_change_what_it_points_to(
    tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (tmp_path / "train/a").mkdir(parents=True)
    (tmp_path / "train/a" / name).symlink_to(outside)
    with suppress(UserError), runs.opened("train", Toy(), flags(tmp_path, name="a")):
        assert name == ".holder"  # a link in place of the lock is refused
    assert outside.read_text() == "precious"


def test_what_killed_writes_left_behind_is_removed_by_the_owner_of_the_lock(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")) as (run, _):
        run.path("state").mkdir()
        parts = [run.path(".config.json.7.part"), run.path("state") / ".000000001-00001.json.7.part"]
        for part in parts:
            part.write_text("half")
        with suppress(UserError), runs.opened("train", Toy(), flags(tmp_path, resume="a")):
            pass
        assert all(part.exists() for part in parts)  # the folder was in use
    with runs.opened("train", Toy(), flags(tmp_path, resume="a")):
        assert not any(part.exists() for part in parts)


def test_of_runs_with_one_name_the_wanted_verb_is_found(tmp_path: Path) -> None:
    for verb in ("pretrain", "probe"):
        with runs.opened(verb, Toy(), flags(tmp_path, name="dig")):
            pass
    assert runs.find("dig", ("train", "pretrain", "*"), str(tmp_path)) == tmp_path / "pretrain/dig"


def test_an_edited_config_is_refused_by_name(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")) as (run, _):
        run.seal({})
    run.path("config.json").write_text('{"epochs": 10, "lr": 0.5}')
    with (
        pytest.raises(UserError, match="config.json: its SHA-256 is not the one in manifest.json"),
        runs.opened("train", Toy(), flags(tmp_path, resume="a")),
    ):
        pass


@pytest.mark.parametrize("content", ["null", "[]", "{", "1.5", '{"lr": {}}', '{"rate": 1}', "[" * 100_000])
def test_a_config_of_another_type_is_a_sentence_with_its_path(tmp_path: Path, content: str) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")) as (run, _):
        pass
    run.path("config.json").write_text(content)
    with (
        pytest.raises(UserError, match=r"a/config.json: "),
        runs.opened("train", Toy(), flags(tmp_path, resume="a")),
    ):
        pass


def test_the_length_and_hash_of_the_records_are_those_of_the_file(tmp_path: Path) -> None:
    with runs.opened("train", Toy(), flags(tmp_path, name="a")) as (run, _):
        run.keep(Note(text="before"))
        run.kept()
        run.keep(Note(text="after"))
        content = run.path("records.jsonl").read_bytes()
        assert run.kept().bytes == len(content)
        assert run.kept().sha256 == hashlib.sha256(content).hexdigest()
        run.cut(len(content) // 2)
        assert run.kept().bytes == len(content) // 2


def test_a_new_run_folder_is_synced_to_the_folders_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    with runs.opened("train", Toy(), flags(tmp_path, name="a")):
        assert {tmp_path, tmp_path / "train"} <= set(synced)
