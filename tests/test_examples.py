"""The notebooks are the scripts beside them, small, and run."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "examples"


def _maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_notebooks", FOLDER / "make_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = _maker()
SCRIPTS = MAKER.scripts()


def _notebook(script: Path) -> Any:
    return json.loads(script.with_suffix(".ipynb").read_text())


def test_there_are_six() -> None:
    assert [script.name[0] for script in SCRIPTS] == list("123456")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
class TestNotebooks:
    def test_a_notebook_has_the_cells_of_its_script(self, script: Path) -> None:
        held = [(cell["cell_type"], "".join(cell["source"])) for cell in _notebook(script)["cells"]]
        assert held == MAKER.cells(script.read_text())

    def test_every_cell_was_run_without_an_error_and_outputs_are_small(self, script: Path) -> None:
        code = [cell for cell in _notebook(script)["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        assert not any(one["output_type"] == "error" for cell in code for one in cell["outputs"])
        assert sum(bool(cell["outputs"]) for cell in code) >= 3
        assert script.with_suffix(".ipynb").stat().st_size < MAKER.LARGEST

    def test_it_names_no_folder_of_the_machine_it_was_run_on(self, script: Path) -> None:
        text = script.with_suffix(".ipynb").read_text()
        assert not any(place in text for place in (f"/{name}/" for name in ("tmp", "home", "root", "work")))

    @pytest.mark.slow
    def test_it_runs(self, script: Path, tmp_path: Path) -> None:
        pytest.importorskip("nbclient")
        pytest.importorskip("ipykernel")
        notebook = MAKER.executed(script, tmp_path)
        assert all(one.output_type != "error" for cell in notebook.cells for one in cell.get("outputs", ()))


def test_cells_of_a_script() -> None:
    source = '"""Summary."""\n\n# %% [markdown]\n# # Title\n#\n# Text\n\n# %%\nx = 1\n\n# %%\nx\n'
    assert MAKER.cells(source) == [("markdown", "# Title\n\nText"), ("code", "x = 1"), ("code", "x")]
