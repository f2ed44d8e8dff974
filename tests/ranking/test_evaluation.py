"""Scores judged by accuracies: the verdict compares with counting parameters, resample by resample."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from vitruvius.ranking import evaluation, statistics
from vitruvius.ranking.evaluation import Sizes
from vitruvius.ranking.results import Evaluation, Interval
from vitruvius.ranking.statistics import Floats

COUNT = 40
SOURCE = random.Random(7)
PARAMS = np.array([1000.0 * 1.2 ** (index // 2) + SOURCE.randrange(30) for index in range(COUNT)])
DEPTH = np.array([float(1 + index % 4) for index in range(COUNT)])
SIZES = Sizes(PARAMS, DEPTH)
ACCURACY = [0.5 + 0.004 * index + SOURCE.gauss(0, 0.05) for index in range(COUNT)]


def noisy(values: Sequence[float], spread: float, seeds: int = 3) -> Floats:
    return np.array([[value + SOURCE.gauss(0, spread) for _ in range(seeds)] for value in values])


def judged(scores: Floats, accuracies: Sequence[float | None] = ACCURACY, sizes: Sizes = SIZES) -> Evaluation:
    return evaluation.evaluate({"score": scores}, sizes, accuracies)["score"]


def test_every_statistic_is_over_the_networks_with_known_accuracy() -> None:
    scores = noisy(ACCURACY, 0.05)
    known = [index for index in range(COUNT) if index % 5]
    found = judged(scores, [accuracy if index % 5 else None for index, accuracy in enumerate(ACCURACY)])
    alone = judged(scores[known], [ACCURACY[index] for index in known], SIZES.part(known))
    assert found == alone
    assert found.archs == len(known)
    accuracy = [ACCURACY[index] for index in known]
    mean = scores[known].mean(1)
    assert found.kendall.value == pytest.approx(stats.kendalltau(mean, accuracy).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(mean, accuracy).statistic)
    assert found.kendall_with_params == pytest.approx(stats.kendalltau(mean, PARAMS[known]).statistic)
    assert found.kendall_with_depth == pytest.approx(stats.kendalltau(mean, DEPTH[known]).statistic)
    assert found.regret_at_1 == pytest.approx(100 * (max(accuracy) - accuracy[int(mean.argmax())]))
    top = sorted(range(len(known)), key=lambda index: -mean[index])[:5]
    assert found.regret_at_5 == pytest.approx(100 * (max(accuracy) - max(accuracy[index] for index in top)))


def test_a_good_score_beats_parameters_and_parameters_do_not_beat_themselves() -> None:
    assert judged(noisy(ACCURACY, 0.001)).verdict == "beats counting parameters"
    assert judged(PARAMS[:, None] * np.ones(3)).verdict == "no better than parameters"
    assert judged(noisy([0.0] * COUNT, 1.0)).verdict == "no signal: the interval contains 0"
    assert judged(np.ones((COUNT, 3))).verdict == "no signal: all scores are equal"


def test_a_score_that_differs_from_parameters_by_luck_is_no_better() -> None:
    found = judged(noisy(list(PARAMS), 200, seeds=1))
    assert found.kendall.low is not None
    assert found.kendall.low > 0
    assert found.verdict == "no better than parameters"


def test_the_difference_is_taken_resample_by_resample() -> None:
    """A score that is wrong where parameters are, but for some mistakes: unpaired, the gain would drown in noise."""
    accuracy = [0.5 + 0.01 * index for index in range(COUNT)]
    score = np.array([index + SOURCE.gauss(0, 12) for index in range(COUNT)])
    params = score.copy() + 50
    params[::4] += [SOURCE.gauss(0, 20) for _ in params[::4]]
    found = judged(score[:, None], accuracy, Sizes(params, DEPTH))
    first, second = (statistics.resamples(COUNT, seed) for seed in (1, 2))
    gain = statistics.kendall(score, accuracy, first) - statistics.kendall(params, accuracy, second)
    unpaired = statistics.interval(gain)
    assert unpaired.low is not None
    assert unpaired.low < 0
    assert found.verdict == "beats counting parameters"


@pytest.mark.parametrize(
    ("tau", "gain", "verdict"),
    [
        ((0.5, 0.3, 0.7), (0.2, 0.01, 0.4), evaluation.BEATS),
        ((0.5, 0.3, 0.7), (0.2, 0.0, 0.4), evaluation.NO_BETTER),
        ((0.1, -0.1, 0.3), (0.4, 0.2, 0.6), evaluation.NO_SIGNAL),
        ((-0.3, -0.5, -0.1), (0.3, 0.1, 0.5), evaluation.NO_BETTER),
        ((None, None, None), (None, None, None), evaluation.CONSTANT),
    ],
)
def test_verdicts(tau: tuple[float | None, ...], gain: tuple[float | None, ...], verdict: str) -> None:
    first, second = (
        Interval(**dict(zip(("value", "low", "high"), given, strict=True))) for given in (tau, gain)
    )
    assert evaluation.verdict(first, second) == verdict


def test_equal_accuracies_are_not_called_equal_scores() -> None:
    assert judged(noisy(ACCURACY, 0.01), [0.5] * COUNT).verdict == evaluation.EQUAL


def test_among_networks_of_one_size_counting_parameters_knows_nothing() -> None:
    same = Sizes(np.full(COUNT, 1000.0), DEPTH)
    found = judged(noisy(ACCURACY, 0.01), sizes=same)
    assert found.verdict == "beats counting parameters"
    assert found.kendall_with_params is None
    assert found.kendall_within_size.pairs == COUNT * (COUNT - 1) // 2


def test_without_accuracies_sizes_and_seeds_are_still_compared() -> None:
    scores = noisy(list(PARAMS), 10.0)
    for accuracies in ([], [0.5, 0.6] + [None] * (COUNT - 2)):
        found = judged(scores, accuracies)
        assert found.kendall == Interval()
        assert (found.archs, found.regret_at_1) == (0, None)
        assert found.kendall_with_params == pytest.approx(stats.kendalltau(scores.mean(1), PARAMS).statistic)
        assert found.seed_agreement is not None
        assert found.verdict == "not judged: fewer than three accuracies are known"


def test_failed_scores_and_unknown_sizes_rank_last() -> None:
    scores = noisy(ACCURACY, 0.01)
    scores[3] = -math.inf
    params = PARAMS.copy()
    params[4] = math.nan
    found = judged(scores, sizes=Sizes(params, DEPTH))
    lowest = scores.copy()
    lowest[3] = -1e9
    assert found.kendall == judged(lowest).kendall
    assert found.kendall_with_params is not None


def test_of_very_many_networks_a_part_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LARGEST", 10)
    assert judged(noisy(ACCURACY, 0.1)).archs == 10


def test_twenty_scores_of_fifty_networks_take_a_moment() -> None:
    import time

    scores = {str(index): np.random.default_rng(index).normal(size=(50, 3)) for index in range(20)}
    began = time.process_time()
    accuracies = np.linspace(0, 1, 50).tolist()
    evaluation.evaluate(scores, Sizes(np.arange(1.0, 51), np.ones(50)), accuracies)
    assert time.process_time() - began < 3
