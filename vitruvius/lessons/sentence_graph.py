"""A sentence as a fully connected graph: how many directed edges n words have, with and without loops."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Graph
from vitruvius.lessons import Answer, Proof, Step
from vitruvius.lessons._proofs import agree

SUBJECT = "recurrent nets and graphs"
LONGEST = 256


def _split(words: Any) -> Any:
    return tuple(words.replace(",", " ").split()) if isinstance(words, str) else words


class Question(lessons.Question):
    """The words of the sentence, as a list or as one text."""

    words: Annotated[tuple[str, ...], BeforeValidator(_split)] = ("I", "eat", "red", "apples")

    @model_validator(mode="after")
    def _is_a_sentence(self) -> Self:
        if not 1 <= len(self.words) <= LONGEST:
            raise ValueError(f"words has {len(self.words)} words: needs 1 to {LONGEST}")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """Count the arrows that leave each word."""
    n = len(question.words)
    edges, loops = n * (n - 1), n * n
    yield Step(
        says=f"Every word is a vertex and sends one arrow to each of the other {n - 1} words; a connection in both "
        "directions is two arrows. Words that occur twice are two vertices.",
        formula=rf"|E| = n (n - 1) = {n} \cdot {n - 1} = {edges}",
        value=edges,
        figure=_drawn(question.words),
    )
    yield Step(
        says=f"Attention also lets a word look at itself: the {n} loops on the diagonal of its weight matrix are edges "
        f"too. Its graph has {loops} edges, the number of weights in one head.",
        formula=rf"n (n - 1) + n = n^2 = {n}^2 = {loops}",
        value=loops,
    )
    yield Answer(fields={"edges": edges, "edges_with_loops": loops})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """List the pairs, and count the weights that the softmax kernel gives."""
    import torch

    from vitruvius import kernels

    pairs = [(source, target) for source in range(len(question.words)) for target in range(len(question.words))]
    found = {"edges": sum(source != target for source, target in pairs), "edges_with_loops": len(pairs)}
    yield agree("both counts", "all pairs listed", answer.fields, found)
    equal = torch.zeros(1, 1, len(question.words), 1)
    weights = kernels.get("softmax").weights(equal, equal)
    loops = int(weights.count_nonzero())
    kernel = {"edges": loops - len(question.words), "edges_with_loops": loops}
    yield agree("both counts", "non-zero weights of the softmax kernel", answer.fields, kernel)


def _drawn(words: tuple[str, ...]) -> Graph | None:
    """The words on a circle; more than 8 would be a black disc."""
    if len(words) > 8:
        return None
    turns = [2 * math.pi * index / len(words) for index in range(len(words))]
    return Graph(
        title=" ".join(words),
        nodes=words,
        places=tuple((math.sin(turn), math.cos(turn)) for turn in turns),
        edges=tuple((i, j) for i in range(len(words)) for j in range(len(words)) if i != j),
    )
