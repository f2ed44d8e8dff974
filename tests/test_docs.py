"""Documents say only what is so: every command in them is understood, every file they point to is there."""

import re
import shlex
from pathlib import Path

import pytest

from vitruvius.core import arguments as flags
from vitruvius.core import plugins
from vitruvius.core.errors import UserError

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINE = re.compile(r"^(?:.*-m )?(vitruvius [a-z].*?)(?:\s{2,}#.*)?$", re.M)
INLINE = re.compile(r"`(vitruvius [a-z][^`]*)`")


def commands() -> list[str]:
    """Every command in the documents and in the verbs' docstrings."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text()
        found += LINE.findall(text) + INLINE.findall(text)
    groups = [
        f"verbs/{path.name}"
        for path in (plugins.PACKAGE / "verbs").iterdir()
        if (path / "__init__.py").exists()
    ]
    for verb in (member for family in ("verbs", *groups) for member in plugins.members(family).values()):
        found += plugins.examples(verb.path)
    return sorted(set(found))


def understood(command: str) -> None:
    """Parse a command as the command line does, without running it."""
    words = [word for word in shlex.split(command)[1:] if word not in ("...", "…")]
    name, rest, family = words[0], words[1:], "verbs"
    if (plugins.PACKAGE / "verbs" / name).is_dir():
        family, name, rest = f"verbs/{name}", rest[0], rest[1:]
    if "--help" in rest or name == "COMMAND":
        return
    assert flags.parse(plugins.module(family, name), f"vitruvius {name}", rest) is not None


@pytest.mark.parametrize("command", commands())
def test_every_command_in_a_document_is_understood(command: str) -> None:
    understood(command)


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(UserError, match="did you mean '--epochs'"):
        understood("vitruvius train --epoch 3")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_point_to_files(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} points to {target}"


def test_every_verb_stands_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    for name in plugins.members("verbs"):
        assert f"vitruvius {name}" in text, name
