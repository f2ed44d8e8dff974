"""The options of a verb: the fields of its Config and the Flags that it takes, described for people."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from vitruvius.core.config import Config, Flags, Part


class Option(NamedTuple):
    """A field of a Config or of Flags as it is given by a person."""

    field: str
    group: str
    kind: Any
    default: Any
    marks: list[Any]
    parts: tuple[type[Part], ...] = ()
    """The classes that declare the field, the nearest first; none for a field of Flags."""

    @property
    def help(self) -> str:
        """The nearest docstring of the field, read from the source only where help is shown."""
        if not self.parts:
            return str(get_args(Flags.__annotations__[self.field])[1])
        texts = (_docstrings(part.__module__, part.__name__).get(self.field, "") for part in self.parts)
        return " ".join(next(filter(None, texts), "").split())

    @property
    def name(self) -> str:
        """How it is written: `--data-dir`; `--no-x` for a switch that is on by default."""
        return f"--{'no-' * (self.default is True)}{self.field.replace('_', '-')}"

    @property
    def is_positional(self) -> bool:
        """Whether it is given without its name."""
        return "positional" in self.marks or self.is_rest

    @property
    def is_rest(self) -> bool:
        """Whether it takes all words after the first positional one."""
        return "rest" in self.marks

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.kind) is tuple

    @property
    def metavar(self) -> str:
        """What stands for its value in help."""
        return _metavar(get_args(self.kind)[0] if self.is_list else self.kind)


FIRST, LAST = (Part.group, "data", "network"), ("recipe", "augmentation", "computing", "run")
"""The order of the groups in help; those of one verb stand between."""


def options(config_type: type[Config]) -> list[Option]:
    """List the fields of a Config and the Flags that it takes, group by group."""
    found = [_option(config_type, name) for name in config_type.model_fields]
    for name in config_type.takes:
        kind = get_args(Flags.__annotations__[name])[0]
        found.append(Option(name, "run", kind, getattr(Flags, name), []))
    own = dict.fromkeys(option.group for option in found if option.group not in FIRST + LAST)
    return sorted(found, key=lambda option: [*FIRST, *own, *LAST].index(option.group))


def _option(model: type[Part], name: str) -> Option:
    """Describe a field; the class that declares it first has its group."""
    parts = tuple(part for part in model.__mro__ if issubclass(part, Part) and name in part.model_fields)
    info, group = model.model_fields[name], vars(parts[-1]).get("group", Part.group)
    return Option(name, group, info.annotation, info.default, info.metadata, parts)


def _docstrings(module: str, class_name: str) -> dict[str, str]:
    """Return the docstrings of a class's fields, by field."""
    file = sys.modules[module].__file__
    assert file is not None  # a Config is declared in a file
    return _docstrings_of_file(Path(file)).get(class_name, {})


@cache
def _docstrings_of_file(source: Path) -> dict[str, dict[str, str]]:
    """Parse a file once: pydantic's own `use_attribute_docstrings` parses it again for every class."""
    classes = [node for node in ast.parse(source.read_bytes()).body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_documented(node)) for node in classes}


def _documented(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the annotated fields of a class that a string follows, with that string."""
    for field, text in pairwise(node.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name, said


def _metavar(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _metavar(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return "|".join(dict.fromkeys(_metavar(part) for part in get_args(kind) if part is not NoneType))
    return {int: "N", float: "X", str: "TEXT"}.get(kind, "VALUE")
