"""Runs as pages: table, reports, live streams, comparisons; broken and vanishing runs are a sentence."""

import os
import re
import shutil
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.web import visitor
from tests.web.visitor import HOSTILE, Visitor, epoch, events, identity
from vitruvius.core import files
from vitruvius.core.records import Record
from vitruvius.core.runs import RunFolder
from vitruvius.measuring.results import Machine, Measurement
from vitruvius.measuring.results import Result as Measured
from vitruvius.pretraining.results import Point, Points
from vitruvius.ranking.results import WORKLOAD, Workload
from vitruvius.ranking.results import Result as Ranked
from vitruvius.ranking.score import Scored
from vitruvius.searching.plan import Plan, Rung
from vitruvius.searching.results import Stage, Trained
from vitruvius.verbs.train import Config
from vitruvius.web import library, live, shown_runs
from vitruvius.web.headlines import headline
from vitruvius.web.pages import compare

PACKAGE = Path(library.__file__).parent.parent
OPENED = re.compile(r'runs\.opened\("(\w+)"')


def hold(folder: Path) -> None:
    """Mark a run as being written by this process."""
    files.write_json(folder / ".holder", {"pid": os.getpid(), "host": socket.gethostname()})


def test_the_table_has_every_run_with_its_result(site: Visitor) -> None:
    text = site.ask("/runs").text
    for words in ("75.00% test accuracy", "1 bug; 1 of 1 checks could be made", "first of 3 by snip", "6 s"):
        assert words in text
    assert "75.00% test accuracy" in site.ask("/").text


def test_a_training_is_shown_with_curves_confusion_and_settings(site: Visitor) -> None:
    text = site.ask(f"/runs/{identity('train', 'first')}").text
    assert text.count('class="plot"') == 2
    assert "true and predicted class" in text
    assert "75.00%" in text
    chosen = text.partition("<h2>Settings</h2>")[2].partition("have their defaults")[0]
    assert "noise:1x8x8" in chosen
    assert "epochs" in chosen, "three, and not as many as it trains by default"
    assert f"/look?run={identity('train', 'first')}" in text


def test_a_ranking_has_every_score_and_a_scatter_for_each(site: Visitor) -> None:
    text = site.ask(f"/runs/{identity('rank', 'three')}").text
    assert text.count('class="one-score"') == 2
    assert text.count('data-value="30.0"') == 1
    assert "mid" in text


def test_a_ranking_has_the_columns_that_its_legend_explains(site: Visitor) -> None:
    folder = visitor.ranking(site.runs, "priced")
    result = files.read_as(folder / "result.json", Ranked)
    assert list(shown_runs.ranking(result)["sizes"]) == ["parameters"], "nothing else is known"
    costs = {"peak_bytes": 3 * 2**20, "predicted_ms": 0.5}
    priced = result.model_copy(update={"archs": tuple(row.model_copy(update=costs) for row in result.archs)})
    files.write_json(folder / "result.json", priced.model_dump(mode="json"))
    text = site.ask(f"/runs/{identity('rank', 'priced')}").text
    assert text.count("peak MiB") == 2, "the column and its legend"
    assert text.count('data-value="3.0">3</td>') == 3 + 1, "and one score of 3"
    assert text.count('data-value="0.5"') == 3
    shutil.rmtree(folder)


def test_the_results_of_every_verb_that_keeps_runs_have_their_type() -> None:
    verbs = {
        found for path in (PACKAGE / "verbs").rglob("*.py") for found in OPENED.findall(path.read_text())
    }
    assert {"search", "predict", "evaluate", "data"} < verbs
    assert not [verb for verb in (*verbs, "train") if library._result_type(verb) is library._Unknown]


def test_settings_that_a_person_chose_come_before_the_defaults() -> None:
    recorded = {**Config().model_dump(mode="json"), "seed": 3, "own": [1, 2]}
    chosen, rest = shown_runs.settings("train", recorded)
    assert chosen.rows == (("seed", 3), ("own", "1, 2"))
    assert ("schedule", "cosine") in rest.rows
    assert "time_limit" not in [row[0] for row in rest.rows], "what is not set is left out"
    assert shown_runs.settings("no verb", {"seed": 0})[0].rows == (("seed", 0),)


def test_the_verdict_on_scores_comes_before_the_table_and_its_legend(site: Visitor) -> None:
    folder = visitor.ranking(site.runs, "judged")
    result = files.read_as(folder / "result.json", Ranked)
    assert headline(result) == f"{HOSTILE} first of 3 by snip"
    facts = {"verdict": "beats counting", "archs": 3, "regret_at_1": 0.5, "regret_at_5": 0.0}
    found = result.evaluation[""]["snip"].model_copy(update=facts)
    judged = result.model_copy(update={"evaluation": {"": {"snip": found, "zico": found}}})
    said = shown_runs.ranking(judged)["said"]
    places = [said.index(words) for words in ("beats counting (2 of 2", "wins", "<table", "Kendall")]
    assert places == sorted(places)
    once = judged.model_copy(update={"config": result.config.model_copy(update={"seeds": 1})})
    assert headline(once) == f"{HOSTILE} first of 3 by snip; one seed names no winner"
    tied = judged.model_copy(update={"best": {"snip": (HOSTILE, "mid")}})
    assert headline(tied) == f"{HOSTILE} first of 3 by snip; 2 cannot be told apart"
    shutil.rmtree(folder)


def test_a_diagnosis_shows_the_source_line_as_it_was(site: Visitor) -> None:
    text = site.ask(f"/runs/{identity('doctor', 'sick')}").text
    assert '<span class="guilty">  &gt;    7 | optimiser.step()</span>' in text
    assert "train.py:7" in text
    assert HOSTILE not in text


def test_a_search_shows_its_answer_and_its_front(site: Visitor) -> None:
    folder = visitor.search(site.runs, "among")
    text = site.ask(f"/runs/{identity('search', 'among')}").text
    assert "Recommended: net-0" in text
    assert text.count('class="plot"') == 1
    assert "net-0 recommended" in site.ask("/runs").text
    assert live.snapshot(folder)["sentence"] == "1 training so far"
    shutil.rmtree(folder)


def test_a_pretraining_shows_its_curves_and_reconstructions(site: Visitor) -> None:
    folder = visitor.pretraining(site.runs, "auto")
    text = site.ask(f"/runs/{identity('pretrain', 'auto')}").text
    assert "50.00% probe accuracy, validation loss 1" in text
    assert text.count('class="plot"') == 2
    assert 'alt="reconstructions denoise"' in text
    shutil.rmtree(folder)


def test_trainings_are_compared_by_what_differs(site: Visitor) -> None:
    first, second = identity("train", "first"), identity("train", "second")
    text = site.ask(f"/compare?run={first}&run={second}").text
    assert "first is ahead with 75.00% test accuracy, 25.00 points before second." in text
    assert text.count('class="plot"') == 4
    assert '<td class="short">lr</td>' in text
    assert ">epochs</td>" not in text
    assert text.count('<svg role="img"') == 2
    assert site.ask(f"/compare?run={first}").status == 400
    assert site.ask(f"/compare?run={first}&run={identity('rank', 'three')}").status == 400
    assert site.ask(f"/compare?run={first}&run=nothing").status == 404


def test_a_comparison_says_who_is_first() -> None:
    def result(test: float | None, val: float | None) -> Any:
        return type("R", (), {"test_accuracy": test, "val_accuracy": val})

    same = {"a": result(0.5, 0.1), "b": result(0.5, 0.9)}
    assert compare.verdict(same) == "a and b have the same test accuracy, 50.00%."
    untested = {"a": result(0.5, 0.1), "b": result(None, 0.9)}
    assert compare.verdict(untested).startswith("b is ahead with 90.00% validation accuracy, 80.00 points")
    assert "can be compared" in compare.verdict({"a": result(0.5, 0.1), "b": None})


def test_a_run_that_goes_on_is_followed_to_its_end(tmp_path: Path, site: Visitor) -> None:
    """Curves grow with the records; a line that is being written is left alone; the end closes the stream."""
    folder = visitor.training(site.runs, "alive", None)
    hold(folder)
    address = f"/runs/{identity('train', 'alive')}"
    assert 'data-state="running"' in site.ask(address).text
    assert "under way" in site.ask("/runs").text
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(site.ask(f"{address}/events").text))
    reader.start()
    run = RunFolder(folder, False)
    with open(folder / "records.jsonl", "a") as file:
        file.write('{"kind": "epoch", "torn')
    torn = (folder / "records.jsonl").read_bytes()
    _wait_for(lambda: site.ask(address).status == 200)
    assert (folder / "records.jsonl").read_bytes() == torn
    (folder / "records.jsonl").write_bytes(torn[: torn.rindex(b"\n") + 1])
    run.keep(epoch(2))
    _wait_for(lambda: "Epoch 2 of 3" in site.ask(address).text)
    (folder / ".holder").unlink()
    reader.join(60)
    found = events(received[0])
    assert {name for name, _ in found} == {"state"}
    last = found[-1][1]
    assert (last["state"], last["done"], last["total"]) == ("unfinished", 2, 3)
    assert "vitruvius train --resume alive goes on" in last["sentence"]
    assert [trace["x"] for trace in last["plots"][0]["data"]] == [[1, 2], [1, 2]]


def test_the_time_left_is_that_of_the_epochs_so_far(tmp_path: Path) -> None:
    folder = visitor.training(tmp_path, "alive", None)
    hold(folder)
    state = live.snapshot(folder)
    assert state["seconds_left"] == 2 * 2.0
    assert state["sentence"] == "Epoch 1 of 3 · about 4 seconds left"
    files.write_json(folder / ".holder", {"pid": 2**22 + 1, "host": socket.gethostname()})  # no such process
    assert live.snapshot(folder)["state"] == "unfinished"


def test_a_pretraining_grows_too(tmp_path: Path) -> None:
    folder = tmp_path / "pretrain" / "auto"
    folder.mkdir(parents=True)
    files.write_json(folder / "config.json", {"data": "mnist", "epochs": 4})
    for number in (0, 1, 2):
        point = Point(
            objective="denoise", latent=2, repeat=0, val_loss=1.0, accuracy=0.5, train_losses=(1.0,)
        )
        RunFolder(folder, False).keep(Points(epoch=number, points=(point,)))
    hold(folder)
    state = live.snapshot(folder)
    assert (state["done"], state["total"], len(state["plots"])) == (2, 4, 2)


def test_a_run_that_vanishes_while_it_is_shown_is_a_sentence(site: Visitor) -> None:
    folder = visitor.training(site.runs, "gone", None)
    hold(folder)
    address = f"/runs/{identity('train', 'gone')}"
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(site.ask(f"{address}/events").text))
    reader.start()
    _wait_for(lambda: site.ask(address).status == 200)
    shutil.rmtree(folder)
    reader.join(60)
    assert [name for name, _ in events(received[0])][-1] == "gone"
    later = events(site.ask(f"{address}/events").text)
    assert later == [("gone", {"sentence": "This run has been removed."})], "removed between page and stream"
    for path in (address, f"{address}/report", f"{address}/events", f"/look?run={identity('train', 'gone')}"):
        answer = site.ask(path)
        assert answer.status in (200, 404)  # a stream has begun before it looks
        assert "Traceback" not in answer.text
    assert "removed" in site.ask(address).text


@pytest.mark.parametrize("file", ["config.json", "result.json", "records.jsonl", "test.json", "model.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"epochs": "x"}', b"\xff\xfe", b"null", b"{}\n{}\n"]
)
def test_a_broken_run_is_shown_with_a_sentence(
    file: str, content: bytes, tmp_path: Path, site: Visitor
) -> None:
    folder = visitor.training(site.runs, "broken")
    try:
        (folder / file).write_bytes(content)
        id = identity("train", "broken")
        for path in ("/", "/runs", f"/runs/{id}", f"/look?run={id}"):
            assert site.ask(path).status == 200, path
        both = site.ask(f"/compare?run={id}&run={identity('train', 'first')}")
        assert both.status in (200, 400)
        assert site.ask(f"/look/{id}/description").status in (200, 400)
    finally:
        shutil.rmtree(folder)


def test_an_unknown_verb_shows_its_report(site: Visitor) -> None:
    folder = site.runs / "divine" / "omens"
    folder.mkdir(parents=True, exist_ok=True)
    files.write_json(folder / "config.json", {"data": "entrails"})
    files.write_json(folder / "result.json", {"omen": "good"})
    (folder / "report.html").write_text("<h1>Good</h1>")
    text = site.ask(f"/runs/{identity('divine', 'omens')}").text
    assert '<iframe class="report"' in text
    assert 'sandbox="allow-scripts"' in text
    shutil.rmtree(folder.parent)


def test_pictures_are_sent_by_id(site: Visitor) -> None:
    folder = visitor.diagnosis(site.runs, "pictured")
    (folder / "a b.png").write_bytes(b"\x89PNG")
    text = site.ask(f"/runs/{identity('doctor', 'pictured')}").text
    address = text.split('<figure><img src="')[1].partition('"')[0]
    answer = site.ask(address)
    assert (answer.body, answer.headers["content-type"]) == (b"\x89PNG", "image/png")
    shutil.rmtree(folder)
    assert site.ask(address).status == 404


def test_no_runs_at_all_are_said(tmp_path: Path) -> None:
    from vitruvius.web import server

    with server.serving(server.open_port("127.0.0.1", 0), "127.0.0.1", tmp_path / "none") as door:
        alone = Visitor(door, tmp_path)
        assert "There are none yet" in alone.ask("/").text
        assert "There are none in" in alone.ask("/runs").text


def _wait_for(condition: Any) -> None:
    for _ in range(600):
        if condition():
            return
    raise AssertionError("it did not come about")


def _records(folder: Path, config: dict[str, Any], *records: Record) -> Path:
    """A run that goes on and has kept these records."""
    folder.mkdir(parents=True)
    files.write_json(folder / "config.json", config)
    for record in records:
        RunFolder(folder, False).keep(record)
    hold(folder)
    return folder


def test_a_ranking_tells_how_many_are_left_and_how_long_they_take(tmp_path: Path) -> None:
    scored = [Scored(key=str(n), seed=0, scores={}, timing={"snip": 2.0, "zico": 1.0}) for n in range(4)]
    folder = _records(tmp_path / "rank" / "now", {"spread": "here", "workers": 0}, *scored)
    assert live.snapshot(folder)["sentence"] == "4 scores so far"  # its work is not yet counted
    files.write_json(folder / WORKLOAD, Workload(networks=5, seeds=2).model_dump())
    state = live.snapshot(folder)
    assert (state["done"], state["total"], state["seconds_left"]) == (4, 10, 6 * 3.0)
    assert state["sentence"] == "4 of 10 scored: 5 networks with 2 seeds · about 18 seconds left"
    files.write_json(folder / "config.json", {"spread": "processes", "workers": 3})
    assert live.snapshot(folder)["seconds_left"] == 6.0
    (folder / ".holder").unlink()
    assert live.snapshot(folder)["sentence"].endswith("stopped; vitruvius rank --resume now goes on")


def test_a_search_tells_its_stage_and_the_time_that_is_left(tmp_path: Path) -> None:
    plan = Plan(trainings=4, steps=80, rungs=(Rung(steps=10, networks=8),), finalists=2, baselines=0)
    stage = Stage(stage=2, text="8 networks for 10 steps", timing={"left": 100.0, "spent": 5.0})
    one, two, three = (
        Trained(network=name, steps=steps, accuracy=accuracy, timing={"spent": spent})
        for name, steps, accuracy, spent in (("a", 10, 0.5, 15.0), ("b", 10, 0.4, 25.0), ("a", 40, 0.6, 35.0))
    )
    folder = _records(tmp_path / "search" / "now", {"epochs": 2}, plan, stage, one, two, three)
    state = live.snapshot(folder)
    assert state["sentence"] == (
        "2. 8 networks for 10 steps · 2 networks trained so far · about 2 minutes left"
    )
    assert (state["done"], state["total"], state["seconds_left"]) == (50, plan.total_steps, 70.0)
    assert [trace["y"] for trace in state["plots"][0]["data"]] == [[50.0, 50.0, 60.0], [50.0, 40.0, 60.0]]
    files.write_json(folder / "config.json", {"epochs": 2, "hours": 0.5})
    state = live.snapshot(folder)
    assert (state["done"], state["total"]) == (35, 1800)  # seconds, as nobody knows the rounds


def test_a_ranking_that_has_just_begun_says_so(tmp_path: Path) -> None:
    folder = _records(tmp_path / "rank" / "new", {})
    files.write_json(folder / WORKLOAD, Workload(networks=3, seeds=1).model_dump())
    assert live.snapshot(folder)["sentence"] == "0 of 3 scored: 3 networks · the first one is under way"


def test_a_measurement_is_said_by_its_fastest_network() -> None:
    sizes: dict[str, Any] = {"runtime": "torch", "params": 1, "macs": 1}
    rows = [
        Measurement(name=name, batch=1, median_ms=ms, **sizes) for name, ms in (("a", 2.0), ("b", 0.51234))
    ]
    facts: dict[str, Any] = {"device": "cpu", "threads": 1, "cores": 2, "load": 3.0, "is_busy": True}
    machine = Machine(versions={}, **facts)
    found = Measured(rows=tuple(rows), training=False, repeats=2, machine=machine, run="here")
    assert headline(found) == "2 networks, fastest b with 0.512 ms a call"
    assert headline(found.model_copy(update={"rows": (rows[0],)})) == "a, 2 ms a call"
    failed = rows[0].model_copy(update={"median_ms": None, "failed": "why"})
    assert headline(found.model_copy(update={"rows": (failed,)})) == "nothing could be measured"


def test_a_run_that_another_machine_has_left_is_silent(site: Visitor) -> None:
    folder = visitor.training(site.runs, "left", None)
    files.write_json(folder / ".holder", {"pid": 7, "host": f"not-{socket.gethostname()}"})
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))
    text = site.ask("/runs").text
    assert 'data-state="silent"' in text
    assert "has written nothing for an hour" in text
    assert "perhaps stopped" in text
    assert 'data-state="unfinished"' in site.ask(f"/runs/{identity('train', 'left')}").text
