"""Whole documents solved: the table of coursework is read rightly, and all it names is in the result."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from vitruvius.core.blocks import Text
from vitruvius.core.errors import UserError
from vitruvius.teaching import coursework, solved_document
from vitruvius.teaching.coursework import AssignmentQuestion, Lesson
from vitruvius.teaching.results import Document
from vitruvius.verbs import explain

ROOT = Path(__file__).parent.parent.parent
ROWS = (
    AssignmentQuestion(
        "1 edges", ("vitruvius explain sentence_graph",), "edges", ("edges",), (), "It says 6: it is 12."
    ),
    AssignmentQuestion(
        "2 loops",
        ("vitruvius explain sentence_graph",),
        "",
        ("edges_with_loops",),
        ("vitruvius.proxies.snip.snip",),
        "",
    ),
    AssignmentQuestion("2b words", ("vitruvius explain sentence_graph",), "step 1", (), (), "", (1,)),
    AssignmentQuestion("3 train", ("vitruvius train --epochs 1",), "test accuracy", (), (), ""),
)


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> Document:
    monkeypatch.setattr(coursework, "documents", lambda: {"007": ROWS})
    *_, found = solved_document.solve("007")
    assert isinstance(found, Document)
    return found


def test_the_package_carries_the_table_of_the_documents() -> None:
    assert coursework.TABLE.read_text() == (ROOT / "docs" / "coursework.md").read_text()


def test_every_row_of_the_table_is_read() -> None:
    lines = [line for line in coursework.TABLE.read_text().splitlines() if line.startswith("| ")]
    found = coursework.documents()
    assert list(found) == ["000", "001", "002", "003", "004"]
    assert sum(map(len, found.values())) == len(lines) - 5  # less a heading each
    assert all(row.commands or "the same run" in row.answer for rows in found.values() for row in rows)
    assert found["001"][0].lessons == (Lesson("convolution", ("shape=200,1",)),)
    assert found["001"][0].lessons[0].fields == {"shape": [200, 1]}
    assert found["001"][0].fields == ("parameters", "weights", "biases", "output")
    assert found["001"][0].errata == ""
    steps = {row.question[:6]: row.steps for row in found["002"]}
    assert (steps["1.1(c)"], steps["1.1(d)"], steps["1.4(d)"]) == ((-1,), (-1,), (7,))


def test_the_code_that_the_documents_ask_for_is_found() -> None:
    names = [name for rows in coursework.documents().values() for row in rows for name in row.modules]
    assert "vitruvius.nn.attention.ScaledDotProductAttention" in names
    assert all(solved_document.source(name).startswith(("class ", "def ")) for name in names)


def test_a_document_has_answers_derivations_errata_code_and_commands(solved: Document) -> None:
    first, second, words, third = solved.questions
    assert (first.answer, second.answer) == ({"edges": 12}, {"edges_with_loops": 16})
    assert words.answer == third.answer == {}
    assert solved.exit_code == 0
    said = {name: [b.text for b in blocks if isinstance(b, Text)] for name, blocks in solved.chapters.items()}
    assert any("It says 6" in text for text in said["1 edges"])
    assert any(text.startswith("proved: both counts") for text in said["1 edges"])
    assert "The derivation (sentence_graph) stands under 1 edges." in said["2 loops"]
    assert any(text.startswith("1. Every word is a vertex") for text in said["2b words"])
    assert any(text.startswith("def snip(") for text in said["2 loops"])
    assert said["3 train"] == ["The command below shows: test accuracy.", "vitruvius train --epochs 1"]


def test_it_is_written_in_three_formats_with_its_pictures(solved: Document, tmp_path: Path) -> None:
    assert "document-007.html" in solved_document.write(solved, tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".html", ".tex", ".ipynb", ".png"}
    html, tex = ((tmp_path / f"document-007.{ending}").read_text() for ending in ("html", "tex"))
    assert html.index("1 edges") < html.index("2 loops") < html.index("3 train")
    assert "document-007-01.png" in tex
    cells = json.loads((tmp_path / "document-007.ipynb").read_text())["cells"]
    assert [cell["source"] for cell in cells if cell["cell_type"] == "code"] == [
        "!vitruvius explain sentence_graph",
        "!vitruvius explain sentence_graph",
        "!vitruvius explain sentence_graph",
        "!vitruvius train --epochs 1",
    ]
    assert "document-007-01.png" in cells[1]["source"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"document": "005", "out": "x"}, "no document '005'"),
        ({"document": "001"}, "--document writes into a folder"),
        ({"document": "001", "out": "x", "lesson": "attention"}, "it goes with --out alone"),
        ({"document": "001", "out": "x", "format": "html"}, "it goes with --out alone"),
    ],
)
def test_what_does_not_go_with_a_document_is_refused(
    fields: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        list(explain.run(explain.Config(**fields)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", coursework.documents())
def test_every_document_is_solved_proved_and_compiles(number: str, tmp_path: Path) -> None:
    *_, found = solved_document.solve(number)
    assert isinstance(found, Document)
    assert found.exit_code == 0
    solved_document.write(found, tmp_path)
    if shutil.which("pdflatex"):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"document-{number}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:]
