"""The winner as an ordinary run: its training is copied to runs/train/NAME, tested once and sealed."""

import shutil
from pathlib import Path

from vitruvius.core import files, runs
from vitruvius.core.config import Flags
from vitruvius.core.errors import WorkFailed, reason
from vitruvius.searching.prepare import Prepared
from vitruvius.searching.trials import Training, new_job
from vitruvius.training import classifier, device, session
from vitruvius.training.results import Result


def free_folder(root: Path, name: str) -> Path:
    """Return a folder of runs/train that no other run has."""
    for number in range(1, 10_000):
        folder = root / "train" / (name if number == 1 else f"{name}-{number}")
        if not folder.exists():
            return folder
    raise WorkFailed(f"{root / 'train'}: thousands of runs have the name {name}")


def keep(prepared: Prepared, training: Path, folder: Path, allow_inexact: bool) -> Result:
    """Copy a finished training into a folder of its own, read the test images once, write its report."""
    if not (folder / "config.json").is_file():
        _copy(training, folder)
    flags = Flags(resume=str(folder), runs=str(folder.parent.parent))
    with runs.opened("train", Training(), flags) as (run, config), device.threads(1):
        data = prepared.data
        job = new_job(config, data)
        environment = prepared.training_environment
        for _ in session.run_job(run, job, environment, allow_inexact):
            pass
        arch = job.model.arch
        inexact = environment.get("inexact", False)
        result = classifier.finish(run, config, data, arch, job, inexact=inexact)  # type: ignore[arg-type]
        run.seal(environment)
    return result


def _copy(training: Path, folder: Path) -> None:
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(training, part, ignore=shutil.ignore_patterns(".*"))
        for path in part.rglob("*"):
            if path.is_dir():
                files.sync_folder(path)
        part.rename(folder)
        files.sync_folder(folder.parent)
    except OSError as error:
        raise WorkFailed(f"could not copy the winner to {folder}: {reason(error)}") from error
