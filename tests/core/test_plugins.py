"""Members of a family by file name; a user's own by path."""

import os
from pathlib import Path
from typing import Any

import pytest

from vitruvius import proxies
from vitruvius.core import plugins
from vitruvius.core.errors import UserError


def test_members_are_listed_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "top.py").write_text('"""Spins."""\nraise RuntimeError("imported")\n')
    (tmp_path / "toys" / "_private.py").write_text('"""Machinery."""\n')
    (tmp_path / "toys" / "__init__.py").write_text('"""Toys."""\n')
    monkeypatch.setattr(plugins, "PACKAGE", tmp_path)
    assert {name: member.summary for name, member in plugins.members("toys").items()} == {"top": "Spins."}


def test_a_constant_is_read_without_importing_the_file(tmp_path: Path) -> None:
    (tmp_path / "top.py").write_text('KIND = "toy"\nraise RuntimeError("imported")\n')
    assert plugins.constant(tmp_path / "top.py", "KIND") == "toy"
    assert plugins.constant(tmp_path / "top.py", "SIZE") is None


def test_a_docstring_may_have_lines_that_look_like_code(tmp_path: Path) -> None:
    (tmp_path / "top.py").write_text('"""A\nclass of its own."""\nKIND = 1\ndef f(): ...\n')
    assert plugins.docstring(tmp_path / "top.py") == "A\nclass of its own."
    assert plugins.constant(tmp_path / "top.py", "KIND") == 1


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("broken = (\n")
    with pytest.raises(UserError, match=r"broken\.py: not Python"):
        plugins.docstring(tmp_path / "broken.py")


def test_a_users_own_is_loaded_from_its_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def size():\n    return 7\n")
    assert plugins.function("proxies", f"{mine}:size")() == 7


def test_an_edited_file_is_loaded_again_and_a_relative_name_means_the_folder_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, size in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"def size(): return {size}")
        monkeypatch.chdir(tmp_path / folder)
        found: Any = proxies.get("./mine.py:size")
        assert found() == plugins.function("proxies", "./mine.py:size")() == size
    Path("mine.py").write_text("def size(): return 3")
    os.utime("mine.py", ns=(1, 1))
    assert plugins.function("proxies", "./mine.py:size")() == 3


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("def size(): ...", "siez", "did you mean 'size'"),
        ("import nothing_such", "size", "ModuleNotFoundError"),
        ("def size(:", "size", "SyntaxError"),
    ],
)
def test_a_fault_in_the_users_file_is_named(tmp_path: Path, content: str, name: str, message: str) -> None:
    mine = tmp_path / "faulty.py"
    mine.write_text(content)
    with pytest.raises(UserError, match=message):
        plugins.function("proxies", f"{mine}:{name}")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "huge.py").touch()
    os.truncate(tmp_path / "huge.py", plugins.LARGEST_SOURCE + 1)
    with pytest.raises(UserError, match="at most 16,777,216 bytes are read"):
        plugins.function("proxies", f"{tmp_path}/huge.py:f")


def test_a_missing_file_and_a_file_without_a_name_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        plugins.function("kernels", f"{tmp_path}/nowhere.py:f")
    with pytest.raises(UserError, match="mine.py:NAME"):
        plugins.function("kernels", "./mine.py")


def test_every_member_of_every_family_has_a_summary() -> None:
    folders = [path.name for path in plugins.PACKAGE.iterdir() if (path / "__init__.py").is_file()]
    for family in folders:
        for member in plugins.members(family).values():
            assert member.summary.endswith((".", "?")), f"{family}/{member.name}: '{member.summary}'"
