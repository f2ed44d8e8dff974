"""What every lesson obeys. A law is a function from a lesson to its faults; each is shown to catch a planted
one.
"""

import copy
import json
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.lessons import Answer, Lesson, Proof, Step, leaves
from vitruvius.lessons._proofs import agree
from vitruvius.render import mathml
from vitruvius.render.formula import typeset

NAMES = list(plugins.members("lessons"))
PART = Fraction(1, 10**6)
ENTRIES = 60
"""How many numbers of one field are changed at most, each on its own; `make slow` changes all of them."""
GARBAGE: tuple[Any, ...] = ("?", -1, 0, 10**9, 0.5, None, [], [[]], {}, [["?"]], [[1, 2], [3]], True)


class Solved(NamedTuple):
    lesson: Lesson
    question: Any
    steps: list[Step]
    answer: Answer
    rest: list[Any]  # what came after the answer


def solve(lesson: Lesson) -> Solved:
    question = lesson.Question()
    found = list(lesson.solve(question))
    place = next((index for index, record in enumerate(found) if isinstance(record, Answer)), None)
    assert place is not None, "no answer"
    return Solved(lesson, question, found[:place], found[place], found[place + 1 :])  # type: ignore[arg-type]


@cache
def solved(name: str) -> Solved:
    return solve(lessons.get(name))


def does_not_speak(work: Solved) -> Iterator[str]:
    """A lesson has steps and then one answer; every step is a sentence with a number in it."""
    if not work.steps:
        yield "no steps"
    if work.rest:
        yield "something follows the answer"
    for index, step in enumerate(work.steps, 1):
        if not re.search(r"\d", step.says):
            yield f"step {index} says no number: {step.says}"
        if not step.says.endswith((".", ":", "?", ".)")):
            yield f"step {index} is no sentence: {step.says}"


def is_not_json(work: Solved) -> Iterator[str]:
    """Everything can be written as JSON, and a question can be read back."""
    values = [work.answer.fields, *(step.value for step in work.steps)]  # a dumped record holds null for NaN
    for written in (*map(lessons.plain, values), *(record.line() for record in (*work.steps, work.answer))):
        try:
            json.dumps(written, allow_nan=False)
        except (TypeError, ValueError) as error:
            yield str(error)
    dumped = json.loads(json.dumps(work.question.model_dump(mode="json")))
    if type(work.question)(**dumped) != work.question:
        yield "the question is another one after a round trip through JSON"


def is_not_latex(work: Solved) -> Iterator[str]:
    """Every formula parses strictly, becomes MathML, and leaves no command on a terminal."""
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    for formula in [step.formula for step in work.steps if step.formula]:
        try:
            LatexWalker(rf"\[{formula}\]", tolerant_parsing=False).get_latex_nodes()
        except LatexWalkerError as error:
            yield f"{formula}: {error}"
        if "<code>" in (written := mathml.formula(formula)) or "\\" in written:
            yield f"{formula}: not MathML"
        if "\\" in typeset.text(formula):
            yield f"{formula}: not readable as text"


def is_not_proved(work: Solved) -> Iterator[str]:
    """There are proofs, and all of them pass."""
    proofs = list(work.lesson.prove(work.question, work.answer))
    if not proofs:
        yield "no proofs"
    yield from (f"{proof.name} ({proof.method}): {proof.detail}" for proof in proofs if not proof.passed)


def is_not_noticed(work: Solved, entries: int | None = None) -> Iterator[str]:
    """Changing a number by one part in a million (an estimate: by 5 standard errors) makes a proof fail.

    Of each field so many numbers are changed, drawn with a fixed seed; None: all of them.
    """
    for path in _numbers(work.answer, entries):
        other = _changed(work.answer, path)
        if all(proof.passed for proof in work.lesson.prove(work.question, other)):
            yield f"{path} may be anything"


def _numbers(answer: Answer, most: int | None) -> Iterator[str]:
    """Paths of numbers in an answer."""
    dice = random.Random(0)
    for name, value in answer.fields.items():
        found = leaves(value, name).items()
        paths = [path for path, leaf in found if isinstance(leaf, int | float | Fraction)]
        yield from dice.sample(paths, min(len(paths) if most is None else most, len(paths)))


def _changed(answer: Answer, path: str) -> Answer:
    fields = _lists(answer.fields)
    *above, last = path.split(".")
    place = fields
    for key in above:
        place = place[int(key) if isinstance(place, list) else key]
    index: Any = int(last) if isinstance(place, list) else last
    place[index] = _nudged(place[index], answer.standard_errors.get(path))
    return Answer(fields=fields, standard_errors=answer.standard_errors)


def _nudged(value: Any, standard_error: float | None) -> Any:
    if isinstance(value, bool):
        return not value
    if standard_error is not None:
        return value + 5 * standard_error
    if not value:
        return type(value)(PART) if not isinstance(value, int) else float(PART)
    return value * (1 + PART) if isinstance(value, Fraction) else value * (1 + float(PART))


def _lists(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else copy.copy(value)


def takes_garbage(lesson: Lesson) -> Iterator[str]:
    """A field that does not exist and a value that makes no sense are refused in a sentence, never by a
    crash.
    """
    fields = lesson.Question.model_fields
    for name in (*fields, "no_such_field"):
        for value in GARBAGE:
            try:
                lesson.Question(**{name: value})
                if name == "no_such_field":
                    yield "takes any field"
            except UserError as error:
                if not str(error).strip():
                    yield f"{name}={value!r}: refused without a word"
            except Exception as error:
                yield f"{name}={value!r}: {type(error).__name__}: {error}"


@pytest.mark.parametrize("name", NAMES)
class TestLaws:
    def test_it_speaks(self, name: str) -> None:
        assert list(does_not_speak(solved(name))) == []

    def test_it_stands_under_a_subject(self, name: str) -> None:
        assert plugins.constant(plugins.members("lessons")[name].path, "SUBJECT") in lessons.SUBJECTS

    def test_it_is_json(self, name: str) -> None:
        assert list(is_not_json(solved(name))) == []

    def test_its_formulas_are_latex(self, name: str) -> None:
        assert list(is_not_latex(solved(name))) == []

    def test_it_is_proved(self, name: str) -> None:
        assert list(is_not_proved(solved(name))) == []

    def test_a_changed_number_is_noticed(self, name: str) -> None:
        assert list(is_not_noticed(solved(name), ENTRIES)) == []

    @pytest.mark.slow
    def test_every_changed_number_is_noticed(self, name: str) -> None:
        assert list(is_not_noticed(solved(name))) == []

    def test_it_refuses_garbage_in_a_sentence(self, name: str) -> None:
        assert list(takes_garbage(lessons.get(name))) == []


class Sum(lessons.Question):
    """What is a + b?"""

    a: lessons.Exact = Fraction(1, 2)
    b: lessons.Exact = Fraction(1, 3)


def lesson(**changes: Any) -> Any:
    """A lesson without fault, or with the planted one."""

    def work(question: Sum) -> Iterator[Step | Answer]:
        total = question.a + question.b
        yield Step(
            says=f"Add them: {total}.", formula=rf"a + b = \frac{{{total.numerator}}}{{{total.denominator}}}"
        )
        yield Answer(fields={"sum": total, "twice": {"sum": [2 * total]}, "zero": 0, "even": False})

    def prove(question: Sum, answer: Answer) -> Iterator[Proof]:
        total = float(question.a) + float(question.b)
        yield agree("sum", "in floats", answer["sum"], total)
        yield agree(
            "rest",
            "in floats",
            [answer["twice"], answer["zero"], answer["even"]],
            [{"sum": [2 * total]}, 0, False],
        )

    return SimpleNamespace(**{"Question": Sum, "solve": work, "prove": prove, **changes})


def faults_of_all_laws(planted: Any) -> list[str]:
    work = solve(planted)
    laws = (does_not_speak, is_not_json, is_not_latex, is_not_proved)
    return [
        *takes_garbage(planted),
        *is_not_noticed(work),
        *(fault for law in laws for fault in law(work)),
    ]


def test_a_lesson_without_fault_passes_all_laws() -> None:
    assert faults_of_all_laws(lesson()) == []


def answers(*records: Any) -> Any:
    return lambda question: iter(records)


ANSWER = Answer(fields={"sum": Fraction(5, 6)})


@pytest.mark.parametrize(
    ("law", "planted", "fault"),
    [
        (does_not_speak, lesson(solve=answers(ANSWER)), "no steps"),
        (does_not_speak, lesson(solve=answers(Step(says="Add them."), ANSWER)), "no number"),
        (does_not_speak, lesson(solve=answers(Step(says="It is 1"), ANSWER)), "no sentence"),
        (
            does_not_speak,
            lesson(solve=answers(Step(says="1."), ANSWER, Step(says="2."))),
            "follows the answer",
        ),
        (is_not_json, lesson(solve=answers(Answer(fields={"sum": float("nan")}))), "not JSON compliant"),
        (is_not_latex, lesson(solve=answers(Step(says="1.", formula=r"\frac{1}{2"), ANSWER)), "frac"),
        (
            is_not_latex,
            lesson(solve=answers(Step(says="1.", formula=r"\nosuchcommand"), ANSWER)),
            "not MathML",
        ),
        (is_not_proved, lesson(prove=lambda question, answer: iter(())), "no proofs"),
        (
            is_not_proved,
            lesson(prove=lambda q, answer: iter([agree("sum", "guess", answer["sum"], 1)])),
            "sum (guess)",
        ),
    ],
)
def test_the_law_catches_the_planted_fault(law: Any, planted: Any, fault: str) -> None:
    faults = list(law(solve(planted)))
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize("path", ["sum", "twice.sum.0", "zero", "even"])
def test_an_entry_that_no_proof_looks_at_is_caught(path: str) -> None:
    def prove(question: Sum, answer: Answer) -> Iterator[Proof]:
        truth = leaves(solve(lesson()).answer.fields)
        for name, value in leaves(answer.fields).items():
            if name != path:
                yield agree(name, "by heart", value, truth[name])

    assert list(is_not_noticed(solve(lesson(prove=prove)))) == [f"{path} may be anything"]


def test_an_estimate_is_changed_by_five_standard_errors() -> None:
    estimate = Answer(fields={"mean": 1.0}, standard_errors={"mean": 0.1})

    def judged(slack: float) -> list[str]:
        def prove(question: Sum, answer: Answer) -> Iterator[Proof]:
            yield agree("mean", "theory", answer["mean"], 1.0, tolerance=slack)

        return list(is_not_noticed(solve(lesson(solve=answers(estimate), prove=prove))))

    assert judged(0.2) == []
    assert judged(0.6) == ["mean may be anything"]


def test_a_question_that_crashes_on_garbage_is_caught() -> None:
    class Careless(Sum):
        def model_post_init(self, context: Any) -> None:
            assert 1 / self.a

    assert any("ZeroDivisionError" in fault for fault in takes_garbage(lesson(Question=Careless)))
