"""Write the exported folder in one step: files, README, verification, manifest, then its name."""

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vitruvius.arch.arch import Arch
from vitruvius.arch.public_configs import refuse_inexpressible
from vitruvius.core import files, integrity, runs
from vitruvius.core.errors import UserError, WorkFailed, reason
from vitruvius.core.records import Progress
from vitruvius.exporting import onnx_file, program, report, results, verify, weights
from vitruvius.exporting.results import Result, Written
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source


class Format(NamedTuple):
    """How a format is written, and read back as a function of normalised images."""

    write: Callable[[Path, Source, ExportSettings], None]
    read: Callable[[Path, ExportSettings], Callable[[Tensor], Tensor]]
    packages: tuple[str, ...] = ("torch", "numpy", "safetensors")


FORMATS = {
    "onnx": Format(onnx_file.write, onnx_file.read, ("torch", "numpy", *onnx_file.PACKAGES)),
    "torch": Format(program.write, program.read),
    **dict.fromkeys(("transformers", "timm", "safetensors"), Format(weights.write, weights.read)),
}
DROPOUT = (
    "dropout is not applied by transformers between the two maps of the MLP: scores are the same, "
    "further training differs"
)


def target(settings: ExportSettings, run: Path) -> Path:
    """Return the folder or page to be written; refuse one that exists."""
    suffix = "" if settings.precision == "float32" else f"-{settings.precision}"
    is_page = settings.format == "page"
    suffix += ".html" if is_page else ""
    out = Path(settings.out or Path("exports", f"{run.resolve().name}-{settings.format}{suffix}"))
    if is_page and out.suffix not in (".html", ".htm"):
        raise UserError(f"--out {out}: a page is a file whose name ends in .html")
    if out.exists() or out.is_symlink():
        raise UserError(f"--out {out}: it exists; choose a new {'file' if is_page else 'folder'}")
    return out


def refuse_early(settings: ExportSettings, arch: Arch) -> None:
    """Refuse what can be known to fail before data are read."""
    if settings.format == "onnx":
        onnx_file.refuse_missing("--format onnx")
        onnx_file.refuse_large(settings, arch)
    if settings.format in ("transformers", "timm"):
        refuse_inexpressible(arch, settings.format)


def write(source: Source, settings: ExportSettings, out: Path) -> Generator[Progress, None, Result]:
    """Write a run in a format, run what was written, and record both in manifest.json."""
    chosen, arch = FORMATS[settings.format], source.net.arch
    with new_folder(out) as part:
        chosen.write(part, source, settings)
        found = yield from verify.compare(source, chosen.read(part, settings), settings)
        failures = results.failures(settings.precision, found)
        files.write(part / "README.md", report.card(source, settings, found))
        hashes = files.folder_hashes(part)
        environment = runs.environment(chosen.packages, threads=torch.get_num_threads())
        manifest: dict[str, Any] = {"files": hashes, "environment": environment}
        manifest |= {"run": source.folder.name, "weights": files.sha256(source.folder / "model.safetensors")}
        manifest |= {"format": settings.format, "precision": settings.precision, "batch": settings.batch}
        manifest |= {"verification": found.model_dump(mode="json"), "failures": list(failures)}
        integrity.write_hashed(part / "manifest.json", manifest)
        sizes = {name: (part / name).stat().st_size for name in hashes}
    other = report.difference(settings, source)
    notes = (*source.notes, *((other,) if other else ()))
    notes = (*notes, DROPOUT) if settings.format == "transformers" and arch.dropout else notes
    return Result(
        model=str(source.folder),
        format=settings.format,
        precision=settings.precision,
        batch=settings.fixed_batch,
        out=str(out),
        files=tuple(Written(name=name, size=sizes[name], sha256=hashes[name]) for name in hashes),
        verification=found,
        notes=notes,
        failures=failures,
    )


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Fill a folder under a hidden name and give it its own at the end; after a failure nothing is left."""
    part, has_parent = out.with_name(f".{out.name}.{os.getpid()}.part"), out.parent.exists()
    try:
        part.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"--out {out}: cannot make the folder: {reason(error)}") from error
    try:
        yield part
        for path in part.iterdir():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
        if out.exists():
            raise UserError(f"--out {out}: another process has made it meanwhile")
        os.rename(part, out)
    except OSError as error:
        raise WorkFailed(f"could not write {out}: {reason(error)}; nothing is left of it") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if not has_parent:
            with suppress(OSError):  # it holds what was written
                out.parent.rmdir()
