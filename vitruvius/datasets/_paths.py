"""The folders in which the files of a data set are searched, and the error if they are not found.

With --data-dir only that folder is searched; else $VITRUVIUS_DATA, the folders where other programs store the
set, and the cache ($XDG_CACHE_HOME/vitruvius or ~/.cache/vitruvius), in this order.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from vitruvius.core import cache
from vitruvius.core.errors import UserError

Names = Sequence[str]


def offline() -> bool:
    """Whether downloads are forbidden: $VITRUVIUS_OFFLINE or $HF_HUB_OFFLINE is set to anything but 0."""
    return any(os.environ.get(name, "0") not in ("", "0") for name in ("VITRUVIUS_OFFLINE", "HF_HUB_OFFLINE"))


def expand_home(path: str) -> Path:
    """Replace a leading ~ by the user's home folder, if there is one."""
    return Path(os.path.expanduser(path))


def folders(name: str, subfolders: Names, known: Names = (), data_dir: str | None = None) -> list[Path]:
    """Return the folders in which a data set is searched, in order.

    A data folder may hold the files themselves; $VITRUVIUS_DATA holds many sets, so only its subfolders count
    there (the files of MNIST and Fashion-MNIST have the same names).
    """
    if data_dir is not None:
        root = expand_home(data_dir)
        return [*(root / sub for sub in subfolders), root]
    shared = os.environ.get("VITRUVIUS_DATA")
    asked = [expand_home(shared) / sub for sub in subfolders] if shared else []
    return [*asked, *(expand_home(folder) for folder in known), cache.folder(name)]


def find(folders: Sequence[Path], names: Sequence[Names]) -> list[Path] | None:
    """Return the files from the first folder that holds all of them; each may have several spellings."""
    for folder in folders:
        there = [[folder / name for name in options if os.path.isfile(folder / name)] for options in names]
        if all(there):
            return [found[0] for found in there]
    return None


def not_found(name: str, folders: Sequence[Path], names: Sequence[Names], hint: str) -> UserError:
    """Return the error for missing files: the folders searched, the files wanted, and a hint."""
    wanted, where = ", ".join(options[0] for options in names), ", ".join(map(str, folders))
    switch = " (downloads are switched off by VITRUVIUS_OFFLINE or HF_HUB_OFFLINE)" if offline() else ""
    put = f"put {wanted} into one of these folders"
    return UserError(f"dataset {name}: not found in {where}{switch}: {put}; {hint}")
