"""A whole search: pure, continued after a kill, refused before anything is trained, its winner a run."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.undrawn import drawn
from vitruvius.core import files, runs
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.core.records import Record
from vitruvius.core.runs import RunFolder
from vitruvius.measuring.prices import PriceList
from vitruvius.searching import trials
from vitruvius.searching.results import Result, Stage, Trained, front_table, networks_table
from vitruvius.searching.settings import Config
from vitruvius.searching.study import Request, Study
from vitruvius.searching.trials import Outcome
from vitruvius.training.results import Result as TrainResult
from vitruvius.verbs import predict, train

Run = Callable[..., list[Record]]
PICTURES = {"front.png", "confusion.png", "curves.png", "mistakes.png"}


def fingerprint(result: Result) -> dict[str, Any]:
    """Everything that a search has found, timing and places aside."""
    found = result.model_dump(mode="json", exclude={"run", "search", "config"})
    found["spent"]["seconds"] = 0
    return found


def lines(folder: Path) -> list[dict[str, Any]]:
    """The records of a search without times, and without the folder to which its winner went."""
    return [{**line, "timing": None, "why": None} for line in files.read_lines(folder / "records.jsonl")]


@pytest.fixture(scope="module")
def whole(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], Path]:
    """An undisturbed search with rungs, finalists and a network to compare with, and with its pictures."""
    runs = tmp_path_factory.mktemp("whole")
    with drawn():
        records = run(runs, trainings=5)
    assert {path.name for path in runs.rglob("*.png") if path.stat().st_size > 1000} >= PICTURES
    return records, runs


def result_of(records: list[Record]) -> Result:
    assert isinstance(records[-1], Result)
    return records[-1]


def test_the_stages_come_in_order_and_the_plan_is_kept(whole: tuple[list[Record], Path]) -> None:
    records, _ = whole
    result, plan = result_of(records), result_of(records).plan
    assert [record.stage for record in records if isinstance(record, Stage)] == [1, 2, 3, 4, 4, 5]
    steps = [record.steps for record in records if isinstance(record, Trained)]
    assert [steps.count(rung.steps) for rung in plan.rungs] == [rung.networks for rung in plan.rungs]
    assert result.spent.trainings <= 5
    assert result.winner.full == max(result.networks, key=lambda n: sum(n.full) / max(1, len(n.full))).full
    assert len(result.winner.full) == 2
    assert [gain.over for gain in result.gains] == ["the largest network that fits"]


def test_what_is_printed_first_is_the_answer(whole: tuple[list[Record], Path]) -> None:
    records, runs = whole
    result = result_of(records)
    first, price, commands, gain, *_ = [block.text for block in result.answer()]
    assert first.startswith(f"Recommended: {result.winner.name}, test accuracy")
    assert "read once" in first
    assert f"{result.winner.params:,} parameters" in price
    assert commands.startswith(f"vitruvius export {runs / 'train' / 'toy'}\n")
    assert "the largest network that fits" in gain
    assert len(list(result.view())) >= 8


def test_milliseconds_are_a_column_that_says_where_they_come_from(whole: tuple[list[Record], Path]) -> None:
    result = result_of(whole[0])
    assert "ms" not in " ".join(networks_table(result, 9).columns)
    prices = {"call": 1.0}
    made: Any = {"device": "cpu", "threads": 1, "is_busy": False, "networks": 30, "batch": (1,)}
    made |= {"machine": {}, "prices": prices, "error": 0.083, "date": "2026-11-16"}
    plan = result.plan.model_copy(update={"prices": PriceList(**made)})
    for measured, name in ((False, "predicted ms"), (True, "measured ms")):
        networks = [
            network.model_copy(update={"ms": 0.5, "ms_is_measured": measured}) for network in result.networks
        ]
        timed = result.model_copy(update={"networks": tuple(networks), "plan": plan, "front_price": "ms"})
        table = networks_table(timed, 9)
        assert table.columns[:4] == ("network", "parameters", "MACs", name)
        assert table.rows[0][3] == 0.5
        assert ("predicted ms: of one image on this machine, within 8 % (median)" in table.note) != measured
        assert front_table(timed).columns[1] == name
    half = [network.model_copy(update={"ms_is_measured": n % 2 == 0}) for n, network in enumerate(networks)]
    mixed = networks_table(timed.model_copy(update={"networks": tuple(half)}), 9)
    assert mixed.columns[3] == "ms, predicted or measured"


def test_the_winner_is_a_run_of_train_that_predict_takes(whole: tuple[list[Record], Path]) -> None:
    records, runs = whole
    result, folder = result_of(records), runs / "train" / "toy"
    kept = files.read_json(folder / "result.json")
    assert (result.run, kept["test_readings"], kept["finished"]) == (str(folder), 1, True)
    assert kept["val_accuracy"] == pytest.approx(result.winner.full[0])
    assert kept["test_accuracy"] == pytest.approx(result.test_accuracy.value)
    again = list(train.run(train.Config(), Flags(runs=str(runs), resume="toy")))[-1]
    assert isinstance(again, TrainResult)
    assert again.test_accuracy == kept["test_accuracy"]
    guess = list(predict.run(predict.Config(run="toy"), Flags(runs=str(runs))))[-1]
    assert guess.is_data
    assert files.read_json(Path(result.search) / "winner.json") == result.winner.arch.model_dump(mode="json")


def test_the_winners_first_training_equals_an_undisturbed_one(
    whole: tuple[list[Record], Path], config: Callable[..., Config], tmp_path: Path
) -> None:
    """Promoted from rung to rung it has taken the same steps as a training that was never paused."""
    records, runs = whole
    recorded = files.read_json(runs / "train" / "toy" / "config.json")
    alone = train.Config(**recorded)
    list(train.run(alone, Flags(runs=str(tmp_path), name="alone")))
    paths = [
        folder / "model.safetensors" for folder in (runs / "train" / "toy", tmp_path / "train" / "alone")
    ]
    assert files.sha256(paths[0]) == files.sha256(paths[1])


@pytest.mark.slow
def test_a_search_is_a_function_of_its_settings(
    run: Run, whole: tuple[list[Record], Path], tmp_path: Path
) -> None:
    again = run(tmp_path, trainings=5)
    assert fingerprint(result_of(again)) == fingerprint(result_of(whole[0]))
    assert lines(tmp_path / "search" / "toy") == lines(whole[1] / "search" / "toy")


def test_a_finished_search_is_shown_again(run: Run, whole: tuple[list[Record], Path]) -> None:
    (shown,) = run(whole[1], resume=True)
    assert shown == result_of(whole[0])


class Killed(BaseException):
    """The process dies: nothing that comes after it is executed."""


@pytest.mark.parametrize(
    "at", [pytest.param(1, marks=pytest.mark.slow), 4, pytest.param(7, marks=pytest.mark.slow)]
)
def test_a_killed_search_goes_on_and_trains_nothing_twice(
    run: Run, whole: tuple[list[Record], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Killed in the middle of its n-th training, whose trial stays RUNNING."""
    original, trained = trials.train, list[tuple[str, int]]()

    def dies(shared: Any, task: Any) -> Outcome:
        trained.append((task.name, task.steps))
        if len(trained) == at:
            raise Killed
        return original(shared, task)

    monkeypatch.setattr(trials, "train", dies)
    with pytest.raises(Killed):
        run(tmp_path, trainings=5)
    finished = trained[:-1]
    at = 0  # never again
    records = run(tmp_path, resume=True)
    assert fingerprint(result_of(records)) == fingerprint(result_of(whole[0]))
    assert not [task for task in finished if trained.count(task) > 1]
    assert any("running when the search stopped" in getattr(record, "text", "") for record in records)


def test_a_training_whose_folder_is_damaged_begins_anew_and_one_in_use_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(shared: Any, task: Any, folder: RunFolder, *rest: Any) -> Outcome:
        return Outcome(accuracy=1.0 if folder.is_new else 0.5)

    monkeypatch.setattr(trials, "_trained", told)
    shared: Any = SimpleNamespace(settings={}, travels=False, folder=str(tmp_path))
    task, folder = trials.Task("net", {"arch": "mnist"}, 0, 1), tmp_path / "train" / "net"

    def accuracy() -> float | None:
        return trials.train(shared, task).accuracy

    assert [accuracy(), accuracy()] == [1.0, 0.5]
    (folder / "config.json").write_text("{")
    assert [accuracy(), accuracy()] == [1.0, 0.5]
    (folder / "model.safetensors").mkdir()
    assert [accuracy(), accuracy()] == [1.0, 0.5]
    (folder / "state").mkdir()
    (folder / "config.json").unlink()
    with runs._locked(folder):
        assert "in use by" in trials.train(shared, task).failed
    assert [accuracy(), accuracy()] == [1.0, 0.5]


@pytest.mark.slow
def test_damaged_trainings_of_a_killed_search_are_trained_anew(
    run: Run, whole: tuple[list[Record], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no failures of their networks, which would be ranked last."""
    original, trained = trials.train, list[str]()

    def dies(shared: Any, task: Any) -> Outcome:
        trained.append(task.name)
        if len(trained) == 4:
            raise Killed
        return original(shared, task)

    with monkeypatch.context() as patch:
        patch.setattr(trials, "train", dies)
        with pytest.raises(Killed):
            run(tmp_path, trainings=5)
    folder = tmp_path / "search" / "toy"
    (folder / "train" / trained[0] / "config.json").write_text("{")
    (folder / "train" / trained[1] / "config.json").unlink()
    (folder / "train" / trained[2] / "model.safetensors").unlink()
    (folder / "train" / trained[2] / "model.safetensors").mkdir()
    (folder / "study.db").write_bytes(b"")
    records = run(tmp_path, resume=True)
    assert fingerprint(result_of(records)) == fingerprint(result_of(whole[0]))
    assert any("made anew" in getattr(record, "text", "") for record in records)


@pytest.mark.parametrize("keeps_records", [True, False])
def test_a_study_made_anew_holds_what_trainings_that_went_on_had_reached_at_their_rungs(
    run: Run,
    whole: tuple[list[Record], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keeps_records: bool,
) -> None:
    """Their folders are further; where the records are lost as well, they are trained again."""
    original, trained = trials.train, list[tuple[str, int]]()

    def dies(shared: Any, task: Any) -> Outcome:
        trained.append((task.name, task.steps))
        if len(trained) == 10:
            raise Killed
        return original(shared, task)

    monkeypatch.setattr(trials, "train", dies)
    with pytest.raises(Killed):
        run(tmp_path, trainings=5)
    folder = tmp_path / "search" / "toy"
    (folder / "study.db").write_bytes(b"")
    if not keeps_records:
        kept = [line for line in files.read_lines(folder / "records.jsonl") if line["kind"] != "trained"]
        RunFolder(folder, is_new=False).rewrite(kept)
    records, rungs = run(tmp_path, resume=True), [task for task in trained[:9] if task[1] < 6]
    assert fingerprint(result_of(records)) == fingerprint(result_of(whole[0]))
    assert [task for task in rungs if trained.count(task) > 1] == ([] if keeps_records else rungs)


@pytest.mark.slow
def test_a_failing_network_is_a_row_with_its_reason(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, failing = trials._trained, list[str]()

    def fails(shared: Any, task: Any, *rest: Any) -> Outcome:
        if not failing or task.name in failing:
            failing.append(task.name)
            raise WorkFailed("the loss became nan")
        return original(shared, task, *rest)

    monkeypatch.setattr(trials, "_trained", fails)
    result = result_of(run(tmp_path, trainings=3))
    rows = {network.name: network for network in result.networks if network.failed}
    assert [f"{name}-1" for name in rows] == failing[:1]
    assert rows.popitem()[1].failed == "the loss became nan"
    assert result.spent.failed == 1
    assert result.winner.full


def test_where_every_training_fails_the_search_fails_with_the_reason(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "train", lambda shared, task: Outcome(failed="no luck"))
    with pytest.raises(WorkFailed, match="no luck"):
        run(tmp_path, trainings=3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_params": 50}, r"no network of the space .* fits --max-params 50: the smallest of 300 drawn"),
        ({"max_macs": 7}, "fits --max-macs 7"),
        ({"schedule": "cosine"}, "a training that pauses cannot follow it"),
        ({"hours": 1, "trainings": 3}, "say one of them"),
        ({"hours": 1e-9}, "no time left"),
        ({"time_limit": 3}, "limited by --hours or --trainings"),
        ({"space": "pit"}, "pooling between three stages"),
        ({"space": "smal"}, "did you mean 'small'"),
        ({"storage": "here.db"}, "a URL is needed"),
        ({"storage": "postgresql://x/y", "hours": 2}, "--trainings, not --hours"),
        ({"storage": "postgresql://x/y", "max_ms": 2}, "take different times"),
        ({"optimiser": "adm"}, "adamw"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_trained(
    run: Run, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        run(tmp_path, **changes)
    assert not list(tmp_path.iterdir())


def test_ray_is_asked_for_before_anything_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="--spread ray needs Ray"):
        run(tmp_path, spread="ray")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "said"), [("one_class", "one class only"), ("unchecked", "--validation N")])
def test_data_that_cannot_be_searched_on_are_refused(
    run: Run, place: Path, tmp_path: Path, name: str, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        run(tmp_path, data=f"{place / 'toy.py'}:{name}")


@pytest.mark.slow
def test_hours_become_trainings_and_are_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitruvius.searching.prepare._median_seconds", lambda *_: 1200.0)
    result = result_of(run(tmp_path, hours=1.0))
    assert result.plan.trainings == 3.0
    assert "depended on the clock" in result.order


@pytest.mark.slow
def test_a_front_has_finalists_of_several_prices(run: Run, tmp_path: Path) -> None:
    result = result_of(run(tmp_path, trainings=8, front="params", scored=8))
    finalists = [network for network in result.networks if "finalist" in network.roles]
    assert len({network.params for network in finalists}) > 1
    reached = {n.name: (n.params, n.interval.value or 0) for n in result.networks if n.full}
    for name, (params, accuracy) in reached.items():
        beaten = any(
            p <= params and a > accuracy or p < params and a >= accuracy for p, a in reached.values()
        )
        assert (name in result.front) == (not beaten)


def test_options_describe_a_network_exactly(whole: tuple[list[Record], Path]) -> None:
    from vitruvius.arch import tables

    for network in result_of(whole[0]).networks:
        if network.number >= 0:
            words = trials.options(network.arch)
            assert tables.arch(words["arch"], words["set"], image=8, channels=1, classes=2) == network.arch


def test_a_stop_file_stops_a_training_with_its_state_saved(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not trials.StopFile(tmp_path / "no")
    (tmp_path / "yes").touch()
    assert trials.StopFile(tmp_path / "yes")


def test_the_study_hands_every_request_out_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    wanted = [Request(number, 10) for number in (7, 3, 5)]
    study = Study(url, "x", "me", "settings")
    study.queue(wanted)
    study.queue(wanted)
    claimed = study.claim(wanted, 10)
    assert [request for _, request in claimed] == wanted
    study.tell(claimed[0][0], Outcome(accuracy=0.5, correct="f0", seconds=2.0), rung=10)
    study.tell(claimed[1][0], Outcome(failed="no memory"))
    study.close()
    again = Study(url, "x", "me", "settings")
    assert again.requeue_own() == 1
    again.queue(wanted)
    ((trial, request),) = again.claim(wanted, 10)
    assert request == wanted[2]
    again.tell(trial, Outcome(accuracy=0.25))
    found = again.finished()
    assert [(found[r].accuracy, found[r].failed) for r in wanted] == [
        (0.5, ""),
        (None, "no memory"),
        (0.25, ""),
    ]
    assert not again.claim(wanted, 1)
    assert again.study.best_value == 0.25  # the one that paused at a rung is not compared
    assert again.study.trials[0].intermediate_values == {10: 0.5}
    again.close()
    with pytest.raises(UserError, match="has other settings"):
        Study(url, "x", "me", "others")


def test_a_duplicate_in_the_queue_is_not_handed_out(tmp_path: Path) -> None:
    study = Study(f"sqlite:///{tmp_path / 'study.db'}", "x", "me", "settings")
    for _ in range(2):
        study.study.enqueue_trial(Request(1, 10)._asdict())
    claimed = study.claim([Request(1, 10)], 10)
    assert len(claimed) == 1
    study.tell(claimed[0][0], Outcome(accuracy=1.0))
    assert list(study.finished()) == [Request(1, 10)]
    study.close()


def test_what_paused_at_a_rung_is_not_done_again(tmp_path: Path) -> None:
    study = Study(f"sqlite:///{tmp_path / 'study.db'}", "x", "me", "settings")
    study.queue([Request(1, 10)])
    ((trial, _),) = study.claim([Request(1, 10)], 1)
    study.tell(trial, Outcome(accuracy=0.5), rung=10)
    study.queue([Request(1, 10)])
    study.study.enqueue_trial(Request(1, 10)._asdict())  # another machine did not know yet
    assert not study.claim([Request(1, 10)], 10)
    assert study.finished()[Request(1, 10)].accuracy == 0.5
    study.close()


def test_a_storage_that_cannot_be_reached_is_a_sentence_without_the_password() -> None:
    with pytest.raises(UserError, match="--storage postgresql://ann@localhost:1/x") as caught:
        Study("postgresql://ann:secret@localhost:1/x", "x", "me", "s")
    assert "secret" not in str(caught.value)


def test_a_travelling_folder_arrives_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a" / "state").mkdir(parents=True)
    (tmp_path / "a" / "config.json").write_text("{}")
    (tmp_path / "a" / "state" / "1.json").write_text("1")
    (tmp_path / "a" / ".lock").write_text("")
    content = trials.get_files(tmp_path / "a")
    assert sorted(content) == ["config.json", "state/1.json"]
    trials.put_files(tmp_path / "b", {**content, "../escaped": b""})
    assert trials.get_files(tmp_path / "b") == content
    assert not (tmp_path / "escaped").exists()
