"""A script or module runs as under python: its name, its path, its output by file descriptor."""

import os
import sys
from pathlib import Path

import pytest

from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.doctor.script import compiled, run_script, stdout_to_stderr


def test_a_module_runs_as_under_python_m(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "size.py").write_text("size = 7\n")
    (package / "train.py").write_text(
        "import sys\nfrom .size import size\nprint(__name__, size, sys.argv[1:])\nraise SystemExit(5)\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run_script("some_package.train", ["--epochs", "3"], module=True)
    assert result.script_exit == 5
    assert capfd.readouterr().out == "__main__ 7 ['--epochs', '3']\n"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("RuntimeError('\\nundefined value\\nmore')", "RuntimeError: undefined value"),
        ("KeyError()", "KeyError"),
    ],
)
def test_a_crash_says_the_first_line_of_its_error(raised: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"raise {raised}\n")
    crash = run_script(str(script), []).crash
    assert crash is not None
    assert (crash.error, crash.where) == (said, f"{script}:1")


def test_pipes_devices_and_huge_files_are_no_scripts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "huge.py").touch()
    os.truncate(tmp_path / "huge.py", plugins.LARGEST_SOURCE + 1)
    for path in (tmp_path / "pipe.py", Path("/dev/zero")):
        with pytest.raises(UserError, match="regular"):
            compiled(path)
    with pytest.raises(UserError, match="at most 16,777,216 bytes are read"):
        compiled(tmp_path / "huge.py")


def test_what_is_printed_by_descriptor_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with stdout_to_stderr():
        print("from Python")
        os.write(1, b"from C\n")
    print("after", file=sys.stdout)
    captured = capfd.readouterr()
    assert captured.out == "after\n"
    assert captured.err == "from Python\nfrom C\n"
