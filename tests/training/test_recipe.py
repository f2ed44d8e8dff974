"""The learning rate over a run."""

import pytest

from vitruvius.training.recipe import Recipe, learning_rate


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
        total = recipe.steps(samples)
        rates = [learning_rate(step, 1.0, warmup, total) for step in range(1, total + 1)]
        rising = next((step for step, rate in enumerate(rates, 1) if rate == 1.0), 0)
        assert recipe.warmup_steps(samples) == (rising if warmup <= total // 2 else total // 2)
    assert Recipe(epochs=1, warmup=1000, schedule="constant").warmup_steps(10) == 1000


def test_after_the_epochs_of_the_cosine_a_small_rate_is_left() -> None:
    """A run of 2 epochs of 10 steps that is extended to 4 keeps its schedule, then stays at 1 % of the peak."""
    short, longer = Recipe(epochs=2, batch=10, warmup=5), Recipe(epochs=4, batch=10, warmup=5, cosine_epochs=2)
    assert short.cosine_steps(100) == longer.cosine_steps(100) == 20
    assert short.warmup_steps(100) == longer.warmup_steps(100) == 5
    rates = [learning_rate(step, 1.0, 5, longer.cosine_steps(100)) for step in range(1, 41)]
    assert rates[:20] == [learning_rate(step, 1.0, 5, 20) for step in range(1, 21)]
    assert rates[20:] == [0.01] * 20
    assert Recipe(schedule="constant", cosine_epochs=2).cosine_steps(100) is None
