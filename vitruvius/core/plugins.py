"""Families of plug-ins: the members of a folder by file name, listed without importing them.

A family is a folder of the package (`kernels`, `proxies`, ...); a member is a file in it, `proxies/snip.py`,
that holds what it is named after. A user's own member is named by file: `./mine.py:size`.
"""

import ast
import importlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from vitruvius.core.errors import UserError, reason, unknown

PACKAGE = Path(__file__).parent.parent
LARGEST_SOURCE = 16 * 2**20
"""Bytes of a user's source file that are read at most."""


class Member(NamedTuple):
    """One file of a family."""

    family: str
    name: str
    path: Path
    summary: str  # the first line of the file's docstring


def members(family: str) -> dict[str, Member]:
    """List the members of a family in alphabetical order without importing them.

    >>> "softmax" in members("kernels")
    True
    """
    found = {}
    for path in sorted((PACKAGE / family).iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix == ".py" and source.is_file() and not path.name.startswith("_"):
            found[path.stem] = Member(family, path.stem, source, docstring(source).partition("\n")[0])
    return found


def module(family: str, name: str) -> ModuleType:
    """Import a member of a family; an unknown name is refused with the nearest one.

    >>> module("kernels", "sotfmax")
    Traceback (most recent call last):
    vitruvius.core.errors.UserError: no kernel 'sotfmax': did you mean 'softmax'?
    """
    path = f"vitruvius.{family.replace('/', '.')}.{name}"
    imported = path in sys.modules and not name.startswith("_")  # rank asks once for every score
    if not imported and name not in (known := members(family)):
        raise unknown(singular(family), name, known)
    return importlib.import_module(path)


def function(family: str, name: str) -> Any:
    """Return the function that a member is named after, or a user's own from `path.py:name`."""
    kind = singular(family)
    if ".py:" in name:
        return _own(kind, name)
    if name.endswith(".py"):
        raise UserError(f"{kind} '{name}': write which function of the file is meant, {name}:NAME")
    try:
        return getattr(module(family, name), name)
    except UserError as error:
        hint = " (or a file: ./mine.py:name)" if "choose" in str(error) else ""
        raise UserError(f"{error}{hint}") from None


def singular(family: str) -> str:
    """Return the word for one member of a family.

    >>> singular("proxies"), singular("kernels")
    ('proxy', 'kernel')
    """
    return family[:-3] + "y" if family.endswith("ies") else family.removesuffix("s")


def _own(kind: str, name: str) -> Any:
    """Load a function from a user's file; an error in that file is reported with its name."""
    file, _, attribute = name.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file():
        raise UserError(f"{kind} file {path}: no such file")
    if (size := path.stat().st_size) > LARGEST_SOURCE:
        raise UserError(f"{kind} file {path}: at most {LARGEST_SOURCE:,} bytes are read, it has {size:,}")
    loaded = _load_file(kind, path, path.stat().st_mtime_ns)
    if not hasattr(loaded, attribute):
        public = [key for key, value in vars(loaded).items() if callable(value) and not key.startswith("_")]
        raise unknown(f"{kind} in {file} named", attribute, public)
    found = getattr(loaded, attribute)
    if not callable(found):
        raise UserError(f"{kind} '{name}': {attribute} is no function but {type(found).__name__}")
    return found


@cache
def _load_file(kind: str, path: Path, modified: int) -> ModuleType:
    """Execute a user's file once, and again when it was edited since: a notebook edits and ranks again."""
    spec = importlib.util.spec_from_file_location(f"vitruvius_own_{path.stem}", path)
    assert spec is not None  # a .py file always has a loader
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded  # dataclasses and pydantic look their module up
    try:
        spec.loader.exec_module(loaded)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise UserError(f"{kind} file {path} could not be loaded: {type(error).__name__}: {error}") from error
    return loaded


def docstring(source: Path) -> str:
    """Read the docstring of a source file without importing it."""
    return ast.get_docstring(_head(source), clean=False) or ""


def constant(source: Path, name: str) -> Any:
    """Read the literal that a source file assigns to a name before its first function or class."""
    for statement in _head(source).body:
        if isinstance(statement, ast.Assign) and any(getattr(t, "id", "") == name for t in statement.targets):
            return ast.literal_eval(statement.value)
    return None


@cache
def _head(source: Path) -> ast.Module:
    """Parse a file up to its first function or class: 4 ms for 41 lessons, where whole files take 90 ms."""
    try:
        text = source.read_bytes()
    except OSError as error:
        raise UserError(f"{source}: {reason(error)}") from error
    first = re.search(rb"^(?:def|async def|class|@)", text, re.MULTILINE)
    try:
        return ast.parse(text[: first.start()] if first else text)
    except SyntaxError:  # the word began a line of the docstring, or the file is broken
        pass
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{source}: not Python: {error}") from error


def examples(source: Path) -> list[str]:
    """Return the runnable commands in a verb's docstring: the lines that begin with `vitruvius`."""
    lines = map(str.strip, docstring(source).splitlines())
    return [line for line in lines if line.startswith("vitruvius ")]
