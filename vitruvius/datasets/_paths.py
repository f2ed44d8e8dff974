"""Where the files of a data set are looked for, and what to say when they are not there.

The order: the data folder that was asked for, and then nothing else; else $VITRUVIUS_DATA, the places where other
programmes put the set, the cache ($XDG_CACHE_HOME/vitruvius or ~/.cache/vitruvius).
"""

import os
from collections.abc import Sequence
from pathlib import Path

from vitruvius.core.errors import UserError


def offline() -> bool:
    """Whether the user forbids the network: $VITRUVIUS_OFFLINE or $HF_HUB_OFFLINE is set to anything but 0."""
    return any(os.environ.get(name, "0") not in ("", "0") for name in ("VITRUVIUS_OFFLINE", "HF_HUB_OFFLINE"))


def expand_home(path: str) -> Path:
    """The path with a leading ~ replaced by the user's folder, if there is one."""
    return Path(os.path.expanduser(path))


def cache(name: str) -> Path:
    """The folder in which downloads of a set are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expand_home(home) / "vitruvius" / name


def folders(
    name: str, subfolders: Sequence[str], known: Sequence[str] = (), data_dir: str | None = None
) -> list[Path]:
    """The folders in which a set is looked for, first one first.

    A data folder may hold the files themselves; $VITRUVIUS_DATA holds many sets, so only its subfolders count there
    (the files of MNIST and Fashion-MNIST have the same names).
    """
    if data_dir is not None:
        root = expand_home(data_dir)
        return [*(root / sub for sub in subfolders), root]
    shared = os.environ.get("VITRUVIUS_DATA")
    asked = [expand_home(shared) / sub for sub in subfolders] if shared else []
    return [*asked, *(expand_home(place) for place in known), cache(name)]


def find(folders: Sequence[Path], names: Sequence[Sequence[str]]) -> list[Path] | None:
    """The files in the first folder that holds all of them; each has several spellings, the first found is taken."""
    for folder in folders:
        found = [
            next((folder / name for name in options if os.path.isfile(folder / name)), None)
            for options in names
        ]
        if None not in found:
            return [path for path in found if path is not None]
    return None


def not_found(name: str, folders: Sequence[Path], names: Sequence[Sequence[str]], hint: str) -> UserError:
    """The one sentence for files that are nowhere: the set, where was looked, what to put there, what helps."""
    wanted = ", ".join(options[0] for options in names)
    where = ", ".join(map(str, folders))
    switch = " (downloads are switched off by VITRUVIUS_OFFLINE or HF_HUB_OFFLINE)" if offline() else ""
    return UserError(
        f"dataset {name}: not found in {where}{switch}: put {wanted} into one of these folders; {hint}"
    )
