"""Checking a student's values on the page: the same verdicts as `explain --check`, the answer not shown."""

from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.web.visitor import Answer, Visitor
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.teaching import solution, verdict
from vitruvius.web import check_form

FAST = ("attention", "multihead", "masking", "normalisation", "sentence_graph")
SHAPES = [
    name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
    for name in plugins.members("lessons")
]


def sent(site: Visitor, path: str, **values: str) -> Answer:
    """What the form answers when it was filled in."""
    return site.ask(path, "POST", urlencode(values).encode())


def written(value: Any) -> str:
    """A value as a student writes it into its field."""
    if not isinstance(value, list | tuple):
        return str(value)
    if not any(isinstance(item, list | tuple) for item in value):
        return ", ".join(map(str, value))
    deep = any(isinstance(item, list | tuple) for row in value for item in row)
    return ("\n\n" if deep else "\n").join(map(written, value))


@pytest.mark.parametrize("name", SHAPES)
def test_a_lesson_s_own_values_typed_into_its_form_get_full_marks(name: str) -> None:
    solved = solution.solve(name, {})
    texts = {}
    for field in check_form.fields(solved, {}):
        value: Any = solved.values
        for part in field.path:
            value = value[part]
        texts[field.name] = written(value)
    fields = check_form.fields(solved, texts)
    found = verdict.checked(solved, check_form.values(fields))
    assert found.first_wrong is None, found.verdict
    assert {field.path[0] for field in fields} == {one.name for one in found.values if one.status == "right"}
    assert all(field.text for field in fields)


def test_the_page_asks_without_telling_the_answer(site: Visitor) -> None:
    text = site.ask("/lessons/attention/check").text
    assert 'name="scores"' in text
    assert 'name="weights"' in text
    assert "Verdict" not in text
    assert ">0.721</td>" not in text
    assert 'href="/lessons/attention/check"' in site.ask("/lessons/attention").text


def test_the_first_wrong_step_and_its_mistake_are_named_as_on_the_terminal(site: Visitor) -> None:
    keys = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    solved = solution.solve("attention", {"keys": keys})
    wrong = {"scores": "1, 2, 3", "weights": "0.5, 0.5, 0.5", "hint": "1"}
    answers = {"scores": ["1", "2", "3"], "weights": ["0.5", "0.5", "0.5"]}
    expected = verdict.checked(solved, answers, 1)
    assert expected.first_wrong is not None
    address = f"/lessons/attention/check?{urlencode({'keys': keys})}"
    text = unescape(sent(site, address, **wrong).text)
    assert expected.verdict in text
    assert f"Hint 1 ({expected.hints[0].name}): {expected.hints[0].text}" in text
    assert 'value="0.5, 0.5, 0.5"' in text
    assert "Hint 2" not in text


def test_rows_and_stacks_of_matrices_are_read_as_they_were_typed(site: Visitor) -> None:
    good = sent(site, "/lessons/sentence_graph/check", edges="12", edges_with_loops="2^4")
    assert "All right: 2 of 2 values." in good.text
    carried = sent(site, "/lessons/sentence_graph/check", edges="6", edges_with_loops="10")
    assert "the two directions of a pair are counted as one" in carried.text
    assert "What follows from it is worked out rightly and counts: edges_with_loops." in carried.text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"edges": "twelve"}, "'twelve' is not a number"),
        ({"edges": "__import__('os')"}, "is not a number"),
        ({"edges": "9^9^9^9"}, "edges"),
        ({"edges": "<script>alert(1)</script>"}, "is not a number"),
        ({"edges": "1" * 30_000}, "at most 20,000 characters"),
        ({}, "Nothing was given that can be checked"),
        ({"hint": "99", "unknown": "1"}, "Nothing was given that can be checked"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(values: dict[str, str], words: str, site: Visitor) -> None:
    answer = sent(site, "/lessons/sentence_graph/check", **{"hint": "0", **values})
    assert answer.status == 200
    assert words in unescape(answer.text)
    assert "<script>alert" not in answer.text


def test_wrong_shapes_are_said(site: Visitor) -> None:
    answer = sent(site, "/lessons/attention/check", scores="1, 2")
    assert "scores needs 3 entries, got 2" in answer.text


def test_addresses_and_bodies_that_are_none_are_refused(site: Visitor) -> None:
    assert site.ask("/lessons/attentoin/check").status == 404
    assert site.ask("/lessons/attention_cost/check?tokens=two").status == 400
    path = "/lessons/sentence_graph/check"
    assert site.ask(path, "POST", b"\xff\xfe").status == 400
    assert site.ask(path, "POST", b"&".join([b"a=1"] * 600)).status == 400
    assert site.ask(path, "POST", b"edges=" + b"1" * 1_100_000).status == 400
    assert site.ask(path, "POST", b"edges=12", Origin="http://evil.example").status == 403


def test_long_fields_are_refused_before_they_are_read() -> None:
    field = check_form.Field(("a",), (2, 2), text="1 " * 20_000)
    with pytest.raises(UserError, match="40,000"):
        check_form.values((field,))
