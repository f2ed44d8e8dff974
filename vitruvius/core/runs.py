"""Run folders: `runs/<verb>/<name>/` with config, records, result and manifest; one process at a time.

config.json     everything that was asked, defaults included
records.jsonl   what happened, append-only; each line carries its hash
result.json     the verb's last record
manifest.json   SHA-256 of each file, versions, threads
"""

import hashlib
import os
import platform
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from vitruvius.core import files, integrity
from vitruvius.core.config import Flags, RunConfig, changed
from vitruvius.core.errors import InUse, UserError, WorkFailed, reason, unknown
from vitruvius.core.integrity import RECORDS, Manifest, Records
from vitruvius.core.integrity import check as check
from vitruvius.core.integrity import verify as verify
from vitruvius.core.records import Record, Result

C = TypeVar("C", bound=RunConfig)


class RunFolder:
    """An open run folder; hold it only inside `opened`."""

    def __init__(self, folder: Path, is_new: bool) -> None:
        self.folder = folder
        self.is_new = is_new
        self.settings: dict[str, Any] = {}  # the config without what may differ on resume
        self.repairs: list[str] = []  # what was repaired when the folder was opened
        self._records = (0, hashlib.sha256())  # length and hash of records.jsonl
        self._is_counted = False

    def path(self, name: str) -> Path:
        """Return the path of a file of this run."""
        return self.folder / name

    def write(self, name: str, content: bytes | str) -> None:
        """Replace a file of this run; a manifest that describes the old content forgets it first."""
        self._unseal(name)
        files.write(self.path(name), content)

    def write_config(self, config: RunConfig) -> None:
        """Record what is done, with every `auto` resolved."""
        fields = config.model_dump(mode="json")
        self.settings = {key: value for key, value in fields.items() if key not in config.changeable}
        path = self.path("config.json")
        if files.is_regular(path) and files.read_json(path) == fields:
            return
        self._unseal("config.json")
        files.write_json(path, fields)

    def keep(self, record: Record) -> None:
        """Append a record to records.jsonl, or write result.json."""
        if isinstance(record, Result):
            # The first file of the end of a run: what follows it is written anew too, except for the config.
            self._unseal()
            files.write_json(self.path("result.json"), record.model_dump(mode="json"))
        elif record.is_kept:
            self._unseal(RECORDS)
            line = files.append_line(self.path(RECORDS), record.line())
            if self._is_counted:
                length, digest = self._records
                digest.update(line)
                self._records = length + len(line), digest

    def records(self) -> list[dict[str, Any]]:
        """Read the records kept so far."""
        return files.read_lines(self.path(RECORDS))

    def intact_records(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Read the records; damaged lines are left out, on disk too, and returned as faults."""
        path, lines, faults = self.path(RECORDS), [], []
        content = files.read(path, files.LINES_LIMIT) if os.path.lexists(path) else b""
        for number, line in enumerate(content.split(b"\n")[:-1], 1):
            try:
                lines.append(files.parse_line(line, f"{path}: line {number}"))
            except UserError as error:
                faults.append(str(error))
        if faults or (content and not content.endswith(b"\n")):
            self.rewrite(lines)
        return lines, faults

    def kept(self) -> Records:
        """Return length and hash of records.jsonl: read once, then counted with every record that is kept."""
        if not self._is_counted:
            content = b""
            if os.path.lexists(self.path(RECORDS)):
                content = files.read(self.path(RECORDS), files.LINES_LIMIT)
            self._records, self._is_counted = (len(content), hashlib.sha256(content)), True
        length, digest = self._records
        return Records(bytes=length, sha256=digest.hexdigest())

    def cut(self, length: int) -> None:
        """Cut records.jsonl off behind so many bytes."""
        content = files.read(self.path(RECORDS), files.LINES_LIMIT) if length else b""
        self._replace_records(content[:length])

    def rewrite(self, lines: Iterable[dict[str, Any]]) -> None:
        """Replace all records in one atomic step."""
        self._replace_records(b"".join(map(files.hashed_line, lines)))

    def seal(self, environment: dict[str, Any]) -> None:
        """Write manifest.json, the checksums of all files and the environment: the last write of a run."""
        hashes = files.folder_hashes(self.folder, skip=["manifest.json"])
        integrity.write_manifest(self.folder, Manifest(files=hashes, environment=environment))

    def _replace_records(self, content: bytes) -> None:
        self.write(RECORDS, content)
        self._is_counted = False

    def _unseal(self, *names: str) -> None:
        """Take these files out of the manifest, or all but the config: they are about to change.

        Killed after that, a run that was finished before is not called damaged.
        """
        manifest = integrity.read_manifest(self.folder)
        if manifest is None:
            return
        gone = set(names or manifest.files.keys() - {"config.json"}) & manifest.files.keys()
        if gone:
            left = {name: known for name, known in manifest.files.items() if name not in gone}
            integrity.write_manifest(self.folder, manifest.model_copy(update={"files": left}))


@contextmanager
def opened(verb: str, config: C, flags: Flags) -> Iterator[tuple[RunFolder, C]]:
    """Open and lock a new run folder, or the one that `--resume` names.

    The config that is yielded is the one to follow: on resume the recorded one, with only `epochs` and
    `time_limit` taken from the new call.
    """
    is_new = flags.resume is None
    _refuse_unwritable(flags)
    folder = _new_folder(Path(flags.runs) / verb, flags.name) if is_new else _resumed_folder(verb, flags)
    with _locked(folder):
        _remove_parts(folder)
        run = RunFolder(folder, is_new)
        if not is_new:
            run.repairs = integrity.repair_manifest(folder)
            yield run, _resumed(folder, config)
            return
        _refuse_used(folder)
        run.write_config(config)
        try:
            yield run, config
        except UserError:
            _free_name(folder)
            raise


def find(text: str, verbs: str | tuple[str, ...] = "*", runs: str = "runs") -> Path:
    """Find the folder of a run by path or by name; of several verbs the first has precedence."""
    verbs = (verbs,) if isinstance(verbs, str) else verbs
    if files.is_regular(Path(text) / "config.json"):
        return Path(text)
    by_name: dict[str, Path] = {}
    for verb in reversed(verbs):
        by_name |= {
            path.parent.name: path.parent for path in sorted(Path(runs).glob(f"{verb}/*/config.json"))
        }
    if text in by_name:
        return by_name[text]
    for folder in (Path(text), *(Path(runs) / verb / text for verb in verbs)):
        if (folder / "manifest.json").exists() or (folder / "state").is_dir():
            raise UserError(f"{folder / 'config.json'}: is missing, so the run cannot be used")
    kind = f"{verbs[0]} run" if verbs != ("*",) and len(verbs) == 1 else "run"
    raise unknown(kind, text, by_name, f"looked in {' and '.join(f'{runs}/{verb}/' for verb in verbs)}")


def clear(folder: Path) -> None:
    """Empty a run folder, so that a new run can have it; refused while another process uses it."""
    with _locked(folder):
        try:
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path.name not in (".lock", ".holder"):
                    path.unlink()
        except OSError as error:
            raise UserError(f"{folder}: it cannot be cleared: {reason(error)}") from error


def recorded(folder: Path, config: type[C]) -> C:
    """Return the config that a run recorded."""
    return files.read_as(verify(folder, "config.json"), config)


def environment(packages: tuple[str, ...] = ("torch", "numpy", "safetensors"), **more: Any) -> dict[str, Any]:
    """Return what a result depends on beside its config: versions and the machine."""
    from importlib import metadata

    versions = {name: metadata.version(name) for name in packages}
    found = {"vitruvius": metadata.version("vitruvius"), "python": platform.python_version(), **versions}
    return found | {"machine": platform.machine(), "system": platform.system(), **more}


def _new_folder(parent: Path, name: str | None) -> Path:
    """Make the folder of a new run; unnamed runs that start in the same second are numbered."""
    try:
        if name is not None:
            _check_name(name)
            (parent / name).mkdir(parents=True, exist_ok=True)
            folder = parent / name
        else:
            folder = _unused_folder(parent, datetime.now().strftime("%Y-%m-%d-%H%M%S"))
        for changed_folder in (parent, parent.parent):
            files.sync_folder(changed_folder)
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot make the run folder {parent / (name or '')}: {why}") from error
    return folder


def _unused_folder(parent: Path, name: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise UserError(f"{parent}: thousands of runs have the name {name}")


def _resumed_folder(verb: str, flags: Flags) -> Path:
    folder = find(flags.resume or "", verb, flags.runs)
    if flags.name is not None and flags.name != folder.name:
        raise UserError(f"--resume {flags.resume} continues in its own folder: leave --name out")
    return folder


def refuse_used_name(verb: str, flags: Flags) -> None:
    """Refuse the name of another run at once, before data are read; `opened` asks again under the lock."""
    _refuse_unwritable(flags)
    if flags.name is not None and flags.resume is None:
        _refuse_run(Path(flags.runs) / verb / flags.name)


def _refuse_unwritable(flags: Flags) -> None:
    """Refuse a folder whose name is not UTF-8: the records, which name it, could not be written."""
    for option, text in (("--runs", flags.runs), ("--name", flags.name), ("--resume", flags.resume)):
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            raise UserError(
                f"{option} {text}: the names of runs are recorded as UTF-8, this is none"
            ) from None


def _refuse_run(folder: Path) -> None:
    if os.path.lexists(folder / "config.json"):
        raise UserError(
            f"the run {folder} exists: continue it with --resume {folder.name}, or choose another --name"
        )


def _refuse_used(folder: Path) -> None:
    """Refuse a folder for a new run that holds another run; called under the lock."""
    _refuse_run(folder)
    if used := sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")):
        raise UserError(f"{folder} has no config.json but holds {used[0]}: choose another --name")


def _remove_parts(folder: Path) -> None:
    """Remove what writes that were killed have left behind; nobody else writes while the lock is held."""
    for path in [*folder.glob(".*.part"), *folder.glob("state/.*.part")]:
        with suppress(OSError):
            path.unlink()


def _resumed(folder: Path, asked: C) -> C:
    """Return the recorded config with the changeable fields that were given; refuse other changes by name."""
    path = folder / "config.json"
    manifest = integrity.read_manifest(folder)
    if manifest is not None and manifest.hashed:
        verify(folder, path.name)
    fields, defaults = files.read_object(path, follow=False), type(asked)().model_dump(mode="json")
    for known in integrity.beside(folder):
        if fault := integrity.config_fault({**defaults, **fields}, known):
            raise UserError(f"{path}: {fault}")
    fields = asked.read_older(fields)
    wanted = asked.model_dump(mode="json", include=asked.model_fields_set)
    before = {key: fields.get(key, defaults[key]) for key in wanted}
    refused = [key for key in changed(before, wanted) if key not in asked.changeable]
    if refused:
        pairs = ", ".join(f"{key} was {before[key]!r}, now {wanted[key]!r}" for key in refused)
        free = f"; only {', '.join(asked.changeable)} may differ" if asked.changeable else ""
        raise UserError(f"--resume {folder.name} cannot change {pairs}{free}")
    free_fields = {key: wanted[key] for key in asked.changeable if key in wanted}
    return files.typed(path, type(asked), fields | free_fields)


def _free_name(folder: Path) -> None:
    """Remove the config of a run that was refused before it had done anything, so that its name is free."""
    if not any((folder / name).exists() for name in ("records.jsonl", "result.json", "state")):
        for name in ("manifest.json", "config.json"):
            (folder / name).unlink(missing_ok=True)


def _check_name(name: str) -> None:
    if name in ("", ".", "..") or "/" in name or name.startswith("-") or len(name) > 100:
        raise UserError(f"--name '{name}': a run's name is one folder name of at most 100 characters")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder or name the process that holds it; the system frees the lock of a killed process."""
    from filelock import FileLock, Timeout  # help and listings need no lock, and start sooner

    holder = folder / ".holder"  # a file of its own: Windows cannot read a locked one
    try:
        # A link would make the lock open, and empty, the file that it points to.
        os.close(files.open_regular(folder / ".lock", os.O_WRONLY | os.O_CREAT))
        lock = FileLock(folder / ".lock", timeout=0, thread_local=False).acquire()
    except Timeout:
        raise InUse(f"{folder} is in use by {_holder(holder)}") from None
    except OSError as error:
        raise UserError(f"cannot write into {folder}: {reason(error)}") from error
    with lock:
        try:
            files.write_json(holder, {"pid": os.getpid(), "host": platform.node()})
        except WorkFailed as error:
            raise WorkFailed(f"cannot write into {folder}: {error}") from error
        try:
            yield
        finally:
            with suppress(OSError):
                holder.unlink(missing_ok=True)


def _holder(path: Path) -> str:
    for _ in range(20):  # the process that has just got the lock may still be writing its name
        try:
            about = files.read_object(path, follow=False)
            return f"process {about['pid']} on {about['host']}"
        except (UserError, KeyError):
            time.sleep(0.01)
    return "another process"
