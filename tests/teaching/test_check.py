"""Checking a student's values: the first wrong one, the mistake, and what follows from it."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import vitruvius
from vitruvius import lessons
from vitruvius.core.errors import UserError
from vitruvius.core.records import Result
from vitruvius.lessons import pooling
from vitruvius.teaching import answers, check, numbers, solution, verdict
from vitruvius.teaching.results import Checked, Judged

KEYS, QUERY = np.array([[2, 0, 0], [3, -1, 0], [1, 0, 2]]), np.array([2, -1, 3])
VALUES = np.array([[5, 4, 5], [3, 5, 5], [1, 2, 4]])


def soft(scores: Any) -> Any:
    powers = np.exp(np.array(scores, float))
    return powers / powers.sum()


def judged(given: dict[str, Any], lesson: str = "attention", **fields: Any) -> dict[str, Judged]:
    return {one.name: one for one in check.judge(solution.solve(lesson, fields), given)}


def checked(given: dict[str, Any], hint: int = 0, **fields: Any) -> Checked:
    return verdict.checked(solution.solve("attention", fields), given, hint)


def rounded(values: Any, digits: int) -> list[str]:
    return [f"{value:.{digits}f}" for value in values]


def test_the_right_values_get_full_marks_and_the_rest_is_said_to_be_missing() -> None:
    weights = soft(KEYS @ QUERY)
    found = checked({"scores": (KEYS @ QUERY).tolist(), "weights": rounded(weights, 4)})
    assert (found.first_wrong, found.points, found.possible) == (None, 2, 2)
    assert found.verdict == "All right: 2 of 2 values."
    assert found.exit_code == 0
    assert {one.name for one in found.values if one.status == "missing"} >= {"output"}
    shown = " ".join(getattr(block, "text", "") for block in found.blocks)
    assert "Not given, so not checked: output" in shown


def test_a_missing_division_is_named_and_what_follows_counts() -> None:
    """Worked out here by numpy: scores without the root, then rightly on."""
    scores = KEYS @ QUERY
    given = {"scores": scores.tolist(), "weights": rounded(soft(scores), 5)}
    given["output"] = rounded(soft(scores) @ VALUES, 4)
    found = checked(given, scaled=True)
    assert found.first_wrong == "scores"
    assert "this is what comes out when the scores are not divided by sqrt(3)" in found.verdict
    assert [one.status for one in found.values if one.name in given] == ["wrong", "consistent", "consistent"]
    assert (found.points, found.possible, found.exit_code) == (2, 3, 1)


def test_a_value_that_is_just_wrong_is_wrong_without_a_mistake() -> None:
    scores = [4, 7, 9]
    found = judged({"scores": scores, "weights": rounded(soft(scores), 4), "output": [1, 2, 3]})
    assert (found["scores"].status, found["scores"].mistakes) == ("wrong", ())
    assert (found["weights"].status, found["weights"].because) == ("consistent", "scores")
    assert found["output"].status == "wrong"


def test_a_mistake_in_a_step_that_was_not_written_is_found_in_a_later_one() -> None:
    unscaled = soft(KEYS @ QUERY) @ VALUES
    found = judged({"output": rounded(unscaled, 5)}, scaled=True)
    assert found["output"].mistakes == ("root",)


def test_a_mask_as_zero_score_is_named_where_it_changes_the_fourth_digit_only() -> None:
    found = judged({"masked_weights": rounded(soft([4, 7, 0]), 4)}, "masking")["masked_weights"]
    assert (found.status, found.mistakes) == ("wrong", ("zero_score",))


@pytest.mark.parametrize(
    ("handed_in", "other_way", "mistakes"),
    [
        ("right", "zero_score", ("zero_score",)),
        ("right", "zero_weight", ("deleted",)),
        ("right", "finite_penalty", ("finite",)),
        ("zero_weight", "right", ("renormalised",)),
        ("zero_weight", "zero_score", ("score_of_0",)),
    ],
)
def test_a_way_of_masking_handed_in_whole_is_named(
    handed_in: str, other_way: str, mistakes: tuple[str, ...]
) -> None:
    worked = solution.solve("masking", {})
    given = {handed_in: lessons.plain(worked.values[other_way])}
    found = judged(given, "masking")[handed_in]
    assert (found.status, found.mistakes) == ("wrong", mistakes)
    assert handed_in not in worked.asked


def test_a_whole_that_follows_from_a_wrong_part_is_consistent() -> None:
    weights = soft([4, 7, 0])  # the hidden score is 0
    given = {"masked_weights": rounded(weights, 6), "right": {"weights": rounded(weights, 6), "total": 1}}
    found = judged(given, "masking")
    assert found["masked_weights"].mistakes == ("zero_score",)
    assert (found["right"].status, found["right"].because) == ("consistent", "masked_weights")


@pytest.mark.parametrize(
    ("lesson", "given", "follows"),
    [
        ("depth", {"factor": 2, "plain": 2**27.5, "residual": 3**27.5}, ("plain", "residual")),
        (
            "grouped_heads",
            {
                "share": 1,
                "parameters": {
                    "attention": 32,
                    "attention_one_head": 64,
                    "convolution": 48,
                    "grouped_convolution": 12,
                },
            },
            ("parameters",),
        ),
        (
            "pooling",
            {"output": [[8, 6], [6, 6]], "shift": {"pixels": "13/25", "average": "7/4"}},
            ("shift",),
        ),
    ],
)
def test_what_follows_from_a_wrong_first_value_counts(
    lesson: str, given: dict[str, Any], follows: tuple[str, ...]
) -> None:
    """Worked out by hand: the relu forgotten, a channel too few, windows added up and not divided."""
    fields: dict[str, Any] = {}
    if lesson == "pooling":  # one matrix, averages alone
        fields = {"matrix": pooling.FRAMED, "kind": "average"}
    found = judged(given, lesson, **fields)
    assert [found[name].status for name in follows] == ["consistent"] * len(follows)


def test_two_mistakes_are_both_found() -> None:
    scores = KEYS @ QUERY  # not divided by the root, and then the keys are mixed
    given = {"scores": scores.tolist(), "output": rounded(soft(scores) @ KEYS, 5)}
    found = judged(given, scaled=True)
    assert (found["scores"].mistakes, found["output"].mistakes) == (("root",), ("keys",))


def test_rounded_values_carry_their_rounding_on() -> None:
    weights = [round(weight, 2) for weight in soft(KEYS @ QUERY)]
    output = np.array(weights) @ VALUES  # not the true output to four digits
    truth = soft(KEYS @ QUERY) @ VALUES
    assert np.abs(output - truth).max() > 5e-4
    found = judged({"weights": weights, "output": rounded(output, 4)})
    assert (found["output"].status, found["output"].because) == ("right", "rounding")


def test_rounding_does_not_excuse_a_wrong_value() -> None:
    weights = [round(weight, 2) for weight in soft(KEYS @ QUERY)]
    output = np.array(weights) @ VALUES * 1.05
    assert judged({"weights": weights, "output": rounded(output, 4)})["output"].status == "wrong"


def test_an_exact_value_with_a_point_is_not_taken_for_a_rounded_one() -> None:
    """Ranks of 1.5 are exact; the short formula behind them is still recognised."""
    proxy, accuracy = [1, 1, 3, 4], [2, 1, 3, 4]
    ranks = {"proxy": ["1.5", "1.5", 3, 4], "accuracy": [2, 1, 3, 4]}
    given = {"ranks": ranks, "spearman": f"{1 - 6 * 0.5 / (4 * 15):.4f}"}
    found = judged(given, "rank_correlation", proxy=proxy, accuracy=accuracy)
    assert (found["ranks"].status, found["spearman"].mistakes) == ("right", ("short",))


def test_the_rounding_of_an_exact_zero_is_no_mistake() -> None:
    """Numbers that a student's program computed: what cancels to 0 leaves 1e-17 beside whole numbers."""
    fields = {"x": [[0, -1, -1], [0, 2, 0]], "y": [3, 0], "step": "1/7", "iterations": 3}
    exact = solution.solve("min_norm", fields).values["solution"]
    assert exact == [0, 0, -3]
    assert judged({"solution": [-1e-17, 2.2e-16, -3]}, "min_norm", **fields)["solution"].status == "right"
    assert judged({"solution": [0, 1e-6, -3]}, "min_norm", **fields)["solution"].status == "wrong"
    assert check.agrees([0.0, 1e-16, -3.0], exact)


def test_expressions_and_fractions_are_values() -> None:
    exact = ["e^4/(e^4+e^7+e^8)", "e^7/(e^4+e^7+e^8)", "1/(1+e^-1+e^-4)"]
    assert [float(f"{x:.6g}") for x in soft([4, 7, 8])] == [0.0132129, 0.265388, 0.721399]
    assert judged({"weights": exact})["weights"].status == "right"
    near = [*exact[:2], "1/(1+e^-1+e^-3)"]
    assert judged({"weights": near})["weights"].status == "wrong"


def test_a_part_of_a_matrix_is_checked_alone() -> None:
    found = judged({"scores": [4, None, None]})
    assert found["scores"].status == "right"
    assert judged({"scores": [None, None, 9]})["scores"].status == "wrong"
    assert judged({"scores": [None, None, None]})["scores"].status == "missing"


def test_a_column_is_as_good_as_a_row() -> None:
    assert judged({"scores": [[4], [7], [8]]})["scores"].status == "right"


def test_errors_are_carried_through_the_recurrent_net() -> None:
    """The slope of tanh instead of the sigmoid's, everything behind it worked out here."""
    w, u, v = np.array([[1, -1], [0.5, 2]]), np.array([[1, 2], [-1, 0.5]]), np.array([[2, -1]])
    x, z, h, states = np.array([[1, 0], [0, 1], [1, 1]]), np.array([[1], [0], [1]]), np.zeros(2), []
    for row in x:
        h = 1 / (1 + np.exp(-(w @ row + u @ h)))
        states.append(h)
    hidden = np.array(states)
    slope, local = 1 - hidden**2, -2 * (z - hidden @ v.T) @ v
    grad = local.copy()
    for t in (1, 0):
        grad[t] += u.T @ (slope[t + 1] * grad[t + 1])
    given = {
        "hidden": hidden,
        "slope": slope,
        "local": local,
        "grad_hidden": grad,
        "grad_w": (slope * grad).T @ x,
    }
    found = judged({name: np.round(value, 5).tolist() for name, value in given.items()}, "bptt")
    assert found["slope"].mistakes == ("tanh",)
    statuses = {name: found[name].status for name in given}
    expected = dict.fromkeys(("hidden", "local"), "right") | dict.fromkeys(
        ("grad_hidden", "grad_w"), "consistent"
    )
    assert statuses == expected | {"slope": "wrong"}


def test_hints_go_from_a_question_to_the_step() -> None:
    found = checked({"scores": [4, 7, 8]}, hint=3).hints
    assert [(hint.name, hint.level) for hint in found] == [("weights", 1), ("weights", 2), ("weights", 3)]
    assert found[0].text.endswith("?")
    assert found[1].formula.startswith("w_{ij}")
    assert "0.721399" in found[2].formula
    assert "0.72" not in found[0].text + found[1].text + found[1].formula
    assert [hint.level for hint in checked({"scores": [4, 7, 8]}, hint=1).hints] == [1]
    assert checked({}, hint=2).hints[0].name == "scores"
    assert checked({}, hint=3).hints[-1].text.startswith("Step 1: The product of a query with each key")
    assert checked({"scores": [1, 2, 3], "weights": [0.1, 0.2, 0.7]}, hint=1).hints[0].name == "scores"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scors": [1, 2, 3]}, "no value in attention 'scors': did you mean 'scores'?"),
        ({"scores": [1, 2]}, "scores needs 3 entries, got 2"),
        ({"scores": 5}, "scores needs 3 entries, got a number"),
        ({"scores": [1, [2, 3], 3]}, "scores[2] needs one number, got a list"),
        ({"scores": [1, "two", 3]}, "scores[2]: 'two' is not a number: 'two' is unknown"),
        ({"scores": {"a": 1}}, "scores needs 3 entries, got an object"),
        ({"scores": [1, True, 3]}, "scores[2]: 'True' is not a number"),
    ],
)
def test_bad_values_are_refused_in_a_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=".") as refused:
        judged(given)
    assert str(refused.value).startswith(words)


def test_entries_of_objects_are_named() -> None:
    with pytest.raises(UserError, match="no entry in parts 'score': did you mean 'scores'"):
        judged({"parts": {"score": 1}}, "attention_cost")
    assert judged({"parts": {"scores": 24}}, "attention_cost")["parts"].status == "right"


def test_texts_and_plans_that_are_not_unique_are_taken_but_not_judged() -> None:
    found = judged({"plan": [[1, 2, 3]] * 3, "work": 1}, "earth_mover")
    assert (found["plan"].status, found["work"].status) == ("unchecked", "wrong")
    shown = checked({"form": "v1"})
    assert shown.verdict == "Nothing was given that can be checked."
    assert "so not checked: form." in " ".join(getattr(block, "text", "") for block in shown.blocks)


def test_the_python_function_takes_arrays_fractions_and_other_numbers(monkeypatch: Any) -> None:
    monkeypatch.setattr(Result, "html", None)  # the API sets it for the whole process
    found: Any = vitruvius.check("attention", {"scores": np.array([4, 7, 8]), "weights": soft([4, 7, 8])})
    assert (found.points, found.possible) == (2, 2)
    halved: Any = vitruvius.check("sentence_graph", {"edges": 6}, words=["one", "two", "three", "four"])
    assert halved.values[0].mistakes == ("undirected",)
    third: Any = vitruvius.check("batchnorm_text", {"padding": Fraction(5, 12)})
    assert third.values[0].status == "right"
    assert "first wrong" in halved._repr_html_()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "an object with values by name is needed, it holds a list"),
        ("{", "not JSON"),
        ('{"a": NaN}', "not JSON: NaN is no number"),
        (r'{"a": "\uD800"}', "not JSON: half of a surrogate pair is no character"),
        ('{"a": 1, "b": {"c": 2, "c": 3}}', "not JSON: 'c' is given twice"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_answer_is_refused(text: str, words: str, tmp_path: Any) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(UserError, match=".") as refused:
        answers.read(str(path))
    assert words in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_a_huge_file_and_a_missing_one_are_refused_unread(tmp_path: Any) -> None:
    path = tmp_path / "huge.json"
    path.write_bytes(b" " * (answers.LIMIT + 1))
    with pytest.raises(UserError, match="at most 1,000,000 bytes are read"):
        answers.read(str(path))
    with pytest.raises(UserError, match="no such file"):
        answers.read(str(tmp_path / "none.json"))


def test_digits_survive_the_file() -> None:
    assert answers.parse('{"a": [0.50, 2]}', "here") == {"a": ["0.50", 2]}
    assert numbers.read("0.50").unit == pytest.approx(0.01)


def test_a_table_becomes_the_same_answers() -> None:
    text = 'lesson,value,answer\n,student,Ada\n,variant,2\nattention,scores[1],4\nattention,"scores[3]",8/1\n'
    text += "attention_cost,parts.scores,24\nattention,output[2],\n"
    found = answers.table(text, "a.csv")
    assert (found["student"], found["variant"]) == ("Ada", 2)
    assert judged(found["answers"]["attention"])["scores"].status == "right"
    assert judged(found["answers"]["attention_cost"], "attention_cost")["parts"].status == "right"
    with pytest.raises(UserError, match="scores needs entries 1 to 3, got 9"):
        judged(answers.table("lesson,value,answer\nattention,scores[9],1\n", "b")["answers"]["attention"])
    with pytest.raises(UserError, match="the columns lesson, value and answer are needed, it has a, b"):
        answers.table("a,b\n1,2\n", "c.csv")
    with pytest.raises(UserError, match=r"line 2: '\[\]' is no value"):
        answers.table("lesson,value,answer\nattention,[],1\n", "d.csv")
    with pytest.raises(UserError, match=r"line 3: 'scores\[1\]' is given twice"):
        answers.table("lesson,value,answer\nattention,scores[1],1\nattention,scores[1],2\n", "f.csv")
    with pytest.raises(UserError, match="e.csv: not CSV"):
        answers.table("lesson,value\ranswer\n", "e.csv")


def test_a_verdict_is_json() -> None:
    found = checked({"scores": [1, 2, 3]}, hint=3)
    assert json.loads(json.dumps(found.model_dump(mode="json"), allow_nan=False))["first_wrong"] == "scores"


def test_values_that_overflow_end_what_follows_without_a_crash() -> None:
    found = judged({"scores": [1e90, 1, 1], "weights": [1, 0, 0], "output": [math.pi, 1, 1]})
    assert found["scores"].status == "wrong"
