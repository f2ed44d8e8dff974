"""The learning rate over a run."""

import pytest

from vitruvius.training.recipe import ClassifierSettings, Recipe, learning_rate


def test_it_rises_linearly_to_the_peak_and_falls_towards_zero() -> None:
    rates = [learning_rate(step, 2.0, 10, 100) for step in range(1, 101)]
    assert rates[4] == pytest.approx(1.0)
    assert max(rates) == rates[9] == rates[10] == pytest.approx(2.0)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < 0.01


def test_half_way_down_the_cosine_is_half_the_peak() -> None:
    assert learning_rate(51, 1.0, 0, 100) == pytest.approx(0.5)


@pytest.mark.parametrize("total", [1, 2, 3])
def test_short_runs_have_positive_rates(total: int) -> None:
    assert all(learning_rate(step, 1.0, 1000, total) > 0 for step in range(1, total + 1))


def test_without_an_end_the_rate_stays_at_its_peak() -> None:
    assert [learning_rate(step, 1.0, 2, None) for step in (1, 2, 3, 10**6)] == [0.5, 1.0, 1.0, 1.0]


def test_the_warm_up_that_is_told_is_the_one_that_is_taken() -> None:
    for epochs, samples, warmup in ((2, 70, 3), (2, 70, 1000), (1, 1, 5)):
        recipe = Recipe(epochs=epochs, batch=16, warmup=warmup)
        total = recipe.total_steps(samples)
        rates = [learning_rate(step, 1.0, warmup, total) for step in range(1, total + 1)]
        rising = next((step for step, rate in enumerate(rates, 1) if rate == 1.0), 0)
        assert recipe.warmup_steps(samples) == (rising if warmup <= total // 2 else total // 2)
    assert Recipe(epochs=1, warmup=1000, schedule="constant").warmup_steps(10) == 1000


def test_after_the_epochs_of_the_cosine_a_small_rate_is_left() -> None:
    """2 epochs of 10 steps that are extended to 4 keep their schedule, then stay at 1 % of the peak."""
    short = Recipe(epochs=2, batch=10, warmup=5)
    longer = short.model_copy(update={"epochs": 4, "cosine_epochs": 2})
    assert short.warmup_steps(100) == longer.warmup_steps(100) == 5
    rates = [longer.rate(step, 100) for step in range(1, 41)]
    assert rates[:20] == [short.rate(step, 100) for step in range(1, 21)]
    assert rates[20:] == [0.01 * longer.lr] * 20
    assert Recipe(schedule="constant", cosine_epochs=1, warmup=0).rate(100, 10) == longer.lr


def test_a_trapezoid_is_constant_until_its_last_fifth() -> None:
    recipe = Recipe(epochs=10, batch=16, warmup=20, lr=2.0, schedule="trapezoid")
    rates = [recipe.rate(step, 160) for step in range(1, 101)]
    assert rates[:20] == pytest.approx([0.1 * step for step in range(1, 21)])
    assert set(rates[20:80]) == {2.0}
    assert rates[80:] == pytest.approx([2.0 * left / 20 for left in range(20, 0, -1)])


def test_the_rates_before_the_fall_do_not_depend_on_where_a_training_ends() -> None:
    short, long = (Recipe(epochs=epochs, batch=1, warmup=5, schedule="trapezoid") for epochs in (1, 10))
    assert [short.rate(step, 50) for step in range(1, 41)] == [long.rate(step, 50) for step in range(1, 41)]


def test_steps_replace_epochs() -> None:
    assert ClassifierSettings(epochs=3, batch=10).total_steps(95) == 30
    short = ClassifierSettings(epochs=3, batch=10, steps=7, warmup=100)
    assert (short.total_steps(95), short.warmup_steps(95)) == (7, 3)
