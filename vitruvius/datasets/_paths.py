"""The folders in which the files of a data set are searched, and the error if they are not found.

With --data-dir only that folder is searched; else $VITRUVIUS_DATA, the folders where other programs store the
set, and the cache ($XDG_CACHE_HOME/vitruvius or ~/.cache/vitruvius), in this order.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from vitruvius.core.errors import UserError


def offline() -> bool:
    """Whether downloads are forbidden: $VITRUVIUS_OFFLINE or $HF_HUB_OFFLINE is set to anything but 0."""
    return any(os.environ.get(name, "0") not in ("", "0") for name in ("VITRUVIUS_OFFLINE", "HF_HUB_OFFLINE"))


def expand_home(path: str) -> Path:
    """Replace a leading ~ by the user's home folder, if there is one."""
    return Path(os.path.expanduser(path))


def cache(name: str) -> Path:
    """Return the folder for the downloads of a data set."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expand_home(home) / "vitruvius" / name


def folders(
    name: str, subfolders: Sequence[str], known: Sequence[str] = (), data_dir: str | None = None
) -> list[Path]:
    """Return the folders in which a data set is searched, in order.

    A data folder may hold the files themselves; $VITRUVIUS_DATA holds many sets, so only its subfolders count
    there (the files of MNIST and Fashion-MNIST have the same names).
    """
    if data_dir is not None:
        root = expand_home(data_dir)
        return [*(root / sub for sub in subfolders), root]
    shared = os.environ.get("VITRUVIUS_DATA")
    asked = [expand_home(shared) / sub for sub in subfolders] if shared else []
    return [*asked, *(expand_home(folder) for folder in known), cache(name)]


def find(folders: Sequence[Path], names: Sequence[Sequence[str]]) -> list[Path] | None:
    """Return the files from the first folder that holds all of them; each may have several spellings."""
    for folder in folders:
        found = [
            next((folder / name for name in options if os.path.isfile(folder / name)), None)
            for options in names
        ]
        if None not in found:
            return [path for path in found if path is not None]
    return None


def not_found(name: str, folders: Sequence[Path], names: Sequence[Sequence[str]], hint: str) -> UserError:
    """Return the error for missing files: the folders searched, the files wanted, and a hint."""
    wanted = ", ".join(options[0] for options in names)
    where = ", ".join(map(str, folders))
    switch = " (downloads are switched off by VITRUVIUS_OFFLINE or HF_HUB_OFFLINE)" if offline() else ""
    return UserError(
        f"dataset {name}: not found in {where}{switch}: put {wanted} into one of these folders; {hint}"
    )
