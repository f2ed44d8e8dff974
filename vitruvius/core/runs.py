"""Run folders: `runs/<verb>/<name>/` with config, records, result and manifest; one process at a time.

config.json     everything that was asked, defaults included
records.jsonl   what happened, append-only
result.json     the verb's last record
manifest.json   SHA-256 of each file, versions, threads
"""

import json
import os
import platform
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from vitruvius.core import files
from vitruvius.core.config import Config, Flags, RunConfig, changed
from vitruvius.core.errors import UserError, WorkFailed, reason, unknown
from vitruvius.core.records import Record, Result

C = TypeVar("C", bound=RunConfig)


class RunFolder:
    """An open run folder; hold it only inside `opened`."""

    def __init__(self, folder: Path, is_new: bool) -> None:
        self.folder = folder
        self.is_new = is_new

    def path(self, name: str) -> Path:
        """Return the path of a file of this run."""
        return self.folder / name

    def write_config(self, config: Config) -> None:
        """Record what is done, with every `auto` resolved."""
        files.write_json(self.path("config.json"), config.model_dump(mode="json"))

    def keep(self, record: Record) -> None:
        """Append a record to records.jsonl, or write result.json."""
        if isinstance(record, Result):
            files.write_json(self.path("result.json"), record.model_dump(mode="json"))
        elif record.is_kept:
            files.append_line(self.path("records.jsonl"), record.line())

    def records(self) -> list[dict[str, Any]]:
        """Read the records kept so far."""
        return files.read_lines(self.path("records.jsonl"))

    def rewrite(self, lines: list[dict[str, Any]]) -> None:
        """Replace all records in one atomic step."""
        files.write(self.path("records.jsonl"), "".join(json.dumps(line) + "\n" for line in lines))

    def seal(self, environment: dict[str, Any]) -> None:
        """Write manifest.json, the checksums of all files and the environment: the last write of a run."""
        hashes = files.folder_hashes(self.folder, skip=["manifest.json"])
        files.write_json(self.path("manifest.json"), {"files": hashes, "environment": environment})


@contextmanager
def opened(verb: str, config: C, flags: Flags) -> Iterator[tuple[RunFolder, C]]:
    """Open and lock a new run folder, or the one that `--resume` names.

    The config that is yielded is the one to follow: on resume the recorded one, with only `epochs` and
    `time_limit` taken from the new call.
    """
    if flags.resume is not None:
        folder = find(flags.resume, verb, flags.runs)
        if flags.name is not None and flags.name != folder.name:
            raise UserError(f"--resume {flags.resume} continues in its own folder: leave --name out")
    else:
        name = datetime.now().strftime("%Y-%m-%d-%H%M%S") if flags.name is None else flags.name
        _check_name(name)
        folder = Path(flags.runs) / verb / name
    is_new = flags.resume is None
    if is_new and (folder / "config.json").exists():
        raise UserError(
            f"the run {folder} exists: continue it with --resume {folder.name}, or choose another --name"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the run folder {folder}: {reason(error)}") from error
    with _locked(folder):
        run = RunFolder(folder, is_new)
        if not is_new:
            yield run, _resumed(folder, config)
            return
        run.write_config(config)
        try:
            yield run, config
        except UserError:
            _free_name(folder)
            raise


def find(text: str, verb: str | None = None, runs: str = "runs") -> Path:
    """Find the folder of a run by path or by name; with a verb, only among its runs."""
    if (Path(text) / "config.json").is_file():
        return Path(text)
    named = sorted(Path(runs).glob(f"{verb or '*'}/*/config.json"))
    by_name = {path.parent.name: path.parent for path in named}
    if text in by_name:
        return by_name[text]
    raise unknown(f"{verb} run" if verb else "run", text, by_name, f"looked in {runs}/{verb or '*'}/")


def verify(folder: Path, name: str) -> Path:
    """The path of a run's file after comparing it with the manifest; a damaged file is refused by name."""
    path = folder / name
    if not path.is_file():
        raise UserError(f"{folder}: has no {name}; is the run finished?")
    manifest = folder / "manifest.json"
    known = files.read_json(manifest)["files"] if manifest.is_file() else {}
    if name in known and files.sha256(path) != known[name]:
        fault = "its SHA-256 is not the one in manifest.json: the file is damaged or was changed"
        raise UserError(f"{path}: {fault}")
    return path


def environment(packages: tuple[str, ...] = ("torch", "numpy", "safetensors"), **more: Any) -> dict[str, Any]:
    """Return what a result depends on beside its config: versions and the machine."""
    from importlib import metadata

    versions = {name: metadata.version(name) for name in packages}
    found = {"vitruvius": metadata.version("vitruvius"), "python": platform.python_version(), **versions}
    return found | {"machine": platform.machine(), "system": platform.system(), **more}


def _resumed(folder: Path, asked: C) -> C:
    """Return the recorded config with the changeable fields that were given; refuse other changes by name."""
    recorded = asked.read_older(files.read_json(folder / "config.json"))
    defaults = type(asked)().model_dump(mode="json")
    wanted = asked.model_dump(mode="json", include=asked.model_fields_set)
    before = {key: recorded.get(key, defaults[key]) for key in wanted}
    refused = [key for key in changed(before, wanted) if key not in asked.changeable]
    if refused:
        pairs = ", ".join(f"{key} was {before[key]!r}, now {wanted[key]!r}" for key in refused)
        free = f"; only {', '.join(asked.changeable)} may differ" if asked.changeable else ""
        raise UserError(f"--resume {folder.name} cannot change {pairs}{free}")
    return type(asked)(**recorded | {key: wanted[key] for key in asked.changeable if key in wanted})


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
        lock = FileLock(folder / ".lock", timeout=0, thread_local=False).acquire()
    except Timeout:
        raise UserError(f"{folder} is in use by {_holder(holder)}") from None
    except OSError as error:
        raise UserError(f"cannot write into {folder}: {reason(error)}") from error
    with lock:
        try:
            holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        except OSError as error:
            raise WorkFailed(f"cannot write into {folder}: {reason(error)}") from error
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)


def _holder(path: Path) -> str:
    for _ in range(20):  # the process that has just got the lock may still be writing its name
        try:
            return "process {pid} on {host}".format(**json.loads(path.read_text()))
        except (OSError, ValueError):
            time.sleep(0.01)
    return "another process"
