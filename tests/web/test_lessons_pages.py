"""Lessons as pages: the same solve and prove, the numbers in the address, refusals beside their field."""

import io
import json
import re
import zipfile
from html import unescape

import pytest

import vitruvius
from tests.web.visitor import Visitor
from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.web.form import form

LESSONS = list(plugins.members("lessons"))


def refusals(text: str) -> dict[str, str]:
    """What is said beside each field."""
    found = re.findall(r'id="refusal-(\w+)" role="status">([^<]*)<', text)
    return {name: unescape(sentence) for name, sentence in found if sentence}


def test_all_lessons_are_listed_and_can_be_searched(site: Visitor) -> None:
    text = site.ask("/lessons").text
    assert [name for name in LESSONS if f'href="/lessons/{name}"' not in text] == []
    assert " hidden>" not in text.replace('<p id="none" role="status" hidden>', "")
    text = site.ask("/lessons?search=attention+graph").text
    assert '<li><a href="/lessons/attention_as_graph"' in text
    assert '<li hidden><a href="/lessons/multihead"' in text
    assert '<p id="none" role="status">No lesson' in site.ask("/lessons?search=quux").text


@pytest.mark.parametrize("name", LESSONS)
def test_the_form_of_every_lesson_holds_its_own_numbers(name: str) -> None:
    """Sent as they are shown, the texts of a form give the lesson's own question."""
    question = lessons.get(name).Question
    shown = form(question, {})
    assert shown.question == question()
    sent = {field.name: field.text.replace("\n", "\r\n") for field in shown.fields}
    assert form(question, sent).question == question()
    # A form without its defaults must read every text.
    for field in shown.fields:
        if field.text and field.kind != "choice":
            again = form(question, {field.name: f" {field.text} "}).question
            assert again == question(), field.name


def test_a_lesson_is_worked_with_the_numbers_of_its_address(site: Visitor) -> None:
    asked = site.ask("/lessons/attention_cost?tokens=17&heads=3")
    assert asked.status == 200
    assert 'value="17"' in asked.text
    assert "proofs hold" in asked.text
    sent = json.loads(site.ask("/lessons/attention_cost/download/json?tokens=17&heads=3").body)
    assert sent == vitruvius.explain("attention_cost", tokens=17, heads=3).model_dump(mode="json")
    assert sent["question"]["tokens"] == 17


def test_a_matrix_is_written_in_lines(site: Visitor) -> None:
    lines = "1+0%0D%0A0,+1%2F2"
    sent = json.loads(site.ask(f"/lessons/min_norm/download/json?x={lines}&y=1,2").body)
    assert sent["question"]["x"] == [[1, 0], [0, "1/2"]]


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("tokens=NaN", "tokens", "finite"),
        ("tokens=Infinity", "tokens", "finite"),
        ("tokens=-3", "tokens", "greater"),
        ("tokens=two", "tokens", "whole number"),
        ("tokens=1e999999999", "tokens", "finite"),
        (f"tokens={'9' * 5000}", "tokens", "maximum size"),
        (f"tokens={'[' * 5000}", "tokens", "nested"),
        (f"tokens={'9' * 30000}", "tokens", "20,000 characters"),
        ("width=7&heads=2", "", "head_dim"),
    ],
)
def test_numbers_that_cannot_be_taken_are_refused_beside_their_field(
    query: str, field: str, words: str, site: Visitor
) -> None:
    answer = site.ask(f"/lessons/attention_cost?{query}")
    assert answer.status == 200
    assert "Not worked" in answer.text
    if field:
        assert list(refusals(answer.text)) == [field]
        assert words in refusals(answer.text)[field]
        assert 'aria-invalid="true"' in answer.text
    else:
        assert words in unescape(re.findall(r'id="refusal" role="status">([^<]*)<', answer.text)[0])


def test_an_unknown_field_and_an_unknown_lesson_are_said(site: Visitor) -> None:
    answer = site.ask("/lessons/attention_cost?token_s=3")
    assert answer.status == 200
    assert "did you mean" in answer.text
    answer = site.ask("/lessons/attentoin")
    assert answer.status == 404
    assert "did you mean &#39;attention&#39;" in answer.text


def test_downloads_have_the_pictures_with_them(site: Visitor) -> None:
    html = site.ask("/lessons/attention/download/html")
    assert html.headers["content-disposition"] == 'attachment; filename="attention.html"'
    assert b"<math" in html.body
    for format, ending in (("latex", ".tex"), ("markdown", ".md")):
        packed = site.ask(f"/lessons/attention/download/{format}")
        names = zipfile.ZipFile(io.BytesIO(packed.body)).namelist()
        assert names == ["attention-1.png", f"attention{ending}"]
    for words, start in (("a,b,c,d,e,f,g,h,i", b"\\documentclass"), ("a,b", b"PK")):  # nine are not drawn
        assert site.ask(f"/lessons/sentence_graph/download/latex?words={words}").body.startswith(start)
    assert site.ask("/lessons/attention/download/exe").status == 404
    assert site.ask("/lessons/attention/download/json?keys=NaN").status == 400


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_has_a_page(name: str, site: Visitor) -> None:
    answer = site.ask(f"/lessons/{name}")
    assert answer.status == 200
    assert re.search(r"(\d+) of \1 proofs hold", answer.text)
