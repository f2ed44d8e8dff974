"""The folder is the registry: members of a family by file name, read without importing them.

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


class Member(NamedTuple):
    """One file of a family."""

    family: str
    name: str
    path: Path
    summary: str  # the first line of the file's docstring


def members(family: str) -> dict[str, Member]:
    """The members of a family by name, in alphabetical order; no member is imported.

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
    """Import one member of a family by name, or say which names there are.

    >>> module("kernels", "sotfmax")
    Traceback (most recent call last):
    vitruvius.core.errors.UserError: no kernel 'sotfmax': did you mean 'softmax'?
    """
    known = members(family)
    if name not in known:
        raise unknown(singular(family), name, known)
    return importlib.import_module(f"vitruvius.{family.replace('/', '.')}.{name}")


def function(family: str, name: str) -> Any:
    """The function a member is named after, or the user's own from `path.py:name`."""
    if ".py:" in name:
        return _own(singular(family), name)
    if name.endswith(".py"):
        raise UserError(
            f"{singular(family)} '{name}': write which function of the file is meant, {name}:NAME"
        )
    try:
        return getattr(module(family, name), name)
    except UserError as error:
        raise UserError(
            f"{error} (or a file: ./mine.py:name)" if "choose" in str(error) else str(error)
        ) from None


def singular(family: str) -> str:
    """What one member of a family is called.

    >>> singular("proxies"), singular("kernels")
    ('proxy', 'kernel')
    """
    return family[:-3] + "y" if family.endswith("ies") else family.removesuffix("s")


def _own(kind: str, name: str) -> Any:
    """Load `name` from the user's file; a fault in that file is reported as the file's, with its line."""
    file, _, attribute = name.rpartition(":")
    loaded = _load_file(kind, Path(file).resolve())
    if not hasattr(loaded, attribute):
        public = [key for key, value in vars(loaded).items() if callable(value) and not key.startswith("_")]
        raise unknown(f"{kind} in {file} named", attribute, public)
    found = getattr(loaded, attribute)
    if not callable(found):
        raise UserError(f"{kind} '{name}': {attribute} is no function but {type(found).__name__}")
    return found


@cache
def _load_file(kind: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"{kind} file {path}: no such file")
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
    """The docstring of a source file as it stands there, read without importing it."""
    return ast.get_docstring(_head(source), clean=False) or ""


def constant(source: Path, name: str) -> Any:
    """The literal that a source file gives a name before its first function or class, read without importing it."""
    for statement in _head(source).body:
        if isinstance(statement, ast.Assign) and any(getattr(t, "id", "") == name for t in statement.targets):
            return ast.literal_eval(statement.value)
    return None


@cache
def _head(source: Path) -> ast.Module:
    """What stands before the first function or class: a listing parses 41 lessons in 4 ms so, whole in 90 ms."""
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
    """The runnable commands in a verb's docstring: the lines that begin with `vitruvius`."""
    lines = map(str.strip, docstring(source).splitlines())
    return [line for line in lines if line.startswith("vitruvius ")]
