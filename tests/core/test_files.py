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


def test_a_device_is_not_read() -> None:
    with pytest.raises(UserError, match="not a regular file"):
        files.read_json(Path("/dev/zero"), limit=50)


def test_a_fifo_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    fifo = tmp_path / "records.jsonl"
    os.mkfifo(fifo)
    for read in (files.read_json, files.read_lines):
        with pytest.raises(UserError, match="not a regular file"):
            read(fifo)
    with pytest.raises(WorkFailed, match="could not write"):
        files.append_line(fifo, {})
    with pytest.raises(OSError, match="not a regular file"):
        files.sha256(fifo)


def test_a_link_is_neither_appended_to_nor_replaced_through(tmp_path: Path) -> None:
    outside, link = tmp_path / "outside", tmp_path / "records.jsonl"
    outside.write_text("precious")
    link.symlink_to(outside)
    with pytest.raises(WorkFailed, match="links are not followed"):
        files.append_line(link, {"a": 1})
    with pytest.raises(UserError, match="links are not followed"):
        files.read_lines(link)
    (tmp_path / f".x.{os.getpid()}.part").symlink_to(outside)
    files.write(tmp_path / "x", "new")
    files.write(link, "new")
    assert outside.read_text() == "precious"
    assert not link.is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a system with devices and pipes as files")
def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe, stream = tmp_path / "pipe", tmp_path / "stdout"
    os.mkfifo(pipe)
    for link, target in ((tmp_path / "null", "/dev/null"), (stream, pipe)):
        link.symlink_to(target)
        with pytest.raises(WorkFailed, match="it is a device, and only files are replaced"):
            files.write(link, "new")
        assert link.is_symlink()
    files.write(pipe, "new")  # a pipe in a run folder is damage, and is repaired
    assert pipe.read_text() == "new"


def test_a_sparse_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with open(path, "wb") as file:
        file.truncate(2**30)
    with pytest.raises(UserError, match="at most 268,435,456 bytes are read, it has 1,073,741,824"):
        files.read_lines(path)


def test_a_changed_line_is_noticed_and_one_without_a_hash_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"a": 1}\n')
    files.append_line(path, {"a": 2})
    assert files.read_lines(path) == [{"a": 1}, {"a": 2}]
    path.write_text(path.read_text().replace('"a": 2', '"a": 3'))
    with pytest.raises(UserError, match="line 2: damaged: its hash does not match"):
        files.read_lines(path)


@pytest.mark.parametrize("line", ["[]", "null", "1.5", "NaN", "[" * 100_000])
def test_a_line_that_is_no_object_is_a_sentence(tmp_path: Path, line: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(UserError, match="line 2: damaged"):
        files.read_lines(path)


def test_a_new_file_of_lines_and_every_rename_are_synced_to_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    files.append_line(tmp_path / "records.jsonl", {})
    files.append_line(tmp_path / "records.jsonl", {})
    assert synced == [tmp_path]
    files.write(tmp_path / "a", "")
    assert synced == [tmp_path, tmp_path]


@pytest.mark.parametrize("content", ["null", "[]", "1.5", '"x"', "true"])
def test_json_of_another_type_is_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(UserError, match="an object with fields is needed, it holds"):
        files.read_object(path)


def test_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(r'{"a": "\ud83d\ude00"}')
    assert files.read_json(path) == {"a": "\U0001f600"}
    path.write_text(r'{"a": "\uD800"}')
    with pytest.raises(UserError, match="surrogate"):
        files.read_json(path)
    path.write_bytes(b'{"a": "\xed\xa0\x80"}')  # the same, as bytes that no encoder writes
    with pytest.raises(UserError, match="not JSON"):
        files.read_json(path)
    path.write_text('{"a": 1}', "utf-16")
    assert files.read_json(path) == {"a": 1}


def test_nan_never_reaches_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        files.write_json(tmp_path / "a.json", float("nan"))
