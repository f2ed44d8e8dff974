"""Handwritten digits, 60,000 + 10,000 of 28x28 pixels (LeCun, Cortes, Burges 1998); part of the package."""

from pathlib import Path

from vitruvius.datasets import Dataset, _idx, _paths

SHIPPED = Path(__file__).parent / "mnist_files"
KNOWN = _idx.Known(
    "mnist",
    tuple("0123456789"),
    (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    validation=5_000,
)


def mnist(*, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """MNIST, always the full set: 55,000 / 5,000 / 10,000 by position, so `seed` changes nothing.

    `validation=6000` keeps 54,000 for training, `validation=0` all 60,000.
    """
    folders = _paths.folders("mnist", ("MNIST/raw", "mnist"), data_dir=data_dir)
    if data_dir is None:
        folders.append(SHIPPED)
    names = [_idx.spellings(name) for name in _idx.FILES]
    paths = _paths.find(folders, names)
    if paths is None:
        hint = "without a data folder the copy in the package is read"
        raise _paths.not_found("mnist", folders, names, hint)
    return _idx.load(KNOWN, paths, validation)
