"""Damage to a run folder is found by the hashes in its manifest and its checkpoints, and named."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vitruvius.core import files, integrity, runs
from vitruvius.core.config import Flags, RunConfig
from vitruvius.core.errors import UserError
from vitruvius.core.integrity import Beside, Checkpoint, Records
from vitruvius.core.records import Note, Result


class Toy(RunConfig):
    lr: float = 0.1


def describe(folder: Path, weights: bytes, tensors: bytes = b"tensors") -> None:
    """Write a checkpoint that names the files as they are, and these best weights."""
    (folder / "state").mkdir(exist_ok=True)
    records = (folder / "records.jsonl").read_bytes()
    beside = Beside(
        config=files.read_json(folder / "config.json"),
        environment={"threads": 1},
        records=Records(bytes=len(records), sha256=hashlib.sha256(records).hexdigest()),
        model=hashlib.sha256(weights).hexdigest(),
    )
    (folder / "state/000000001-00001.safetensors").write_bytes(tensors)
    described = Checkpoint(cursor={"step": 1}, sha256=hashlib.sha256(tensors).hexdigest(), beside=beside)
    integrity.write_hashed(folder / "state/000000001-00001.json", described.model_dump(mode="json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run with a checkpoint."""
    with runs.opened("train", Toy(), Flags(runs=str(tmp_path), name="a")) as (run, _):
        run.keep(Note(text="hello"))
        run.write("model.safetensors", b"weights")
        describe(run.folder, b"weights")
        run.keep(Result())
        run.seal({"threads": 1})
    return run.folder


def test_a_whole_folder_has_no_faults(folder: Path) -> None:
    assert integrity.check(folder) == []


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def fill_with_json(text: str) -> Callable[[Path], None]:
    def fill(path: Path) -> None:
        path.unlink()
        path.write_text(text)

    return fill


def link(path: Path) -> None:
    outside = path.parent.parent / "outside"
    outside.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside)


DAMAGES = {
    "flipped": flip,
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "null": fill_with_json("null"),
    "list": fill_with_json("[]"),
    "object": fill_with_json("{}"),
    "link": link,
}
FILES = ["config.json", "records.jsonl", "result.json", "manifest.json", "model.safetensors"]
FILES += ["state/000000001-00001.json", "state/000000001-00001.safetensors"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_every_damage_to_every_file_is_named(folder: Path, name: str, damage: str) -> None:
    DAMAGES[damage](folder / name)
    faults = integrity.check(folder)
    if (name, damage) == ("manifest.json", "object"):
        return  # the manifest of an older run that has no files: the checkpoint covers what there is
    assert any(name in fault for fault in faults), faults


@pytest.mark.parametrize("damage", ["flipped", "emptied", "link"])
def test_without_a_manifest_the_checkpoint_tells_damage(folder: Path, damage: str) -> None:
    (folder / "manifest.json").unlink()
    for name in ("records.jsonl", "model.safetensors"):
        DAMAGES[damage](folder / name)
        assert any(name in fault for fault in integrity.check(folder))
    with pytest.raises(UserError, match="model.safetensors"):
        integrity.verify(folder, "model.safetensors")


def test_a_name_that_leaves_the_folder_is_a_fault(folder: Path) -> None:
    manifest = integrity.read_manifest(folder)
    assert manifest is not None
    integrity.write_manifest(folder, manifest.model_copy(update={"files": {"../outside": "0"}}))
    assert any("is not a name of a file" in fault for fault in integrity.check(folder))


def test_other_settings_than_those_of_the_checkpoint_are_refused(tmp_path: Path, folder: Path) -> None:
    (folder / "manifest.json").unlink()
    files.write_json(folder / "config.json", {"lr": 0.5})
    with (
        pytest.raises(UserError, match=r"config.json: lr is 0.5, was 0.1"),
        runs.opened("train", Toy(), Flags(runs=str(tmp_path), resume="a")),
    ):
        pass


def test_a_damaged_manifest_is_written_again_from_the_checkpoint_or_refused(
    tmp_path: Path, folder: Path
) -> None:
    flip(folder / "manifest.json")
    with runs.opened("train", Toy(), Flags(runs=str(tmp_path), resume="a")) as (run, _):
        assert "written again" in run.repairs[0]
    manifest = integrity.read_manifest(folder)
    assert manifest is not None
    assert manifest.environment == {"threads": 1}
    flip(folder / "manifest.json")
    (folder / "state/000000001-00001.json").unlink()
    with (
        pytest.raises(UserError, match="manifest.json"),
        runs.opened("train", Toy(), Flags(runs=str(tmp_path), resume="a")),
    ):
        pass


def test_a_finished_run_that_changes_is_not_called_damaged(tmp_path: Path, folder: Path) -> None:
    with runs.opened("train", Toy(), Flags(runs=str(tmp_path), resume="a")) as (run, _):
        run.keep(Note(text="more"))
        describe(run.folder, b"new weights")
        run.write("model.safetensors", b"new weights")
    assert integrity.check(folder) == []
    assert integrity.verify(folder, "model.safetensors").read_bytes() == b"new weights"
    flip(folder / "result.json")  # it has not changed, so the manifest still knows it
    assert any("result.json" in fault for fault in integrity.check(folder))


def test_a_folder_of_an_older_version_has_no_faults(folder: Path) -> None:
    manifest = files.read_json(folder / "manifest.json")
    manifest["files"].pop("records.jsonl")
    files.write_json(folder / "manifest.json", {key: manifest[key] for key in ("files", "environment")})
    (folder / "records.jsonl").write_text('{"kind": "note", "text": "hello"}\n')
    path = folder / "state/000000001-00001.json"
    described = files.read_json(path)
    old = {key: described[key] for key in ("cursor", "sha256")}
    integrity.write_hashed(path, old)
    assert integrity.check(folder) == []


@pytest.mark.parametrize(("name", "key"), [("manifest.json", "self"), ("records.jsonl", "hash")])
def test_a_checksum_whose_name_is_damaged_is_a_fault(folder: Path, name: str, key: str) -> None:
    damaged = (folder / name).read_text().replace(f'"{key}"', f'"{key[:-1]}q"')
    (folder / name).write_text(damaged)
    assert any(f"{name}: " in fault and "the name of its" in fault for fault in integrity.check(folder))


def test_a_folder_in_place_of_the_manifest_is_refused_as_damage(tmp_path: Path, folder: Path) -> None:
    """A failed write would be taken for a full disk, and what is damaged is done anew in a search."""
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()
    with (
        pytest.raises(UserError, match="not a regular file"),
        runs.opened("train", Toy(), Flags(runs=str(tmp_path), resume="a")),
    ):
        pass


@pytest.mark.parametrize("error", [NotADirectoryError(20, "Not a directory"), PermissionError(13, "Denied")])
def test_checkpoints_that_cannot_be_listed_are_not_taken_for_none(
    tmp_path: Path, folder: Path, error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without checkpoints would begin anew and drop its records."""
    before = (folder / "records.jsonl").read_bytes()
    iterdir = Path.iterdir

    def failing(path: Path) -> Iterator[Path]:
        if path.name == "state":
            raise error
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", failing)
    with (
        pytest.raises(UserError, match=r"a/state: (not a directory|denied)"),
        runs.opened("train", Toy(), Flags(runs=str(tmp_path), resume="a")),
    ):
        pass
    assert (folder / "records.jsonl").read_bytes() == before
    assert any("state: " in fault for fault in integrity.check(folder))
