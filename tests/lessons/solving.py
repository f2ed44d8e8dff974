"""Work a lesson as its tests do: solved, answered and proved."""

from collections.abc import Callable
from typing import Any

from vitruvius import lessons
from vitruvius.lessons import Answer, Step


def work(lesson: str, **fields: Any) -> tuple[list[Step], Answer]:
    """The steps and the answer to a question with these fields; every proof must pass."""
    module = lessons.get(lesson)
    question = module.Question(**fields)
    steps: list[Step] = []
    for found in module.solve(question):
        if isinstance(found, Answer):
            assert [f"{p.name}: {p.detail}" for p in module.prove(question, found) if not p.passed] == []
            return steps, found
        steps.append(found)
    raise AssertionError(f"{lesson} gave no answer")


def answer_of(lesson: str) -> Callable[..., Answer]:
    """The function that answers this lesson with given fields, its proofs checked."""
    return lambda **fields: work(lesson, **fields)[1]
