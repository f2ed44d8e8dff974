"""What every exercise obeys: its own answer is right, each mistake is recognised, drawn questions are good.

Mistakes and drawn questions are laws over the folder: a new lesson is tested the day it is dropped in.
"""

import random
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.teaching import check, exercises, solution, verdict
from vitruvius.teaching.results import Judged
from vitruvius.teaching.solution import Solution

WITHOUT = ["paper_review"]
"""Lessons of words, with nothing to compute."""
NAMES = [name for name in plugins.members("lessons") if name not in WITHOUT]


@cache
def solved(name: str) -> Solution:
    return solution.solve(name, {})


def judged(name: str, answers: dict[str, Any]) -> dict[str, Judged]:
    return {one.name: one for one in check.judge(solved(name), answers)}


def written(made: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON holds them, twelve digits each."""
    return {name: lessons.plain(line.value) for name, line in made.items()}


def moved(value: Any, dice: random.Random) -> Any:
    """A value with one entry, drawn at random, changed by one to ten percent."""
    found = lessons.leaves(value).items()
    entries = {path: leaf for path, leaf in found if not isinstance(leaf, str | bool | None)}
    chosen = dice.choice(sorted(entries))
    largest = max(abs(float(leaf)) for leaf in entries.values()) or 1.0

    def copy(item: Any, path: str) -> Any:
        if isinstance(item, dict):
            return {key: copy(inner, f"{path}.{key}") for key, inner in item.items()}
        if isinstance(item, list):
            return [copy(inner, f"{path}.{place}") for place, inner in enumerate(item)]
        if path != f".{chosen}" * bool(chosen):
            return item
        if isinstance(item, int):
            return item + dice.choice((-1, 1, 2))
        return float(item) + dice.choice((-1, 1)) * dice.uniform(0.01, 0.1) * largest

    return copy(lessons.listed(value), "")


def numbers_in(formula: str) -> Counter[str]:
    """The numbers of a formula and how often each is there; not those below the line."""
    return Counter(re.findall(r"\d+(?:\.\d+)?", re.sub(r"_(\{[^{}]*\}|\w)", "", formula)))


def test_only_lessons_of_words_have_no_exercise() -> None:
    assert [name for name in plugins.members("lessons") if not lessons.exercise(name)] == WITHOUT


def test_there_are_enough_mistakes() -> None:
    counts = {
        name: len({key for line in solved(name).lines().values() for key in line.mistakes}) for name in NAMES
    }
    assert {name: count for name, count in counts.items() if count < 2} == {}
    assert sum(counts.values()) >= 80


def test_later_values_are_worked_out_from_the_ones_before() -> None:
    """Some change of some value, of ten of each, changes another one."""

    def carries(one: Solution, chosen: str, dice: random.Random) -> bool:
        after = one.lines({chosen: moved(one.lines()[chosen].value, dice)})
        return not all(check.agrees(line.value, one.values[key]) for key, line in after.items())

    def independent(one: Solution) -> bool:
        dice = random.Random(0)
        return not any(carries(one, chosen, dice) for chosen in one.lines() for _ in range(10))

    assert [name for name in NAMES if independent(solved(name))] == []


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("attention", {"scaled": True}),
        ("attention", {"step": None, "mask": "causal"}),
        ("attention_as_graph", {"mask": "causal", "scaled": True}),
        ("attention_constructions", {"kind": "permutation"}),
        ("attention_constructions", {"kind": "pointwise"}),
        ("convolution", {"shape": [200, 1]}),
        ("denoising_linear", {"latent": 1}),
        ("earth_mover", {"partial": True, "supply": [[[0, 0], 2], [[3, 4], 5]], "demand": [[[3, 0], 4]]}),
        ("encoder_layer", {"activation": "relu", "b_1": [1, 0, -1]}),
        ("kernel_attention", {"kernel": "linear"}),
        ("key_perturbation", {"stretch": 3}),
        ("masked_linear", {"latent": 2}),
        ("masking", {"hidden": [1]}),
        ("message_passing", {"aggregation": "mean", "edge_function": [[1, 2], [0, 1]]}),
        ("min_norm", {"start": [1, 0, 0]}),
        ("multihead", {"layout": "columns", "scaled": False}),
        ("patches", {"class_token": True}),
        ("pooling", {"kind": "max", "matrix": [[1, 2, 0], [0, 3, 1], [2, 1, 1]], "size": 2, "stride": 1}),
        ("regularised_autoencoder", {"eigenvalues": [9, 1, 0], "weight": 2}),
        ("scaling", {"mean": [1, 2], "sigma": 3}),
        ("zero_grad", {"rate": "1/100"}),
    ],
)
def test_other_settings_are_written_down_rightly(name: str, fields: dict[str, Any]) -> None:
    one = solution.solve(name, fields)
    lines = one.lines()
    assert lines
    assert [key for key, line in lines.items() if not check.agrees(line.value, one.values[key])] == []


@pytest.mark.parametrize("name", NAMES)
class TestLaws:
    def test_what_is_written_down_is_what_the_lesson_finds(self, name: str) -> None:
        one = solved(name)
        faults = [key for key, line in one.lines().items() if not check.agrees(line.value, one.values[key])]
        assert faults == []
        assert all(line.what and line.formula and line.ask.endswith("?") for line in one.lines().values())

    def test_its_own_answer_is_right(self, name: str) -> None:
        found = judged(name, lessons.plain(solved(name).values))
        assert {one.status for one in found.values()} == {"right"}

    def test_every_mistake_is_recognised_as_itself_and_nothing_else(self, name: str) -> None:
        one = solved(name)
        places = {key: place for place, line in one.lines().items() for key in line.mistakes}
        for key in places:
            made = one.lines(made=[key])
            found = judged(name, written(made))
            first = next(value for value in found.values() if value.status == "wrong")
            assert key in first.mistakes, f"{key}: {first}"
            for other in first.mistakes:  # of others it says that they cannot be told from it
                same = one.lines(made=[other])[first.name].value
                assert check.agrees(same, lessons.listed(made[first.name].value)), (
                    f"{key} is taken for {other}"
                )
            rest = {value.name: value.status for value in found.values() if value.status == "wrong"}
            assert list(rest) == [first.name], f"{key}: {rest}"

    def test_a_changed_value_is_wrong_and_what_follows_from_it_is_consistent(self, name: str) -> None:
        one, dice = solved(name), random.Random(name)
        names = list(one.lines())
        for _ in range(3):
            chosen = dice.choice(names)
            wrong = moved(one.lines()[chosen].value, dice)
            after = one.lines({chosen: wrong})
            if len(after) < len(names):
                continue  # nothing follows from it
            answers = written(after) | {chosen: lessons.plain(wrong)}
            found = judged(name, answers)
            assert found[chosen].status == "wrong"
            for later, line in after.items():
                if later != chosen:
                    unmoved = check.agrees(line.value, one.values[later])
                    assert found[later].status == ("right" if unmoved else "consistent"), later

    def test_hints_say_no_number_before_the_step(self, name: str) -> None:
        """The first two hints of other numbers are the same words, so they hold none of the numbers."""
        fields = exercises.draw(name, random.Random(5), set())
        other = Solution(name, lessons.question(name, fields), {})  # need not be solved
        for place in set(solved(name).lines()) & set(other.lines()):
            missing = [Judged(name=place, status="missing")]
            own = list(verdict.hints_for(solved(name), missing, 3))
            assert [hint.level for hint in own] == [1, 2, 3]
            assert own[:2] == list(verdict.hints_for(other, missing, 2))

    def test_the_third_hint_shows_the_step_with_its_numbers(self, name: str) -> None:
        """The formula holds more numbers than the value and its repetition, indices aside."""
        one = solved(name)
        for place in one.asked:
            *_, last = verdict.hints_for(one, [Judged(name=place, status="missing")], 3)
            value = verdict.latex(one.values[place])
            assert last.text.startswith("Step "), place
            assert last.formula.endswith(f" = {value}"), place
            assert numbers_in(last.formula.removesuffix(value)) - numbers_in(value), place

    def test_drawn_questions_are_answered_proved_and_different(self, name: str) -> None:
        draws_are_good(name, 2)

    @pytest.mark.slow
    def test_two_hundred_drawn_questions_are_answered_proved_and_different(self, name: str) -> None:
        draws_are_good(name, 200)


def draws_are_good(name: str, count: int) -> None:
    """Drawn questions are all different, answered, proved, and show as many mistakes as the lesson's own."""
    module, dice, taken = lessons.get(name), random.Random(1), set[str]()
    own = {key for line in solved(name).lines().values() for key in line.mistakes}
    for _ in range(count):
        fields = exercises.draw(name, dice, taken)
        one = solution.solve(name, fields)
        assert one.answer is not None
        faults = [
            f"{proof.name}: {proof.detail}"
            for proof in module.prove(one.question, one.answer)
            if not proof.passed
        ]
        assert faults == [], fields
        lines = one.lines()
        assert all(check.agrees(line.value, one.values[key]) for key, line in lines.items()), fields
        assert len({key for line in lines.values() for key in line.mistakes}) >= len(own), fields
    assert len(taken) == count
