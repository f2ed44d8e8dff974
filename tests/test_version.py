"""The version is written once: pyproject.toml and the newest entry of the changelog agree."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_version_equals_the_changelogs() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest[1] == version
