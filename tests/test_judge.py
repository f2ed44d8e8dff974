"""The judge of the doctor's corpus: what counts as a hit."""

from typing import Any

import pytest

from benchmarks.doctor.judge import is_hit

TRUTH = {"bug": "frozen", "where": {"lines": [3, 4], "module": "2"}}


def found(**changes: Any) -> dict[str, Any]:
    return {"bug": "frozen", "where": "a.py:9", "module": None, "evidence": "2 of 9 parameters"} | changes


@pytest.mark.parametrize(
    ("changes", "hit"),
    [
        ({"where": "a.py:4"}, True),
        ({"module": "2"}, True),
        ({"module": "2.0"}, False),
        ({}, False),  # a number in the evidence names no module
        ({"where": ""}, False),
        ({"where": "a.py:4", "bug": "dead_relu"}, False),
        ({"module": "2", "bug": "dead_relu"}, False),
    ],
)
def test_a_hit_needs_the_check_and_the_line_or_the_module(changes: dict[str, Any], hit: bool) -> None:
    assert is_hit(found(**changes), TRUTH) == hit


def test_an_entry_without_a_module_is_not_hit_by_a_finding_without_one() -> None:
    assert not is_hit(found(), {"bug": "frozen", "where": {"lines": [3], "module": None}})
