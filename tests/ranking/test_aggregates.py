"""AZ-NAS adds up the logarithms of relative ranks, seed by seed."""

import math

import numpy as np
import pytest
from scipy import stats

from vitruvius.core.records import Score
from vitruvius.ranking import aggregates, score
from vitruvius.ranking.aggregates import AGGREGATES


def rows(values: np.ndarray) -> list[tuple[Score, ...]]:
    return [tuple(map(Score.of, row)) for row in values.tolist()]


def test_it_is_the_sum_of_logarithms_of_ranks_over_their_number() -> None:
    parts = np.random.default_rng(0).integers(0, 4, (4, 6, 2)).astype(float)  # with ties
    found = aggregates.aggregate([rows(part) for part in parts])
    for network in range(6):
        for seed in range(2):
            ranks = [stats.rankdata(part[:, seed])[network] for part in parts]
            expected = sum(math.log(rank / 6) for rank in ranks)
            assert found[network][seed].value == pytest.approx(expected)


def test_a_network_that_lacks_a_part_has_no_score_and_does_not_count() -> None:
    parts = [np.array([[3.0], [1.0], [2.0]]), np.array([[math.nan], [1.0], [2.0]])]
    found = aggregates.aggregate([rows(part) for part in parts])
    assert found[0][0].failed == "the score is nan"
    assert [found[index][0].value for index in (1, 2)] == pytest.approx([2 * math.log(0.5), 0])
    nobody = aggregates.aggregate([rows(np.full((2, 1), math.nan))])
    assert [row[0].failed for row in nobody] == ["the score is nan"] * 2


def test_asking_for_it_computes_its_parts_and_puts_it_first() -> None:
    located = score.locate_proxies(["az_nas", "snip"])
    assert set(AGGREGATES["az_nas"]) <= located.keys()
    assert "az_nas" not in located
    table = {name: rows(np.ones((2, 1))) for name in located}
    assert list(aggregates.with_aggregates(table, ["az_nas", "snip"]))[:2] == ["az_nas", "snip"]
    counts = list(aggregates.with_aggregates(table, ["macs", "snip"]))[-4:]
    assert counts == ["params", "macs", "depth", "width_sum"]
    assert "az_nas" in aggregates.requested(["all"])
    assert aggregates.requested(["snip", "all", "snip"]).count("snip") == 1
