"""Which picture files a person means by a file, a folder or a pattern."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from vitruvius.core import plugins
from vitruvius.core.errors import UserError

SUFFIXES: tuple[str, ...] = plugins.constant(plugins.PACKAGE / "datasets" / "_images.py", "SUFFIXES")


def are_named(word: str) -> bool:
    """Return whether a word names pictures: a file by its suffix, a pattern, or a folder."""
    folder = Path(word)
    return folder.suffix.lower() in SUFFIXES or glob.has_magic(word) or folder.is_dir()


def named_by(word: str) -> list[str]:
    """Return the pictures that a file, a folder (searched to its depth) or a pattern names, sorted."""
    if os.path.isdir(word):
        paths = (path for path in Path(word).rglob("*") if path.suffix.lower() in SUFFIXES)
        found = sorted(str(path) for path in paths if path.is_file())
    elif glob.has_magic(word) and not os.path.exists(word):
        found = sorted(name for name in glob.glob(word, recursive=True) if os.path.isfile(name))
    else:
        return [word]
    if not found:
        raise UserError(f"{word}: no pictures are there ({' '.join(SUFFIXES)})")
    return found


def stem(name: str, names: Sequence[str]) -> str:
    """Return a file name for an image's picture; images of the same name in several folders are numbered."""
    stem = Path(name).stem
    alike = [other for other in names if Path(other).stem == stem]
    return stem if len(alike) == 1 else f"{stem}-{alike.index(name) + 1}"
