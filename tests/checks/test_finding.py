"""A finding says its line as a person would."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from vitruvius.checks import shown_location


def test_a_file_below_the_working_directory_is_shown_without_it() -> None:
    assert shown_location(f"{Path.cwd() / 'sub' / 'train.py'}:7") == str(Path("sub/train.py:7"))
    assert shown_location("/elsewhere/train.py:7") == "/elsewhere/train.py:7"


def test_a_cell_of_a_notebook_is_shown_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"/made/by/the/kernel.py": ("Cell", "In[3]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert shown_location("/made/by/the/kernel.py:6") == "Cell In[3], line 6"
    assert shown_location("/elsewhere/train.py:7") == "/elsewhere/train.py:7"


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(compile=SimpleNamespace())])
def test_a_shell_that_names_no_cells_changes_nothing(shell: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert shown_location("/elsewhere/train.py:7") == "/elsewhere/train.py:7"
