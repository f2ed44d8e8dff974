"""A result is read from JSON and written back the same, with one accuracy column, several or none."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from vitruvius.ranking import evaluation
from vitruvius.ranking.evaluation import Evaluation, Interval
from vitruvius.ranking.results import Candidate, Result

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


def test_the_ceiling_is_what_a_score_without_noise_would_reach() -> None:
    """Simulated: a true quality, two noisy trainings of it, and tau with one and with their mean."""
    random = np.random.default_rng(0)
    truth = random.normal(size=3000)
    first, second = truth + random.normal(0, 0.3, (2, 3000))
    agreement = stats.kendalltau(first, second).statistic
    for trainings, accuracy in ((1, first), (2, (first + second) / 2)):
        reached = stats.kendalltau(truth, accuracy).statistic
        found = evaluation.reachable(Interval(value=agreement), trainings)
        assert found.value == pytest.approx(reached, abs=0.01)
    assert evaluation.reachable(Interval(value=-0.2), 2).value == 0
