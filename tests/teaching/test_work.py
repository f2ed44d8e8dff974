"""Solving and proving a lesson, part by part."""

import pytest

from vitruvius.core.errors import UserError
from vitruvius.teaching import work
from vitruvius.teaching.results import Part, Worked

QUICK = "attention_cost"


def test_parts_come_before_the_result_and_are_its_blocks() -> None:
    *parts, worked = work.work(QUICK, {"heads": 2})
    assert isinstance(worked, Worked)
    assert worked.question["heads"] == 2
    assert worked.exit_code == 0
    shown = [block for part in parts if isinstance(part, Part) for block in part.blocks]
    title, summary, blank, *rest = shown
    assert (summary, *rest) == worked.blocks


def test_a_wrong_field_is_refused_with_the_lesson_s_name() -> None:
    with pytest.raises(UserError, match=f"{QUICK}: no field in Question 'head'"):
        next(work.work(QUICK, {"head": 2}))


def test_collected_lessons_stand_under_their_names() -> None:
    *_, worked = work.work(QUICK, {})
    assert isinstance(worked, Worked)
    found = work.collect([worked, worked])
    assert found.lessons == (worked, worked)
    titles = [block for block in found.blocks if getattr(block, "text", "") == QUICK]
    assert len(titles) == 2


def test_the_list_has_every_lesson_with_its_summary() -> None:
    listing = work.listing()
    names = [entry.name for entries in listing.subjects.values() for entry in entries]
    assert QUICK in names
    assert len(listing.blocks) == len(listing.subjects)
