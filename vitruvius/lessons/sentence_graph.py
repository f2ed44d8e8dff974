"""A sentence as a fully connected graph: how many directed edges n words have, with and without loops."""

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any

import torch
from pydantic import BeforeValidator

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Proof, Step
from vitruvius.lessons._figures import circle
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import weights

SUBJECT = "recurrent nets and graphs"
TASK = (
    "The words of a sentence are the vertices of a complete directed graph. How many edges has it "
    "without loops, and how many with them?"
)
WORDS = "we see small red birds and old green trees near the quiet river while two grey cats sleep"


def _split(words: Any) -> Any:
    return tuple(words.replace(",", " ").split()) if isinstance(words, str) else words


class Question(lessons.Question):
    """The words of the sentence, as a list or as one text."""

    limits = {"N": (1, 256)}
    words: Annotated[tuple[str, ...], BeforeValidator(_split), "N"] = ("I", "eat", "red", "apples")


def solve(question: Question) -> Iterator[Step | Answer]:
    """Count the arrows that leave each word."""
    words, n = question.words, len(question.words)
    arrows = [(i, j) for i in range(n) for j in range(n) if i != j]
    board = Board(n=n, others=n - 1, edges=n * (n - 1), edges_with_loops=n * n)
    yield board.step(
        "Every word is a vertex and sends one arrow to each of the other <others> words; a connection in "
        "both directions is two arrows. Words that occur twice are two vertices.",
        r"|E| = n (n - 1) = <n> \cdot <others> = <edges>",
        figure=circle(" ".join(words), words, arrows) if n <= 8 else None,  # more would be a black disc
    )
    yield board.step(
        "Attention also lets a word look at itself: the <n> loops on the diagonal of its weight matrix are "
        "edges too. Its graph has <edges_with_loops> edges, the number of weights in one head.",
        r"n (n - 1) + n = n^2 = <n>^2 = <edges_with_loops>",
    )
    yield Answer(fields=board.pick("edges edges_with_loops"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """List the pairs, and count the weights that the softmax kernel gives."""
    n = len(question.words)
    pairs = [source != target for source in range(n) for target in range(n)]
    found = {"edges": sum(pairs), "edges_with_loops": len(pairs)}
    yield agree("both counts", "all pairs listed", answer, found)
    loops = int(weights("softmax", torch.zeros(n, 1), torch.zeros(n, 1)).count_nonzero())
    found = {"edges": loops - n, "edges_with_loops": loops}
    yield agree("both counts", "non-zero weights of the softmax kernel", answer, found)


def attempt(question: Question, write: Attempt) -> None:
    """Edges without loops, and with them."""
    n = len(question.words)
    edges = write(
        "edges",
        n * (n - 1),
        "edges without loops",
        "To how many words does each word send an arrow?",
        r"n (n - 1)",
        undirected=("the two directions of a pair are counted as one", n * (n - 1) // 2),
        with_loops=("the loops are counted", n * n),
    )
    write(
        "edges_with_loops",
        edges + n,
        "edges with loops",
        "How many loops are there?",
        r"n (n - 1) + n = n^2",
        one_loop=("one loop is counted for all words", edges + 1),
        two_loops=("every loop is counted in two directions", edges + 2 * n),
    )


def draw(random: Random) -> dict[str, Any]:
    """A sentence of five to twelve words."""
    return {"words": random.sample(WORDS.split(), random.randint(5, 12))}
