"""Sheets, keys and the grading of a class."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from vitruvius.core.errors import UserError
from vitruvius.core.records import Result
from vitruvius.teaching import grade, key, publish, sheets
from vitruvius.teaching.key import Key
from vitruvius.teaching.results import Broken, Grades, StudentGrade

NAMES = ("attention", "sentence_graph")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Key]:
    folder = tmp_path_factory.mktemp("exercises")
    found, solved = key.make(NAMES, 2, 7)
    assert list(publish.write(folder, "markdown", found, solved)) == [1, 2]
    return folder, found


def hand_in(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def right(found: Key, variant: int = 1, **changes: Any) -> dict[str, Any]:
    """The right answers of a variant, with some values of attention changed."""
    answers = {name: dict(one.values) for name, one in found.variants[variant - 1].exercises.items()}
    answers["attention"] |= changes
    return {"student": "Ada", "variant": variant, "answers": answers}


def graded(found: Key, *paths: Path) -> Grades:
    return grade.collected([grade.one(found, path) for path in paths])


def test_the_same_seed_gives_the_same_sheets_and_another_others(made: tuple[Path, Key]) -> None:
    assert key.make(NAMES, 2, 7)[0] == made[1]
    assert key.make(NAMES, 2, 8)[0] != made[1]
    first, second = made[1].variants
    assert first.exercises["attention"].question != second.exercises["attention"].question


def test_more_variants_keep_the_first_ones(made: tuple[Path, Key]) -> None:
    assert key.make(NAMES, 3, 7)[0].variants[:2] == made[1].variants


def test_a_folder_holds_sheets_a_key_and_files_to_fill(made: tuple[Path, Key]) -> None:
    folder, found = made
    assert {path.name for path in folder.iterdir()} == {"sheets", "key", "key.json"}
    sheet = (folder / "sheets" / "variant-01.md").read_text()
    worked = (folder / "key" / "variant-01.md").read_text()
    weights = found.variants[0].exercises["attention"].values["weights"]
    assert "Exercise 1: attention" in sheet
    assert f"{weights[0]:.6g}" in worked
    assert f"{weights[0]:.6g}" not in sheet
    assert "keys and queries are swapped" in worked
    assert "swapped" not in sheet
    blank = json.loads((folder / "sheets" / "variant-02.json").read_text())
    assert blank["answers"]["attention"]["weights"] == [None, None, None]
    assert blank["variant"] == 2
    rows = list(csv.DictReader((folder / "sheets" / "variant-01.csv").read_text().splitlines()))
    assert "weights[3]" in [row["value"] for row in rows]


def test_a_key_that_was_handed_out_is_not_replaced(made: tuple[Path, Key]) -> None:
    with pytest.raises(UserError, match=r"it holds a key\.json already"):
        publish.refuse_to_overwrite(made[0])


def test_the_key_is_read_back_as_it_was(made: tuple[Path, Key]) -> None:
    assert key.read(made[0] / "key.json") == made[1]


def test_right_answers_get_all_points_and_files_left_empty_none(
    made: tuple[Path, Key], tmp_path: Path
) -> None:
    folder, found = made
    full = grade.one(found, hand_in(tmp_path, "ada.json", right(found)))
    empty = grade.one(found, folder / "sheets" / "variant-02.json")
    table = grade.one(found, folder / "sheets" / "variant-02.csv")
    assert isinstance(full, StudentGrade)
    assert isinstance(empty, StudentGrade)
    assert isinstance(table, StudentGrade)
    assert (full.points, full.possible, full.student) == (5, 5, "Ada")
    assert (empty.points, empty.possible, empty.student, empty.variant) == (0, 5, "variant-02", 2)
    assert (table.points, table.possible, table.variant) == (0, 5, 2)


def test_a_mistake_costs_one_point_and_is_counted_in_the_overview(
    made: tuple[Path, Key], tmp_path: Path
) -> None:
    _, found = made
    exercise = found.variants[0].exercises["attention"]
    lines = key.solution_of(exercise, "attention").lines(made=["root"])
    wrong = {name: line.value.tolist() for name, line in lines.items()}
    students = [{**right(found, **wrong), "student": name} for name in ("Ben", "Cleo")]
    paths = [hand_in(tmp_path, f"{one['student']}.json", one) for one in (*students, right(found))]
    grades = graded(found, *paths)
    ben = next(one for one in grades.students if one.student == "Ben")
    attention = ben.lessons[0]
    assert (ben.points, ben.possible, attention.carried, attention.first_wrong) == (4, 5, 2, "scores")
    assert "divided by sqrt(d)" in attention.mistake
    scores = next(tally for tally in grades.overview if tally.value == "scores")
    assert (scores.right, scores.wrong, scores.mistakes) == (1, 2, {attention.mistake: 2})
    weights = next(tally for tally in grades.overview if tally.value == "weights")
    assert (weights.right, weights.consistent) == (1, 2)
    assert grades.exit_code == 0


def test_grades_are_written_as_page_tables_and_json(made: tuple[Path, Key], tmp_path: Path) -> None:
    _, found = made
    ada = {**right(found, scores=[1, 1, 1]), "student": "=Ada <b>"}
    grades = graded(found, hand_in(tmp_path, "a.json", ada), hand_in(tmp_path, "b.json", "{"))
    grade.write(grades, tmp_path / "out")
    rows = list(csv.DictReader((tmp_path / "out" / "grades.csv").read_text().splitlines()))
    assert rows[0]["student"] == "'=Ada <b>"  # no formula of a spreadsheet
    assert rows[0]["attention first wrong"] == "scores"
    steps = list(csv.DictReader((tmp_path / "out" / "steps.csv").read_text().splitlines()))
    assert [row["verdict"] for row in steps] == ["wrong", "right", "right", "right", "right"]
    page = (tmp_path / "out" / "grades.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert json.loads((tmp_path / "out" / "grades.json").read_text())["broken"][0]["file"].endswith("b.json")
    assert grades.exit_code == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "an object with values by name is needed"),
        ({"variant": 1}, "answers is missing"),
        ({"variant": 9, "answers": {}}, "variant is 9, the key has 1 to 2"),
        ({"answers": {"atention": {}}}, "no exercise in the key 'atention': did you mean 'attention'?"),
        (
            {"answers": {"attention": {"scors": 1}}},
            "attention: no value in attention 'scors': did you mean 'scores'?",
        ),
        ({"answers": {"attention": {"scores": [1]}}}, "attention: scores needs 3 entries, got 1"),
        ({"answers": {"attention": {"scores": ["?", 1, 1]}}}, "attention: scores[1]: '?' is not a number"),
        ({"answers": {}, "name": "Ada"}, "no field in HandedIn 'name'"),
        ({"answers": {}, "student": "a" * 200}, "the student's name has 200 characters"),
        (" " * 1_100_000, "at most 1,000,000 bytes are read"),
    ],
)
def test_a_broken_file_is_named_and_the_others_are_graded(
    content: Any, words: str, made: tuple[Path, Key], tmp_path: Path
) -> None:
    _, found = made
    bad, good = hand_in(tmp_path, "bad.json", content), hand_in(tmp_path, "good.json", right(found))
    grades = graded(found, bad, good)
    assert [one.student for one in grades.students] == ["Ada"]
    (broken,) = grades.broken
    assert broken.file == str(bad)
    assert broken.reason.startswith(words)
    assert grades.exit_code == 2


def test_two_students_of_one_name_are_named_and_nobody_else_is_lost(
    made: tuple[Path, Key], tmp_path: Path
) -> None:
    _, found = made
    twins = [
        hand_in(tmp_path, f"{i}.json", right(found) | {"student": name})
        for i, name in enumerate(("Ada", "ada"))
    ]
    grades = graded(found, *twins, hand_in(tmp_path, "b.json", right(found) | {"student": "Ben"}))
    assert [one.student for one in grades.students] == ["Ben"]
    assert [one.file for one in grades.broken] == [str(path) for path in twins]
    assert "2 files are of a student called 'Ada'" in grades.broken[0].reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 0}, "made by another version of Vitruvius: it has the format 0, this version reads 1"),
        ({"format": "x"}, "made by something else"),
        ({"variants": 3}, "variants"),
        ({"lessons": ["attention"]}, "variant 1 is damaged"),
    ],
)
def test_a_key_of_another_version_is_refused(
    changes: dict[str, Any], words: str, made: tuple[Path, Key], tmp_path: Path
) -> None:
    path = hand_in(tmp_path, "key.json", made[1].model_dump(mode="json") | changes)
    with pytest.raises(UserError, match=".") as refused:
        key.read(path)
    assert words in str(refused.value)


def test_a_key_whose_values_the_lesson_no_longer_gives_is_refused(
    made: tuple[Path, Key], tmp_path: Path
) -> None:
    fields = made[1].model_dump(mode="json")
    fields["variants"][0]["exercises"]["attention"]["values"]["scores"][0] = 99
    found = key.read(hand_in(tmp_path, "key.json", fields))
    broken = grade.one(found, hand_in(tmp_path, "ada.json", right(made[1])))
    assert isinstance(broken, Broken)
    assert "the key was made by another version of the lesson attention" in broken.reason


def test_folders_and_files_are_collected_once(tmp_path: Path) -> None:
    for name in ("b.json", "a.csv", "notes.txt"):
        (tmp_path / name).write_text("")
    found = grade.files_of([str(tmp_path), str(tmp_path / "b.json")])
    assert [path.name for path in found] == ["a.csv", "b.json"]
    with pytest.raises(UserError, match="no such file or folder"):
        grade.files_of([str(tmp_path / "none")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no JSON or CSV file"):
        grade.files_of([str(tmp_path / "empty")])


def test_a_notebook_has_cells_to_fill_and_a_cell_that_checks(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(Result, "html", None)  # the API sets it for the whole process
    found, solved = key.make(("sentence_graph",), 1, 0)
    list(publish.write(tmp_path, "notebook", found, solved))
    cells = json.loads((tmp_path / "sheets" / "variant-01.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    space: dict[str, Any] = {}
    exec(code[0], space)
    assert space["sentence_graph"] == {"edges": None, "edges_with_loops": None}
    space["sentence_graph"] = dict(found.variants[0].exercises["sentence_graph"].values)
    result = eval(code[1].split("\n\n")[1], {"vitruvius": __import__("vitruvius"), **space})
    assert (result.points, result.possible) == (2, 2)


@pytest.mark.parametrize("value", [3, [1, 2], [[1, 2], [3, 4]], {"a": [1], "b": {"c": 2}}, [[[1]], [[2]]]])
def test_blank_values_have_the_paths_of_the_value(value: Any) -> None:
    assert len(list(sheets.paths("x", value))) == str(sheets.empty(value)).count("None")
