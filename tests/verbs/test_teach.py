"""The verbs `teach sheet`, `teach grade` and `explain --check` from the command line."""

import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vitruvius.cli import main
from vitruvius.teaching import exercises, key, publish


def test_sheets_are_made_filled_and_graded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "exercises"
    assert main(["teach", "sheet", "sentence_graph,scaling", "--variants", "2", "--out", str(folder)]) == 0
    assert "2 sheets on sentence_graph, scaling" in capsys.readouterr().out
    assert "<table" in (folder / "sheets" / "variant-02.html").read_text()
    filled = json.loads((folder / "sheets" / "variant-01.json").read_text()) | {"student": "Ada"}
    values = json.loads((folder / "key.json").read_text())["variants"][0]["exercises"]
    filled["answers"] = {name: one["values"] for name, one in values.items()}
    handed_in = tmp_path / "handed_in"
    handed_in.mkdir()
    (handed_in / "ada.json").write_text(json.dumps(filled))
    words = ["teach", "grade", str(folder / "key.json"), str(handed_in)]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["students"][0]["points"] == 5
    (handed_in / "broken.json").write_text("{")
    assert main([*words, "--out", str(tmp_path / "grades")]) == 2
    shown = capsys.readouterr().out
    assert "1 student graded" in shown
    assert "broken.json: not JSON" in " ".join(shown.split())
    assert (tmp_path / "grades" / "grades.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["teach", "sheet"], "which lessons?"),
        (["teach", "sheet", "attention"], "--out FOLDER is needed"),
        (["teach", "sheet", "atention", "--out", "x"], "no lesson 'atention': did you mean 'attention'?"),
        (["teach", "sheet", "paper_review", "--out", "x"], "paper_review has nothing to compute"),
        (["teach", "sheet", "attention,attention", "--out", "x"], "named twice"),
        (["teach", "sheet", "attention", "--variants", "0", "--out", "x"], "variants"),
        (["teach", "grade"], "what is graded?"),
        (["teach", "grade", "none.json", "x"], "none.json: no such file"),
        (["explain", "--check", "{}"], "--check and --hint look at one lesson"),
        (["explain", "attention", "--hint", "4"], "hint"),
        (["explain", "attention", "--check", "none.json"], "no such file"),
        (["explain", "attention", "--check", "{}", "--out", "x"], "without --all, --out and --format"),
    ],
)
def test_bad_input_is_said_in_a_sentence_and_nothing_is_written(
    words: list[str], said: str, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_values_are_checked_from_a_file_and_from_standard_input(
    tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '{"edges": 6}'
    (tmp_path / "mine.json").write_text(text)
    assert main(["explain", "sentence_graph", "--check", str(tmp_path / "mine.json")]) == 1
    from_file = capsys.readouterr().out
    assert "the two directions of a pair are counted as one" in " ".join(from_file.split())
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["explain", "sentence_graph", "--check", "-"]) == 1
    assert capsys.readouterr().out == from_file
    assert main(["explain", "sentence_graph", "--check", '{"edges": 12}', "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["points"] == 1


if shutil.which("pdflatex"):  # an engine cannot be installed by pip, and a skip would look like a gap

    @pytest.mark.slow
    @pytest.mark.usefixtures("pictures")
    def test_sheets_and_keys_of_all_lessons_compile(tmp_path: Path) -> None:
        made, solved = key.make(tuple(exercises.names()), 1, 0)
        list(publish.write(tmp_path, "latex", made, solved))
        for name in ("sheets", "key"):
            command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "variant-01.tex"]
            done = subprocess.run(command, cwd=tmp_path / name, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:]
