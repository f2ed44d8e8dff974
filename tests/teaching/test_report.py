"""A worked lesson as blocks and documents."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from vitruvius.core.blocks import Block, Formula, Heatmap, Table, Text
from vitruvius.core.errors import UserError
from vitruvius.lessons import Step
from vitruvius.teaching import report
from vitruvius.teaching.results import Collection, Worked


def lesson(name: str = "attention") -> Worked:
    figure = Heatmap(title="Weights", values=((1.0,),))
    blocks: tuple[Block, ...] = (Text(text="Add."), Formula(latex=r"\frac{1}{2}"), figure)
    return Worked(blocks=blocks, lesson=name, question={}, steps=(), answer={"x": Fraction(1, 2)}, checks=())


def test_numbers_of_an_answer_are_formulas_words_are_text_and_records_tables() -> None:
    records = [{"name": "a", "size": [2, 3], "share": Fraction(1, 3)}]
    fields = {"half": Fraction(1, 2), "row": [1, 2.5], "helps": True, "parts": records, "none": []}
    title, formula, words, table, none, blank = report.answer_blocks(fields, [])
    row = r"\begin{bmatrix} 1 & 2.5 \end{bmatrix}"
    assert formula == Formula(latex=rf"\mathrm{{half}} = \frac{{1}}{{2}}, \quad \mathrm{{row}} = {row}")
    assert words == Text(text="helps: yes")
    assert isinstance(table, Table)
    assert table.rows == (("a", "2 x 3", "1/3"),)
    assert none == Text(text="none: none")


def test_long_vectors_are_cut_and_what_is_deeper_than_a_matrix_is_numbered() -> None:
    fields = {"long": list(range(20)), "deep": [[[1]], [[2]]]}
    formula = list(report.answer_blocks(fields, []))[1]
    assert isinstance(formula, Formula)
    assert r"0 & 1 & 2 & \cdots & 18 & 19" in formula.latex
    assert r"\mathrm{deep}_{1} = \begin{bmatrix} 1 \end{bmatrix}" in formula.latex


def test_a_long_text_that_a_step_has_shown_is_not_repeated() -> None:
    told = "word " * 30
    assert Text(text="said: the text of step 1") in report.answer_blocks({"said": told}, [Step(says=told)])
    assert Text(text="code:\na\nb") in report.answer_blocks({"code": "a\nb\n"}, [])


@pytest.mark.parametrize(
    ("format", "sign"),
    [
        ("text", "1/2"),
        ("markdown", "# Halves\n\nAdd."),
        ("latex", r"\section*{Halves}"),
        ("html", "<h1>Halves</h1>"),
    ],
)
def test_a_lesson_as_a_document(format: str, sign: str) -> None:
    assert sign in report.document(lesson(), format, "Halves")


def test_json_is_the_result_alone() -> None:
    assert json.loads(report.document(lesson(), "json", ""))["answer"] == {"x": "1/2"}


def test_several_lessons_are_a_book_by_subject() -> None:
    both = Collection(lessons=(lesson("zero_cost"), lesson("attention")))
    written = report.document(both, "html", "Lessons")
    assert written.index('id="attention"') < written.index('id="zero-cost"')
    assert "## zero_cost" in report.document(both, "markdown", "Lessons")


def test_figures_are_written_beside_the_document(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.md"
    assert report.write(lesson(), "markdown", "Halves", path) == f"wrote {path}, pictures: a-1.png"
    assert "![Weights](a-1.png)" in path.read_text()
    assert (tmp_path / "new" / "a-1.png").is_file()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--out"):
        report.write(lesson(), "text", "", tmp_path / "file" / "a.txt")
