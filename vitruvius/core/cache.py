"""The folder in which Vitruvius keeps what it can make or download again."""

import os
from pathlib import Path


def folder(name: str) -> Path:
    """Return the folder for one kind of files: $XDG_CACHE_HOME/vitruvius/NAME or ~/.cache/vitruvius/NAME."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(root)) / "vitruvius" / name
