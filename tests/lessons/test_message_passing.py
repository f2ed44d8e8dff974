"""Message passing against sums done by hand."""

from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.message_passing import Question

answer = answer_of("message_passing")


def test_the_assignments_vertex() -> None:
    # a_1 = 3/5 (-2, 2) + 1/5 (0, -2) + 1/5 (2, 0) = (-4/5, 4/5); W h_1^T = 1 - 1 = 0.
    found = answer()
    assert found["messages"] == [[-2, 2], [0, -2], [2, 0]]
    assert found["aggregate"] == [[Fraction(-4, 5), Fraction(4, 5)], [0, 0], [0, 0], [0, 0]]
    assert found["states"][0] == [0, Fraction(4, 5)]


def test_a_row_w_adds_its_number_to_every_entry() -> None:
    # Vertices 3 and 4 receive nothing: (1, 1) . (0, -1) = -1 and (1, 1) . (1, 0) = 1 in both entries.
    assert answer()["states"][2:] == [[-1, -1], [1, 1]]


def test_all_vertices_read_the_same_snapshot() -> None:
    # A ring 1 -> 2 -> 3 -> 1 that only moves states along.
    found = answer(
        graph=[[1, 2], [2, 3], [3, 1]],
        states=[[1], [2], [3]],
        edge_function=1,
        aggregation="sum",
        update=[[0]],
    )
    assert found["states"] == [[3], [1], [2]]


def test_mean_matrix_edges_and_a_square_w() -> None:
    # f(x) = x M with M = [[1, 2], [0, 1]]: (1, -1) -> (1, 1), (-1, 1) -> (-1, -1); the mean at 2 is (0, 0).
    found = answer(
        graph=[[1, 2], [2, 2]],
        states=[[1, -1], [-1, 1]],
        edge_function=[[1, 2], [0, 1]],
        aggregation="mean",
        update=[["1/2", 0], [1, 1]],
    )
    assert found["messages"] == [[1, 1], [-1, -1]]
    assert found["aggregate"][1] == [0, 0]
    assert found["states"] == [[Fraction(1, 2), 0], [Fraction(-1, 2), 0]]


def test_weights_need_not_be_a_distribution() -> None:
    found = answer(aggregation=[-1, 2, 0])
    assert found["aggregate"][0] == [2, -6]
    assert found["states"][0] == [2, 0]


def test_a_graph_without_edges_only_updates() -> None:
    assert answer(graph=[], aggregation="sum")["states"] == [[0, 0], [0, 0], [-1, -1], [1, 1]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"graph": [[5, 1]], "aggregation": [1]}, "the edge [5, 1]: states has the vertices 1 to 4"),
        ({"graph": [[2, 1], [2, 1], [3, 1]]}, "each once"),
        ({"aggregation": [1, 1]}, "aggregation has 2 entries: it needs E = 3 as in graph"),
        ({"states": [[1, 2], [1]]}, "states has rows of 1 or 2 entries: it needs N x D, rows of one length"),
        ({"update": [[1, 1], [1, 1], [1, 1]]}, "update is 3 x 2: it needs 1 x 2 or 2 x 2"),
        ({"edge_function": [[1, 1]]}, "edge_function is 1 x 2: it needs D x D with D = 2 as in states"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
