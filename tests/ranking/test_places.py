"""Where networks stand: equal scores share a place, failures the last one, huge numbers do not overflow."""

import numpy as np
import pytest

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.records import Score
from vitruvius.ranking import places
from vitruvius.ranking.user_models import Own

ARCHS = [Arch(depth=depth) for depth in (1, 2, 3, 4)]
STRUCTURAL: dict[str, list[tuple[Score, ...]]] = {
    name: [(Score.of(7.0), Score.of(7.0))] * 4 for name in ("params", "macs", "depth")
}


def scores(*rows: tuple[float, ...]) -> list[tuple[Score, ...]]:
    return [tuple(map(Score.of, row)) for row in rows]


def test_scores_are_means_over_seeds_and_the_highest_is_first() -> None:
    table = {"a": scores((1, 3), (5, 5), (2, 2), (0, 1)), **STRUCTURAL}
    found = places.standings("wxyz", ARCHS, table)
    assert [standing.rank["a"] for standing in found] == [2, 1, 2, 4]
    assert found[0].scores["a"].mean == 2
    assert found[0].scores["a"].std == pytest.approx(2**0.5)
    assert found[2].params == cost.cost(ARCHS[2]).params
    assert [standing.name for standing in places.in_order(found, {})] == ["x", "w", "y", "z"]


def test_a_score_that_failed_in_one_draw_ranks_last_and_says_so() -> None:
    table = {"a": scores((9, float("nan")), (1, 1), (float("inf"), float("nan")), (2, 2)), **STRUCTURAL}
    found = places.standings("wxyz", ARCHS, table)
    assert [standing.rank["a"] for standing in found] == [3, 2, 3, 1]
    assert found[0].scores["a"].failed == "the score is nan (in draw 2 of 2)"
    assert found[2].scores["a"].failed == "the score is inf"
    assert found[0].scores["a"].mean is None
    assert (places.matrix(table["a"])[0] == -np.inf).all()


def test_scores_near_the_largest_number_are_ranked_too() -> None:
    table = {"a": scores((1.5e308, 1.5e308), (1.6e308, 1.7e308), (1.0, 2.0), (-1e300, 1e300)), **STRUCTURAL}
    found = places.standings("wxyz", ARCHS, table)
    assert [standing.rank["a"] for standing in found] == [2, 1, 3, 4]
    assert found[0].scores["a"].mean == 1.5e308
    assert found[1].scores["a"].std == pytest.approx(0.1e308 / 2**0.5)


def test_one_seed_has_no_deviation() -> None:
    table = {name: scores((3.0,)) for name in ("a", *STRUCTURAL)}
    (found,) = places.standings("w", ARCHS[:1], table)
    assert (found.scores["a"].mean, found.scores["a"].std) == (3.0, None)


def test_accuracies_stand_beside_their_networks_by_column_where_there_are_several() -> None:
    found = places.standings("wxyz", ARCHS, {"a": scores((4,), (3,), (2,), (1,)), **STRUCTURAL})
    one = places.in_order(found, {"acc": [0.1, None, 0.3, 0.4]})
    assert [standing.accuracy for standing in one] == [0.1, None, 0.3, 0.4]
    two = places.in_order(found, {"a": [0.1] * 4, "b": [0.2, 0.3, 0.4, None]})
    assert two[3].accuracy == {"a": 0.1, "b": None}


def test_the_size_of_a_users_module_is_what_was_counted() -> None:
    table = {
        "a": scores((1,)),
        "params": scores((12,)),
        "macs": scores((float("nan"),)),
        "depth": scores((2,)),
    }
    (found,) = places.standings("w", [Own("mine.py:models", "", 0)], table)
    assert (found.params, found.macs, found.depth, found.width) == (12, None, 2, None)
