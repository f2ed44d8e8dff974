"""`vitruvius explain` as a person meets it: lists, worked solutions, other numbers, files, exit codes."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vitruvius import lessons
from vitruvius.cli import main
from vitruvius.core import plugins
from vitruvius.core.config import Flags
from vitruvius.lessons import Proof, earth_mover
from vitruvius.teaching.results import Part, Worked
from vitruvius.verbs import explain

FEW = ("multihead", "earth_mover", "rank_correlation")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three lessons instead of all."""
    members = plugins.members

    def some(family: str) -> dict[str, plugins.Member]:
        found = members(family)
        return {name: found[name] for name in FEW} if family == "lessons" else found

    monkeypatch.setattr(plugins, "members", some)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The earth mover with a proof that fails."""

    def prove(question: Any, answer: Any) -> Iterator[Proof]:
        yield Proof(name="work", method="a guess", passed=False, detail="55 against 54")

    monkeypatch.setattr(earth_mover, "prove", prove)


def spoken(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["explain", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_alone_it_lists_every_lesson_under_its_subject_without_importing_any(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lessons, "get", lambda name: pytest.fail("imported"))
    code, out, err = spoken(capsys)
    assert (code, err) == (0, "")
    for member in plugins.members("lessons").values():
        assert member.name in out
        assert member.summary in out
    listed = json.loads(spoken(capsys, "--json")[1])["subjects"]
    assert list(listed) == [subject for subject in lessons.SUBJECTS if subject in listed]
    assert "multihead" in [entry["name"] for entry in listed["attention"]]


def test_a_lesson_shows_its_steps_its_answer_and_its_proofs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = spoken(capsys, "multihead")
    assert (code, err) == (0, "")
    assert "S₁ = ────── = 1/√3 ⎡78  71⎤" in out
    assert out.index("1. ") < out.index("\nAnswer\n") < out.index("\nProofs\n")
    assert "output = ⎡53.8415" in out
    assert "proved: output (vitruvius.nn.MultiHeadAttention)" in out
    assert "\\" not in out


def test_records_of_an_answer_are_a_table_with_one_row_each(capsys: pytest.CaptureFixture[str]) -> None:
    answer = spoken(capsys, "anatomy", "--set", "arch=mnist")[1].split("Answer")[1].split("Proofs")[0]
    rows = [line.split() for line in answer.splitlines() if "layer 0" in line]
    assert "name" in answer
    assert [row[3:6] for row in rows] == [["17", "x", "64"]] * 2
    assert len(answer.splitlines()) < 30


def test_long_words_are_told_once_and_long_vectors_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    review = spoken(capsys, "paper_review")[1]
    assert "summary: the text of step 2" in review
    assert review.count("The paper asks whether") == 1
    theory = next(
        line for line in spoken(capsys, "depth", "--set", "steps=1")[1].splitlines() if "residual₅₆" in line
    )
    assert theory.rstrip(",").endswith("⋯  1.41421  1]")


def test_words_of_an_answer_stay_readable(capsys: pytest.CaptureFixture[str]) -> None:
    assert "patch:\n model.train()\n-optimizer.zero_grad()\n" in spoken(capsys, "zero_grad")[1]
    assert "helps: yes, no\n" in spoken(capsys, "key_perturbation")[1]


def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, "earth_mover", "--json")
    assert code == 0
    worked = json.loads(out)
    assert list(worked) == ["lesson", "question", "steps", "answer", "checks"]
    assert all(list(step) == ["says", "formula", "value", "figure"] for step in worked["steps"])
    assert all(list(check) == ["name", "method", "passed", "detail"] for check in worked["checks"])
    assert worked["answer"]["distance"] == "55/8"
    assert worked["answer"]["plan"] == [[1, 0, 2], [2, 1, 0], [0, 2, 0]]
    assert worked["question"]["supply"][0] == [[0, 0], 3]
    assert spoken(capsys, "earth_mover", "--format", "json")[1] == out


def test_numbers_in_json_have_twelve_digits(capsys: pytest.CaptureFixture[str]) -> None:
    weight = json.loads(spoken(capsys, "multihead", "--json")[1])["answer"]["weights"][0][0][0]
    assert weight == float(f"{weight:.12g}") == pytest.approx(0.98273145, abs=1e-6)


def test_other_numbers_come_from_flags_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "question.json"
    file.write_text('{"tokens": 17, "width": 64}')
    words = ("attention_cost", "--question", str(file), "--set", "heads=8", "--set", "width=32", "--json")
    worked = json.loads(spoken(capsys, *words)[1])
    assert worked["question"] == {"tokens": 17, "width": 32, "heads": 8, "head_dim": None}
    assert worked["answer"]["total"] == 4 * 17 * 32**2 + 2 * 17**2 * 32


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["multihed"], "no lesson 'multihed': did you mean 'multihead'?"),
        (["multihead", "--set", "w_qq=1"], "multihead: no field in Question 'w_qq': did you mean 'w_q'?"),
        (["attention_cost", "--set", "heads=4"], "attention_cost: heads 4 does not divide width 6"),
        (
            ["earth_mover", "--set", "supply=[[0,1]]", "--set", "demand=[[1,2]]"],
            "supply has mass 1, demand 2",
        ),
        (["earth_mover", "--question", "nowhere.json"], "nowhere.json: no such file"),
        (["earth_mover", "--question", "LIST"], "a question is an object with fields, not list"),
        (["earth_mover", "--format", "pdf"], "'text', 'markdown', 'latex', 'html' or 'json', got 'pdf'"),
        (["earth_mover", "--all"], "--all works every lesson: leave 'earth_mover' out"),
        (["--set", "heads=4"], "--question and --set are numbers for one lesson"),
        (["--walk"], "--walk shows one lesson step by step on a terminal"),
    ],
)
def test_a_bad_question_gets_one_sentence_and_exit_code_2(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.json").write_text("[1]")
    code, out, err = spoken(
        capsys, *(str(tmp_path / "list.json") if word == "LIST" else word for word in words)
    )
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("wrong")
def test_a_proof_that_fails_makes_the_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, "earth_mover")
    assert code == 1
    assert "NOT PROVED: work (a guess): 55 against 54" in out
    code, out, _ = spoken(capsys, "earth_mover", "--json")
    assert (code, json.loads(out)["checks"][0]["passed"]) == (1, False)


@pytest.mark.usefixtures("wrong", "few")
def test_one_proof_that_fails_among_all_lessons_makes_the_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spoken(capsys, "--all", "--json")[0] == 1


@pytest.mark.parametrize(
    ("name", "sign"), [("a.md", "![Optimal plan"), ("a.tex", r"\includegraphics"), ("a.html", "<svg")]
)
@pytest.mark.usefixtures("pictures")
def test_a_file_has_its_pictures_beside_it(
    name: str, sign: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / name
    code, out, err = spoken(capsys, "earth_mover", "--out", str(path))
    assert (code, out, err) == (0, "", f"wrote {path}, pictures: a-1.png\n")
    assert sorted(file.name for file in path.parent.iterdir()) == ["a-1.png", name]
    assert sign in path.read_text()


def test_text_and_json_files_hold_what_the_terminal_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for format, name in (("text", "earth_mover.txt"), ("json", "earth_mover.json")):
        assert spoken(capsys, "earth_mover", "--format", format, "--out", str(tmp_path))[0] == 0
        shown = spoken(capsys, "earth_mover", "--format", format)[1]
        assert (tmp_path / name).read_text().splitlines()[-1] == shown.splitlines()[-1]


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = spoken(capsys, "earth_mover", "--out", str(tmp_path / "file" / "a.html"))
    assert code in (1, 2)
    assert str(tmp_path / "file") in err
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("few")
def test_all_lessons_become_one_page_to_browse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spoken(capsys, "--all", "--format", "html", "--out", str(tmp_path / "site"), "--quiet") == (
        0,
        "",
        "",
    )
    page = (tmp_path / "site" / "index.html").read_text()
    for name in FEW:
        assert f'<section id="{name.replace("_", "-")}">' in page
    assert page.index("attention</strong>") < page.index("zero-cost ranking</strong>")
    assert (tmp_path / "site" / "multihead-2.png").is_file()


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("format", ["text", "markdown", "latex", "json"])
def test_all_lessons_in_one_document(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, "--all", "--format", format)
    assert code == 0
    places = [out.index(name.replace("_", "\\_") if format == "latex" else name) for name in FEW]
    assert places == sorted(places)
    if format == "json":
        assert [worked["lesson"] for worked in json.loads(out)["lessons"]] == list(FEW)


def test_each_step_is_a_data_record_of_its_own_so_that_the_command_line_can_wait_between_them() -> None:
    shown = list(explain.run(explain.Config(lesson="earth_mover"), Flags(walk=True)))
    result = shown[-1]
    assert isinstance(result, Worked)
    parts = [record for record in shown if isinstance(record, Part)]
    assert len(parts) == 1 + len(result.steps) + 2  # heading, steps, answer, proofs
    assert all(record.is_data for record in shown)


def test_latex_parses_strictly(capsys: pytest.CaptureFixture[str]) -> None:
    from pylatexenc.latexwalker import LatexWalker

    document = spoken(capsys, "multihead", "--format", "latex")[1]
    LatexWalker(document, tolerant_parsing=False).get_latex_nodes()
    assert document.startswith("\\documentclass")
    assert document.rstrip().endswith("\\end{document}")


if shutil.which("pdflatex"):  # an engine cannot be installed by pip, and a skip would look like a gap

    @pytest.mark.slow
    @pytest.mark.usefixtures("pictures")
    @pytest.mark.parametrize("name", plugins.members("lessons"))
    def test_latex_compiles(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert spoken(capsys, name, "--out", str(tmp_path / "lesson.tex"))[0] == 0
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "lesson.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
