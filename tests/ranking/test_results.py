"""A result is read from JSON and written back the same, with one accuracy column, several or none."""

from typing import Any

import pytest

from vitruvius.ranking.results import Candidate, Evaluation, Result

EVALUATION = Evaluation(
    kendall_with_params=0.5, kendall_with_depth=None, seed_agreement=1.0, verdict="no signal", archs=3
).model_dump(mode="json")
SIZES = {"params": 1, "macs": 2, "depth": 3, "width": None}


def as_json(accuracy: Any, evaluation: Any) -> dict[str, Any]:
    score = {"mean": 1.0, "std": 0.5, "failed": None}
    candidate = {"name": "a", **SIZES, "scores": {"snip": score}, "rank": {"snip": 1}, "accuracy": accuracy}
    rest = {"noise_ceiling": None, "data": "mnist", "seconds": 1.5, "run": "runs/rank/a"}
    return {"archs": [candidate], "evaluation": evaluation, "best": {"snip": ["a"]}, **rest, "config": {}}


@pytest.mark.parametrize(
    ("accuracy", "evaluation", "columns"),
    [
        (0.5, {"snip": EVALUATION}, [""]),
        (None, {"snip": EVALUATION}, [""]),
        ({"a": 0.5, "b": None}, {"a": {"snip": EVALUATION}, "b": {"snip": EVALUATION}}, ["a", "b"]),
    ],
    ids=["one column", "none", "several"],
)
def test_values_have_a_column_inside_and_the_only_one_stands_alone_in_json(
    accuracy: Any, evaluation: Any, columns: list[str]
) -> None:
    found = Result(**as_json(accuracy, evaluation))
    assert list(found.evaluation) == list(found.archs[0].accuracy) == columns
    assert found.evaluation[columns[0]]["snip"].seed_agreement == 1.0
    written = found.model_dump(mode="json")
    assert (written["archs"][0]["accuracy"], written["evaluation"]) == (accuracy, evaluation)
    assert Result(**written) == found


def test_a_candidate_made_with_columns_keeps_them() -> None:
    found = Candidate(name="a", **SIZES, scores={}, rank={}, accuracy={"": 0.25})
    assert found.accuracy == {"": 0.25}
    assert found.model_dump()["accuracy"] == 0.25
