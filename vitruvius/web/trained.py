"""Trained networks for the viewer: those of finished runs, and the one that is part of the package."""

from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.exporting import source
from vitruvius.exporting.source import Source
from vitruvius.training.predictor import Predictor, scale_tensors
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Result
from vitruvius.web import weights
from vitruvius.web.weights import Viewable

SHIPPED = Path(__file__).parent / "static" / "networks" / "mnist-slim.safetensors"
FILE_LIMIT = 2**28
"""Bytes of the largest file of a network that is read."""
FIRST = ("data", "arch", "set")
"""Settings that a person reads first."""
HERE_ONLY = ("data_dir", "threads", "workers", "device", "precision", "compile", "checkpoint", "time_limit")
"""Settings that say where a training ran, not what it did."""


def shipped() -> Viewable:
    """Read the network that is part of the package; networks/README.md says how it was trained."""
    return weights.unpack(files.read(SHIPPED, FILE_LIMIT), SHIPPED.name)


def of_run(folder: Path) -> Viewable:
    """Load a finished training run, verified, with images of its data."""
    return of_source(source.load(folder))


def of_source(loaded: Source) -> Viewable:
    """Return a loaded run with images of its data."""
    named = loaded.classes[: len(loaded.data.classes)]
    model = Predictor(loaded.net, named, *scale_tensors(loaded.mean, loaded.std), loaded.data.fit)
    config = files.read_object(loaded.folder / "config.json", follow=False)
    return weights.viewable(
        model,
        loaded.data,
        name=loaded.folder.resolve().name,
        text=_sentence(loaded),
        command=command(config),
    )


def command(config: dict[str, Any]) -> str:
    """Return the command that trains like this; of paths the last part only, for the page may be mailed.

    >>> command({"data": "mnist", "arch": "mnist-slim", "epochs": 20, "set": ["depth=2"], "seed": 0})
    'vitruvius train --arch mnist-slim --set depth=2 --epochs 20'
    """
    fields, words = ClassifierSettings.model_fields, []
    for name in (*FIRST, *(name for name in fields if name not in FIRST)):
        value, default = config.get(name, fields[name].default), fields[name].default
        if name in HERE_ONLY or value is None or _listed(value) == _listed(default):
            continue
        said = "" if value is True else " " + " ".join(str(item).split("/")[-1] for item in _listed(value))
        words.append(f"--{name.replace('_', '-')}{said}")
    return " ".join(["vitruvius train", *words])


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _sentence(loaded: Source) -> str:
    """Say what the network was trained on and how good it is."""
    try:
        result = files.read_as(loaded.folder / "result.json", Result)
    except UserError:  # a run of an older version, or one that was stopped
        return f"trained on {loaded.data.name}."
    if result.test_accuracy is None:
        return f"trained on {loaded.data.name}; its test images were not read."
    count = f"{result.test_images:,} " if result.test_images else ""
    return f"trained on {loaded.data.name}, {result.test_accuracy:.2%} of {count}test images are right."
