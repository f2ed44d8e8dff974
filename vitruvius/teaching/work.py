"""Work a lesson: solve its question, then prove the answer by a second method."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.teaching import report
from vitruvius.teaching.results import Collection, Entry, Listing, Part, Worked


def work(name: str, fields: dict[str, Any]) -> Iterator[Part | Worked]:
    """Solve and prove one lesson: heading, steps, answer and proofs as they become known, `Worked` last."""
    lesson, question = lessons.get(name), lessons.question(name, fields)
    blocks: list[Block] = [Text(text=plugins.members("lessons")[name].summary, style="note")]
    yield Part(blocks=(Text(text=name, style="title"), *blocks, Text(text="")))

    def part(shown: Iterable[Block]) -> Part:
        known = tuple(shown)
        blocks.extend(known)
        return Part(blocks=known)

    steps: list[lessons.Step] = []
    for found in lesson.solve(question):
        if isinstance(found, lessons.Answer):
            answer = found
            break
        steps.append(found)
        yield part(report.step_blocks(len(steps), found))
    yield part(report.answer_blocks(answer.fields, steps))
    proofs = tuple(lesson.prove(question, answer))
    yield part([Text(text="Proofs", style="title"), *chain.from_iterable(proof.view() for proof in proofs)])
    yield Worked(
        blocks=tuple(blocks),
        lesson=name,
        question=question.model_dump(mode="json"),
        steps=tuple(steps),
        answer=answer.fields,
        checks=proofs,
    )


def worked(name: str, fields: dict[str, Any]) -> Worked:
    """A lesson solved and proved, all at once."""
    *_, found = work(name, fields)
    assert isinstance(found, Worked)
    return found


def collect(done: Sequence[Worked]) -> Collection:
    """Several worked lessons as one result."""
    titled = ((Text(text=one.lesson, style="title"), *one.blocks) for one in done)
    return Collection(blocks=tuple(chain.from_iterable(titled)), lessons=tuple(done))


def listing() -> Listing:
    """All lessons by subject, read from the source without importing any."""
    found = {subject: list[Entry]() for subject in lessons.SUBJECTS}
    for member in plugins.members("lessons").values():
        found[report.subject(member.name)].append(Entry(name=member.name, summary=member.summary))
    subjects = {subject: tuple(entries) for subject, entries in found.items() if entries}
    columns = ("lesson", "what it works out")
    rows = {subject: tuple((entry.name, entry.summary) for entry in found[subject]) for subject in subjects}
    tables = (Table(title=subject, columns=columns, rows=rows[subject]) for subject in subjects)
    return Listing(blocks=tuple(tables), subjects=subjects)
