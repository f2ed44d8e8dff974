"""Files are whole or not there."""

import json
import os
from pathlib import Path

import pytest

from vitruvius.core import files
from vitruvius.core.errors import UserError, WorkFailed


def test_a_failed_write_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    files.write(path, "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkFailed, match="no space left on device"):
        files.write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_crash_at_any_step_of_a_write_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each system call of the writer is made to die once; a planted in-place writer fails the same test."""

    def survives(write: object) -> bool:
        whole = True
        for step in ("fsync", "replace"):
            path = tmp_path / f"{step}.txt"
            path.write_text("old")
            with monkeypatch.context() as patched:
                patched.setattr(os, step, _die)
                with pytest.raises(KeyboardInterrupt):
                    write(path, "new" * 1000)  # type: ignore[operator]
            whole &= path.read_text() in ("old", "new" * 1000)
        return whole

    def in_place(path: Path, content: str) -> None:
        with open(path, "w") as file:
            file.write(content[:10])
            file.flush()
            os.fsync(file.fileno())
            os.replace(path, path)

    assert survives(files.write)
    assert not survives(in_place)


def _die(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_torn_last_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    files.append_line(path, {"a": 1})
    with open(path, "a") as file:
        file.write('{"a": 2')
    assert files.read_lines(path) == [{"a": 1}]
    files.append_line(path, {"a": 3})
    assert files.read_lines(path) == [{"a": 1}, {"a": 3}]


@pytest.mark.parametrize("content", ["{", '{"a": NaN}', "\xff\xfe", "[" * 100_000])
def test_broken_json_is_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match="not JSON"):
        files.read_json(path)


def test_missing_and_oversized_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        files.read_json(tmp_path / "none.json")
    (tmp_path / "big.json").write_text(json.dumps("x" * 100))
    with pytest.raises(UserError, match="at most 50"):
        files.read_json(tmp_path / "big.json", limit=50)


def test_an_endless_file_is_read_up_to_the_limit() -> None:
    with pytest.raises(UserError, match="at most 50 bytes"):
        files.read_json(Path("/dev/zero"), limit=50)


def test_nan_never_reaches_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        files.write_json(tmp_path / "a.json", float("nan"))
