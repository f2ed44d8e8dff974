"""Networks are ranked by their scores; accuracies evaluate the scores, beside counting parameters."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.records import Score
from vitruvius.ranking import statistics, verdict
from vitruvius.ranking.evaluation import Evaluation, Interval
from vitruvius.ranking.statistics import Floats
from vitruvius.ranking.user_models import UserModel
from vitruvius.ranking.verdict import Sizes

COUNT = 40
SOURCE = random.Random(7)
PARAMS = np.array([1000.0 * 1.2 ** (index // 2) + SOURCE.randrange(30) for index in range(COUNT)])
DEPTH = np.array([float(1 + index % 4) for index in range(COUNT)])
SIZES = Sizes(PARAMS, DEPTH)
ACCURACY = [0.5 + 0.004 * index + SOURCE.gauss(0, 0.05) for index in range(COUNT)]


def noisy(values: Sequence[float], spread: float, seeds: int = 3) -> Floats:
    return np.array([[value + SOURCE.gauss(0, spread) for _ in range(seeds)] for value in values])


def evaluated(
    scores: Floats, accuracies: Sequence[float | None] = ACCURACY, sizes: Sizes = SIZES
) -> Evaluation:
    return verdict.evaluate_scores({"score": scores}, sizes, accuracies)["score"]


def test_every_statistic_is_over_the_networks_with_known_accuracy() -> None:
    scores = noisy(ACCURACY, 0.05)
    known = [index for index in range(COUNT) if index % 5]
    found = evaluated(scores, [accuracy if index % 5 else None for index, accuracy in enumerate(ACCURACY)])
    alone = evaluated(scores[known], [ACCURACY[index] for index in known], SIZES.part(known))
    assert found == alone
    assert found.archs == len(known)
    accuracy = [ACCURACY[index] for index in known]
    mean = np.exp(np.log(scores[known]).mean(1))
    assert found.kendall.value == pytest.approx(stats.kendalltau(mean, accuracy).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(mean, accuracy).statistic)
    assert found.kendall_with_params == pytest.approx(stats.kendalltau(mean, PARAMS[known]).statistic)
    assert found.kendall_with_depth == pytest.approx(stats.kendalltau(mean, DEPTH[known]).statistic)
    assert found.regret_at_1 == pytest.approx(100 * (max(accuracy) - accuracy[int(mean.argmax())]))
    top = sorted(range(len(known)), key=lambda index: -mean[index])[:5]
    assert found.regret_at_5 == pytest.approx(100 * (max(accuracy) - max(accuracy[index] for index in top)))


def test_a_good_score_beats_parameters_and_parameters_do_not_beat_themselves() -> None:
    assert evaluated(noisy(ACCURACY, 0.001)).verdict == verdict.BEATS
    assert evaluated(PARAMS[:, None] * np.ones(3)).verdict == verdict.NO_BETTER
    assert evaluated(noisy([0.0] * COUNT, 1.0)).verdict == verdict.NO_SIGNAL
    assert evaluated(np.ones((COUNT, 3))).verdict == verdict.CONSTANT


def test_a_score_that_differs_from_parameters_by_luck_is_no_better() -> None:
    found = evaluated(noisy(list(PARAMS), 200, seeds=1))
    assert found.kendall.low is not None
    assert found.kendall.low > 0
    assert found.verdict == verdict.NO_BETTER


def test_the_difference_is_taken_resample_by_resample() -> None:
    """A score wrong where parameters are, but for some mistakes: unpaired, the gain would drown in noise."""
    accuracy = [0.5 + 0.01 * index for index in range(COUNT)]
    score = np.array([index + SOURCE.gauss(0, 12) for index in range(COUNT)])
    params = score.copy() + 50
    params[::4] += [SOURCE.gauss(0, 20) for _ in params[::4]]
    found = evaluated(score[:, None], accuracy, Sizes(params, DEPTH))
    first, second = (statistics.resamples(COUNT, seed) for seed in (1, 2))
    gain = statistics.kendall(score, accuracy, first) - statistics.kendall(params, accuracy, second)
    unpaired = statistics.interval(gain)
    assert unpaired.low is not None
    assert unpaired.low < 0
    assert found.verdict == verdict.BEATS


@pytest.mark.parametrize(
    ("tau", "gain", "words"),
    [
        ((0.5, 0.3, 0.7), (0.2, 0.01, 0.4), verdict.BEATS),
        ((0.5, 0.3, 0.7), (0.2, 0.0, 0.4), verdict.NO_BETTER),
        ((0.1, -0.1, 0.3), (0.4, 0.2, 0.6), verdict.NO_SIGNAL),
        ((-0.3, -0.5, -0.1), (0.3, 0.1, 0.5), verdict.BACKWARDS),
        ((None, None, None), (None, None, None), verdict.CONSTANT),
    ],
)
def test_verdicts(tau: tuple[float | None, ...], gain: tuple[float | None, ...], words: str) -> None:
    first, second = (
        Interval(**dict(zip(("value", "low", "high"), given, strict=True))) for given in (tau, gain)
    )
    assert verdict.verdict(first, second) == words


def test_equal_accuracies_are_not_called_equal_scores() -> None:
    assert evaluated(noisy(ACCURACY, 0.01), [0.5] * COUNT).verdict == verdict.EQUAL


def test_among_networks_of_one_size_counting_parameters_knows_nothing() -> None:
    same = Sizes(np.full(COUNT, 1000.0), DEPTH)
    found = evaluated(noisy(ACCURACY, 0.01), sizes=same)
    assert found.verdict == verdict.BEATS
    assert found.kendall_with_params is None
    assert found.kendall_within_size.pairs == COUNT * (COUNT - 1) // 2


def test_without_accuracies_sizes_and_seeds_are_still_compared() -> None:
    scores = noisy(list(PARAMS), 10.0)
    for accuracies in ([], [0.5, 0.6] + [None] * (COUNT - 2)):
        found = evaluated(scores, accuracies)
        assert found.kendall == Interval()
        assert (found.archs, found.regret_at_1) == (0, None)
        mean = np.log(scores).mean(1)
        assert found.kendall_with_params == pytest.approx(stats.kendalltau(mean, PARAMS).statistic)
        assert found.seed_agreement is not None
        assert found.verdict == "not judged: fewer than three accuracies are known"


def test_failed_scores_and_unknown_sizes_rank_last() -> None:
    scores = noisy(ACCURACY, 0.01)
    scores[3] = -math.inf
    params = PARAMS.copy()
    params[4] = math.nan
    found = evaluated(scores, sizes=Sizes(params, DEPTH))
    lowest = scores.copy()
    lowest[3] = 1e-9
    assert found.kendall == evaluated(lowest).kendall
    assert found.kendall_with_params is not None


def test_a_score_is_compared_with_the_best_count_ties_broken_by_parameters() -> None:
    """A score that knows depth and parameters beats parameters, but not depth with its ties broken."""
    depth = np.repeat([1.0, 2, 3, 4], 10)
    params = np.tile(np.arange(1.0, 11), 4)
    accuracy = [0.1 * d + 0.001 * p for d, p in zip(depth, params, strict=True)]
    knowing = (10 * depth + params)[:, None] * np.ones(2)
    given = {"score": knowing, "params": params[:, None] * np.ones(2), "depth": depth[:, None] * np.ones(2)}
    found = verdict.evaluate_scores(given, Sizes(params, depth), accuracy)
    assert found["score"].best_count == "depth"
    assert found["score"].gain.value == pytest.approx(0)
    assert found["score"].verdict == verdict.NO_BETTER
    assert (found["depth"].verdict, found["params"].verdict) == (verdict.BEST_COUNT, verdict.COUNT)
    del given["depth"]
    assert verdict.evaluate_scores(given, Sizes(params, depth), accuracy)["score"].verdict == verdict.BEATS


def test_where_counting_orders_backwards_the_size_of_tau_is_compared() -> None:
    weak = noisy([0.0] * COUNT, 1.0, seeds=1) + 4 * np.array(ACCURACY)[:, None]
    backwards = Sizes(np.exp(-np.array(ACCURACY) * 50), DEPTH)
    found = evaluated(np.exp(weak), sizes=backwards)
    assert (found.kendall.value or 0) > 0
    assert (found.gain.value or 0) < 0
    assert found.verdict != verdict.BEATS


def test_the_luckiest_of_many_worthless_scores_does_not_beat_counting() -> None:
    """Scores as good as parameters, each with its own luck: compared alone, some would win."""
    truth = np.arange(COUNT) / COUNT
    many = {f"s{i}": np.exp(noisy(list(truth), 0.25, seeds=1)) for i in range(40)}
    params = np.exp(noisy(list(truth), 0.25, seeds=1))[:, 0]
    found = verdict.evaluate_scores(many, Sizes(params, DEPTH), list(truth))
    alone = [verdict.evaluate_scores({n: s}, Sizes(params, DEPTH), list(truth))[n] for n, s in many.items()]
    widths = [(one.gain.high or 0) - (one.gain.low or 0) for one in found.values()]
    assert all(w > (one.gain.high or 0) - (one.gain.low or 0) for w, one in zip(widths, alone, strict=True))
    assert sum(one.verdict == verdict.BEATS for one in found.values()) <= sum(
        one.verdict == verdict.BEATS for one in alone
    )


def test_of_very_many_networks_a_sample_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "LARGEST", 10)
    assert evaluated(noisy(ACCURACY, 0.1)).archs == 10


ARCHS = [Arch(depth=depth) for depth in (1, 2, 3, 4)]
UNKNOWN: dict[str, list[float | None]] = {"": [None] * 4}
STRUCTURAL: dict[str, list[tuple[Score, ...]]] = {
    name: [(Score.of(7.0), Score.of(7.0))] * 4 for name in ("params", "macs", "depth")
}


def scores(*rows: tuple[float, ...]) -> list[tuple[Score, ...]]:
    return [tuple(map(Score.of, row)) for row in rows]


def test_scores_are_means_over_seeds_and_the_highest_is_first() -> None:
    table = {"a": scores((1, 3), (5, 5), (2, 2), (0.5, 1)), **STRUCTURAL}
    found = verdict.candidates("wxyz", ARCHS, table, UNKNOWN)
    assert [candidate.rank["a"] for candidate in found] == [3, 1, 2, 4]
    assert found[0].scores["a"].mean == pytest.approx(3**0.5)  # scores of one sign have a geometric mean
    assert found[0].scores["a"].std == pytest.approx(2**0.5)
    assert found[0].scores["a"].values == (1, 3)
    assert found[2].params == cost.cost(ARCHS[2]).params
    assert [candidate.name for candidate in verdict.in_order(found)] == ["x", "y", "w", "z"]


def test_a_score_that_failed_in_one_draw_ranks_last_and_says_so() -> None:
    table = {"a": scores((9, float("nan")), (1, 1), (float("inf"), float("nan")), (2, 2)), **STRUCTURAL}
    found = verdict.candidates("wxyz", ARCHS, table, UNKNOWN)
    assert [candidate.rank["a"] for candidate in found] == [3, 2, 3, 1]
    assert found[0].scores["a"].failed == "the score is nan (in draw 2 of 2)"
    assert found[2].scores["a"].failed == "the score is inf"
    assert found[0].scores["a"].mean is None
    assert (verdict.matrix(table["a"])[0] == -np.inf).all()


def test_scores_near_the_largest_number_are_ranked_too() -> None:
    rows = ((1.5e308, 1.5e308), (1.6e308, 1.7e308), (1.0, 2.0), (-1e300, 0.5))
    table = {"a": scores(*rows), **STRUCTURAL}
    found = verdict.candidates("wxyz", ARCHS, table, UNKNOWN)
    assert [candidate.rank["a"] for candidate in found] == [2, 1, 3, 4]
    assert found[0].scores["a"].mean == 1.5e308
    assert found[1].scores["a"].std == pytest.approx(0.1e308 / 2**0.5)


def test_one_seed_has_no_deviation() -> None:
    table = {name: scores((3.0,)) for name in ("a", *STRUCTURAL)}
    (found,) = verdict.candidates("w", ARCHS[:1], table, UNKNOWN)
    assert (found.scores["a"].mean, found.scores["a"].std) == (3.0, None)


def test_accuracies_stand_beside_their_networks_by_column() -> None:
    known: dict[str, list[float | None]] = {"a": [0.1] * 4, "b": [0.2, 0.3, 0.4, None]}
    found = verdict.candidates("wxyz", ARCHS, {"a": scores((4,), (3,), (2,), (1,)), **STRUCTURAL}, known)
    assert found[3].accuracy == {"a": 0.1, "b": None}


def test_the_size_of_a_users_module_is_what_was_counted() -> None:
    table = {
        "a": scores((1,)),
        "params": scores((12,)),
        "macs": scores((float("nan"),)),
        "depth": scores((2,)),
    }
    (found,) = verdict.candidates("w", [UserModel("mine.py:models", "", 0)], table, UNKNOWN)
    assert (found.params, found.macs, found.depth, found.width) == (12, None, 2, None)
