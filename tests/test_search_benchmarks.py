"""What the benchmarks of search compare, and what they conclude from it."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import record
from benchmarks.search import real, tables, worlds
from vitruvius.arch import cost
from vitruvius.arch import tables as networks
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.searching.settings import Config


def test_the_networks_to_compare_with_are_within_the_budget_and_the_preset_is_what_it_is() -> None:
    config = Config(data="noise:1x28x28/10", max_params=20_000, candidates=2_000, seed=1)
    found = real.others(config)
    sizes = {"image": 28, "channels": 1, "classes": 10}
    params = {
        what: cost.cost(networks.arch(options["arch"], options["set"], **sizes)).params
        for what, options in found.items()
    }
    assert params["random"] <= params["largest"] <= 20_000 < params[real.PRESET]
    assert params["largest"] > 15_000
    assert real.others(config) == found
    assert real.others(config.model_copy(update={"seed": 2})) != found


def test_the_preset_gets_the_patch_that_divides_the_image_and_is_nearest_to_its_own() -> None:
    config = Config(data="noise:3x64x64/12", max_params=100_000, candidates=1_000)
    assert real.others(config)[real.PRESET] == {"arch": "mnist-slim", "set": ("patch=8",)}


def test_intervals_of_the_table_are_those_of_t_tests_paired_by_seed() -> None:
    accuracies = {"winner": [0.90, 0.91, 0.89], "largest": [0.88, 0.90, 0.885]}
    accuracies |= {"random": [0.8, 0.7, 0.6], real.PRESET: [0.87] * 3}
    seeds = [
        {what: {"params": 100, "accuracy": values[seed]} for what, values in accuracies.items()}
        for seed in range(3)
    ]
    winner, largest, *_ = real.table(seeds)
    assert "gain_of_the_winner" not in winner
    expected = stats.ttest_rel(accuracies["winner"], accuracies["largest"]).confidence_interval(0.95)
    middle = largest["gain_of_the_winner"] / 100
    assert middle - largest["gain_half_width"] / 100 == pytest.approx(expected.low)
    assert real.table(seeds[:1])[1]["gain_half_width"] is None


def test_a_finished_seed_is_kept_and_not_made_again_and_a_stopped_one_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def one_seed(_: argparse.Namespace, seed: int) -> None:
        made.append(seed)
        if seed == 1 and made.count(1) == 1:
            raise UserError("stopped")

    found = {what: {"params": 1, "accuracy": 0.5} for what in ("winner", *real.OTHERS)}
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(record, "wait_until_quiet", lambda: 0.1)  # a busy machine would keep the test waiting
    monkeypatch.setattr(real, "one_seed", one_seed)
    monkeypatch.setattr(real, "networks", lambda runs, seed: found)
    about = {"images": "tiles", "runs": tmp_path, "seed": None, "quick": False}
    options = argparse.Namespace(**about, max_params=10, hours=1.0, epochs=1)
    with pytest.raises(SystemExit, match="goes on"):
        real.work(options)
    real.work(options)
    assert made == [0, 1, 1, 2]
    kept = files.read_json(tmp_path / "search_real_tiles.json")["rows"]
    assert [row["seed"] for row in kept] == [0, 1, 2]
    assert kept[0]["largest"] == found["largest"]


def rows(**medians: float) -> list[dict[str, Any]]:
    ways = {way.replace("_", " "): value for way, value in medians.items()}
    return [
        {"table": "t", "label": "a", "k": k, "way": way, "median": value}
        for k in tables.KS
        for way, value in ways.items()
    ]


def test_a_tie_with_the_best_other_way_is_no_loss() -> None:
    even = tables.conclude(rows(search=0.1, random=0.3, largest=0.1, best_score=0.2))
    assert even == [
        "t a: worse than the best other at k = [], better than random at k = [5, 10, 20]",
    ]
    behind = tables.conclude(rows(search=0.3, random=0.3, largest=0.1, best_score=0.2))
    assert "at k = [5, 10, 20], better than random at k = []" in behind[0]


def test_tau_within_size_looks_at_pairs_of_nearly_equal_size_only() -> None:
    params = np.array([100.0, 105.0, 200.0, 210.0])
    score, accuracy = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.1, 0.2, 0.8, 0.9])
    assert tables.within(score, accuracy, params) == 0.0
    assert tables.within(accuracy, accuracy, params) == 1.0


def test_a_world_is_worth_of_size_what_it_says() -> None:
    found = [worlds.world(0.7, seed) for seed in range(300)]
    taus = [np.corrcoef(one.prior, one.accuracy)[0, 1] for one in found]
    assert np.mean(taus) == pytest.approx(worlds.CORRELATION * 0.7, abs=0.03)
    assert max(len(one.prior) for one in found) == 40


@pytest.mark.parametrize("way", worlds.WAYS)
def test_every_way_trains_k_different_networks_and_all_but_random_begin_with_the_largest(way: str) -> None:
    found = worlds.world(0.3, 1)
    chosen = worlds.WAYS[way](found, 8)
    assert len(set(chosen)) == 8
    assert way == "random" or chosen[0] == found.largest


def test_the_expected_gain_is_that_of_drawn_accuracies() -> None:
    prior, known, accuracy = np.array([-1.5, 0.2, 1.8]), np.array([-1.0, 0.0, 1.0]), np.array([0.1, 0.0, 0.6])
    random, count = np.random.default_rng(0), 400_000
    r = random.choice(np.linspace(-0.9, 0.9, 19), count)
    scale = accuracy.std() * np.exp(random.choice(np.linspace(-1.0, 1.6, 9), count))
    noise = scale * np.sqrt(1 - r**2)
    # Differences to the first network do not depend on the level of all accuracies.
    apart, steps = accuracy[1:] - accuracy[0], known[1:] - known[0]
    rest = apart[:, None] - scale * r * steps[:, None]
    covariance = np.linalg.inv(np.eye(2) + 1.0)
    weight = np.exp(-0.5 * np.einsum("ac,ab,bc->c", rest, covariance, rest) / noise**2) / noise**2
    level = (accuracy[:, None] - scale * r * known[:, None]).mean(0)
    drawn = level + noise * random.normal(size=count) / 3**0.5
    for index, place in enumerate(prior):
        value = drawn + scale * r * place + noise * random.normal(size=count)
        expected = np.average(np.maximum(value - accuracy.max(), 0), weights=weight)
        assert worlds.expected_gain(prior, known, accuracy)[index] == pytest.approx(expected, rel=0.02)


def test_learning_the_sign_of_size_pays_where_larger_is_worse_and_costs_where_it_is_better() -> None:
    found = {(row["value_of_size"], row["way"]): row["mean"] for row in worlds.lost(20) if row["k"] == 5}
    assert found[-0.6, "search"] < found[-0.6, "random"] < found[-0.6, "largest first"]
    assert found[0.5, "largest first"] <= found[0.5, "search"] < found[0.5, "random"]
