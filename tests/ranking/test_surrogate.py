"""The surrogate: leave-one-out by brute force, signs learned, not used where it is no better."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from vitruvius.arch.arch import Arch
from vitruvius.ranking import surrogate

RANDOM = np.random.default_rng(0)
N = 40
PARAMS = np.exp(RANDOM.uniform(9, 12, N))
HIDDEN = RANDOM.normal(size=N)
NOISE = RANDOM.normal(size=N)
FEATURES = {"structure": {"log params": np.log(PARAMS), "hidden": HIDDEN}, "scores": {"noise": NOISE}}
PRIOR = surrogate.ranks(PARAMS)


def known(accuracy: np.ndarray, count: int) -> np.ndarray:
    found = np.full(N, np.nan)
    found[:count] = accuracy[:count]
    return found


def fitted(accuracy: np.ndarray, count: int) -> surrogate.Fit:
    fit = surrogate.fit(PRIOR, FEATURES, known(accuracy, count), PARAMS)
    assert fit is not None
    return fit


def test_leave_one_out_predictions_are_those_of_fits_without_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(surrogate, "PENALTIES", (0.7,))
    accuracy = 0.8 + 0.02 * HIDDEN + 0.01 * NOISE
    fit = fitted(accuracy, 12)
    _, x = surrogate._design(PRIOR, FEATURES)
    for index in range(12):
        rest = [other for other in range(12) if other != index]
        # An unpenalised intercept is what sklearn's Ridge has.
        expected = Ridge(alpha=0.7).fit(x[rest], accuracy[rest]).predict(x[[index]])[0]
        assert fit.prediction_n[index] == pytest.approx(expected, abs=1e-9)
    everything = Ridge(alpha=0.7).fit(x[:12], accuracy[:12])
    assert fit.prediction_n[12:] == pytest.approx(everything.predict(x[12:]), abs=1e-9)


def test_it_learns_what_counting_does_not_know() -> None:
    accuracy = 0.8 + 0.01 * np.log(PARAMS) + 0.05 * HIDDEN
    fit = fitted(accuracy, 15)
    assert fit.is_better
    assert fit.tau is not None
    assert fit.tau > 0.8
    assert np.corrcoef(fit.prediction_n[15:], accuracy[15:])[0, 1] > 0.95
    assert max(fit.weights, key=lambda name: abs(fit.weights[name])) == "hidden"


def test_the_sign_of_size_is_learned() -> None:
    accuracy = 0.9 - 0.02 * np.log(PARAMS)
    fit = fitted(accuracy, 12)
    assert fit.counting == -1.0
    assert fit.is_better
    assert np.corrcoef(fit.prediction_n[12:], accuracy[12:])[0, 1] > 0.95


def test_it_is_not_used_on_few_accuracies_or_where_it_is_no_better() -> None:
    by_hidden = 0.8 + 0.05 * HIDDEN
    assert not fitted(by_hidden, 7).is_better
    assert surrogate.fit(PRIOR, FEATURES, known(by_hidden, 2), PARAMS) is None
    assert not fitted(0.8 + 0.01 * PRIOR, 12).is_better  # counting is perfect
    assert not fitted(0.8 + 0.05 * RANDOM.normal(size=N), 12).is_better


def test_one_diverged_training_does_not_decide_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = 0.8 + 0.05 * HIDDEN
    accuracy[3] = 0.01

    def agreement() -> float:
        return float(np.corrcoef(fitted(accuracy, 15).prediction_n[15:], HIDDEN[15:])[0, 1])

    protected = agreement()
    monkeypatch.setattr(surrogate, "OUTLIER", 1e9)
    assert protected > agreement()


def test_the_interval_of_a_prediction_holds_most_accuracies() -> None:
    accuracy = 0.8 + 0.05 * HIDDEN + 0.01 * RANDOM.normal(size=N)
    fit = fitted(accuracy, 20)
    inside = np.abs(fit.prediction_n[20:] - accuracy[20:]) <= fit.half_width()
    assert inside.mean() >= 0.8


def test_failed_scores_rank_lowest_and_structure_is_counted() -> None:
    assert surrogate.ranks(np.array([-np.inf, 1.0, 2.0, 1.0])).tolist() == [0.0, 0.5, 1.0, 0.5]
    found = surrogate.structure([Arch(), Arch(depth=3, heads=(1, 2, 4), mlp=(8, 16, 24))])
    assert found["depth"].tolist() == [6.0, 3.0]
    assert np.exp(found["log mlp"]).tolist() == pytest.approx([128.0, 16.0])
    assert np.exp(found["log heads"]).tolist() == pytest.approx([8.0, 7 / 3])
