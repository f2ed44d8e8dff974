"""The help of an option is the docstring of its field."""

from importlib import import_module
from typing import ClassVar

import pytest

from vitruvius.cli import _verbs
from vitruvius.core.config import Config, Part
from vitruvius.core.options import options


class Size(Part):
    group: ClassVar[str] = "network"
    depth: int = 2
    """How many blocks;
    each has a residual connection."""
    width: int = 8
    """How many numbers a token has."""


class Verb(Size, Config):
    depth: int = 4  # another default, the same help
    width: int = 16
    """How many numbers one token has."""
    bare: bool = False


def test_the_nearest_docstring_is_the_help_and_the_first_class_has_the_group() -> None:
    found = {option.field: (option.group, option.help, option.default) for option in options(Verb)}
    assert found["depth"] == ("network", "How many blocks; each has a residual connection.", 4)
    assert found["width"] == ("network", "How many numbers one token has.", 16)
    assert found["bare"] == ("options", "", False)
    assert found["json"] == ("run", "Print the result as one JSON document.", False)


@pytest.mark.parametrize("label", _verbs())
def test_every_option_has_help(label: str) -> None:
    verb = import_module(f"vitruvius.verbs.{label.replace(' ', '.')}")
    assert [option.name for option in options(verb.Config) if not option.help] == []
