"""The number of edges of a sentence."""

from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.blocks import Graph
from vitruvius.core.errors import UserError
from vitruvius.lessons import Step
from vitruvius.lessons.sentence_graph import Question, solve

answer = answer_of("sentence_graph")


@pytest.mark.parametrize(
    ("words", "edges", "with_loops"),
    [
        (["I", "eat", "red", "apples"], 12, 16),
        ("I eat red apples", 12, 16),
        ("to be or not to be", 30, 36),
        (["alone"], 0, 1),
    ],
)
def test_every_word_reaches_every_other(words: Any, edges: int, with_loops: int) -> None:
    assert answer(words=words).fields == {"edges": edges, "edges_with_loops": with_loops}


def test_the_drawing_has_as_many_arrows() -> None:
    step = next(solve(Question()))
    assert isinstance(step, Step)
    assert isinstance(step.figure, Graph)
    assert len(set(step.figure.edges)) == 12


@pytest.mark.parametrize("words", ["", [], ["word"] * 257])
def test_a_sentence_needs_words(words: Any) -> None:
    with pytest.raises(UserError, match="it needs N from 1 to 256"):
        Question(words=words)
