"""A search that is limited by hours spends them: rounds of short trainings while there is time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vitruvius.core import files
from vitruvius.core.records import Record
from vitruvius.searching import plan, prepare, trials
from vitruvius.searching.pace import Pace
from vitruvius.searching.results import Chosen, Result
from vitruvius.searching.state import Search
from vitruvius.searching.trials import Outcome

Run = Callable[..., list[Record]]
STEPS = 6  # of a full training: two epochs of three batches


class Killed(BaseException):
    """The process dies: nothing that comes after it is executed."""


@dataclass
class Clock:
    """Trainings that take no time: each step is said to take `slowness` seconds for each layer."""

    slowness: float = 1.0
    lives: int = -1  # trainings until the process dies; below 0 it never does
    seconds: list[float] = field(default_factory=list)
    begun: dict[str, int] = field(default_factory=dict)

    def train(self, shared: Any, task: Any) -> Outcome:
        self.lives -= 1
        if self.lives == 0:
            raise Killed
        layers = 3 if any("depth=2" in word for word in task.network["set"]) else 2
        steps, self.begun[task.name] = task.steps - self.begun.get(task.name, 0), task.steps
        self.seconds.append(self.slowness * steps * layers)
        accuracy = 0.5 + 0.1 * layers + task.steps / 100 + (sum(map(ord, task.name)) % 7) / 1000
        return Outcome(accuracy, None, "ffffffff" if task.steps == STEPS else "", self.seconds[-1])

    def restart(self) -> None:
        """Let another search begin."""
        self.seconds.clear()
        self.begun.clear()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(trials, "train", found.train)
    monkeypatch.setattr(prepare, "_pace", lambda *_: Pace(per_layer=1.0, per_mac=0.0))
    monkeypatch.setattr(Search, "spent", property(lambda _: sum(found.seconds)))
    return found


def result_of(records: list[Record]) -> Result:
    assert isinstance(records[-1], Result)
    return records[-1]


def choices(records: list[Record]) -> list[Chosen]:
    return [record for record in records if isinstance(record, Chosen)]


def search(run: Run, folder: Path, seconds: float) -> list[Record]:
    return run(folder, hours=seconds / 3600, scored=24)


@pytest.mark.parametrize(("slowness", "seconds"), [(0.5, 150), (1.0, 250), (2.0, 400)])
def test_what_is_spent_is_what_may_be_spent(
    run: Run, clock: Clock, tmp_path: Path, slowness: float, seconds: float
) -> None:
    clock.slowness = slowness
    result = result_of(search(run, tmp_path, seconds))
    longest = slowness * 3 * STEPS
    assert 0.7 * seconds < result.spent.seconds < seconds + longest


def test_networks_that_are_faster_than_foreseen_make_room_for_others(
    run: Run, clock: Clock, tmp_path: Path
) -> None:
    clock.slowness = 0.2
    result = result_of(search(run, tmp_path, 100))
    first = result.plan.rungs[0]
    short = [network for network in result.networks if first.steps in network.short]
    assert len(short) > 1.5 * first.networks
    assert len({network.name for network in short}) == len(short)


def test_a_training_count_is_spent_in_one_round(run: Run, clock: Clock, tmp_path: Path) -> None:
    records = run(tmp_path, trainings=8, scored=24)
    assert not [choice for choice in choices(records) if "round" in choice.step]


def test_a_search_killed_in_its_second_round_makes_the_same_choices(
    run: Run, clock: Clock, tmp_path: Path
) -> None:
    clock.slowness = 0.2
    whole = search(run, tmp_path / "whole", 100)
    names = [choice.step for choice in choices(whole)]
    assert names[names.index("round 2") + 1].endswith("steps, round 2")
    first = [
        choice for choice in choices(whole) if choice.step in ("first half", "second half", "for 3 steps")
    ]
    clock.restart()
    clock.lives = sum(len(choice.networks) for choice in first) + 3
    with pytest.raises(Killed):
        search(run, tmp_path / "killed", 100)
    resumed = run(tmp_path / "killed", resume=True)
    kept = files.read_lines(tmp_path / "killed" / "search" / "toy" / "records.jsonl")
    found = [(line["step"], tuple(line["networks"])) for line in kept if line["kind"] == "chosen"]
    assert found[:-1] == [(choice.step, choice.networks) for choice in choices(whole)]
    assert result_of(resumed).networks == result_of(whole).networks


def lines_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in files.read_lines(folder / "records.jsonl") if line["kind"] == kind]


@pytest.mark.parametrize(("budget", "seconds", "scored"), [(100, 0.5, 21), (100, 1.0, 13), (300, 5.0, 20)])
def test_scoring_takes_a_tenth_of_the_hours(
    run: Run,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    budget: int,
    seconds: float,
    scored: int,
) -> None:
    """Each of 32 networks takes `seconds`; of those that the plan trains 20 are scored at any rate.

    What was spent before, on timing networks, does not count.
    """

    def spent(search: Search) -> float:
        return 20 + sum(clock.seconds) + seconds * len(lines_of(search.folder.folder, "scored"))

    monkeypatch.setattr(Search, "spent", property(spent))
    clock.lives = 3
    with pytest.raises(Killed):
        run(tmp_path, hours=budget / 3600, scored=None)
    folder = tmp_path / "search" / "toy"
    (kept,) = [line["networks"] for line in lines_of(folder, "chosen") if line["step"] == "scored"]
    assert len(kept) == scored
    clock.restart()
    result = result_of(run(tmp_path, resume=True))
    assert len(lines_of(folder, "scored")) == scored
    assert {network.number for network in result.networks} <= {*kept, prepare.PRESET}


@pytest.mark.parametrize("rungs", [(), ((100, 8),), ((100, 47), (400, 11))])
def test_what_follows_a_rung_is_counted_step_by_step(rungs: tuple[tuple[int, int], ...]) -> None:
    made = plan.Plan(
        trainings=9,
        steps=800,
        rungs=tuple(plan.Rung(steps=steps, networks=networks) for steps, networks in rungs),
        finalists=1,
        baselines=0,
    )
    counts = [4.0**-index for index in range(len(rungs) + 1)]
    ends = [0, *(steps for steps, _ in rungs), 800]
    costs = [end - begin for begin, end in zip(ends, ends[1:], strict=False)]
    costs[-1] += 800
    for index in range(len(rungs) + 1):
        whole = sum(n * c for n, c in zip(counts[index:], costs[index:], strict=True))
        assert made.further(index) == pytest.approx(whole / (counts[index] * costs[index]))
