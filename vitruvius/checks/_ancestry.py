"""From which statements a value came, the nearest first: through loops, loaders, data sets and functions."""

import ast
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from vitruvius.checks._bindings import Function, binding_of, handed, is_library, names_in
from vitruvius.checks._source import Source, last_name

MOST = 60  # statements that are followed
HANDING_ON = (
    *("DataLoader", "random_split", "Subset", "ConcatDataset"),
    *("tqdm", "iter", "next", "list", "cycle"),
)
"""Calls whose first argument holds the same pairs as their result."""

PAIRS = ("TensorDataset", "zip")


class Made(NamedTuple):
    """A statement that a value came through."""

    statement: ast.stmt
    part: ast.expr  # of what it assigns, or iterates over, the part that became the value
    place: int | None  # which one of several values that this part gives
    user: "Made | None"  # the statement nearer to the value


def ancestry(source: Source, value: ast.expr, indices: bool = False) -> list[Made]:
    """The statements that made an expression; those that made the indices inside brackets only if asked."""
    found: dict[tuple[int, int, int | None], Made] = {}
    queue: deque[tuple[ast.expr, int | None, Made | None]] = deque([(value, None, None)])
    while queue and len(found) < MOST:
        part, place, user = queue.popleft()
        for name, at in _leaves(source, part, place, indices, ()):
            for made in _bindings(source, name, at, user):
                key = (id(made.statement), id(made.part), made.place)
                if key not in found:
                    found[key] = made
                    queue.append((made.part, made.place, made))
    return list(found.values())


Leaf = tuple[ast.Name | ast.Attribute, int | None]


def _leaves(
    source: Source, node: ast.AST, place: int | None, indices: bool, entered: tuple[str, ...]
) -> Iterator[Leaf]:
    """The variables and attributes of self that an expression is made from, and which of their values."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and not is_library(node):
            yield node, place
    elif isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node, place
        else:
            yield from _leaves(source, node.value, None, indices, entered)
    elif isinstance(node, ast.Tuple | ast.List) and place is not None and place < len(node.elts):
        yield from _leaves(source, node.elts[place], None, indices, entered)
    elif isinstance(node, ast.Subscript):
        number = node.slice.value if isinstance(node.slice, ast.Constant) else None
        yield from _leaves(source, node.value, number if isinstance(number, int) else place, indices, entered)
        if indices:
            yield from _leaves(source, node.slice, None, indices, entered)
    elif isinstance(node, ast.Call):
        yield from _of_call(source, node, place, indices, entered)
    elif not isinstance(node, ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _leaves(source, child, place, indices, entered)


def _of_call(
    source: Source, call: ast.Call, place: int | None, indices: bool, entered: tuple[str, ...]
) -> Iterator[Leaf]:
    name = last_name(call.func)
    returned = list(_returned(source, name)) if name not in entered else []
    if returned:
        for value in returned:
            yield from _leaves(source, value, place, indices, (*entered, name))
        return
    given = [*call.args, *(word.value for word in call.keywords)]
    if name in HANDING_ON and given:
        yield from _leaves(source, given[0], place, indices, entered)
        return
    if name in PAIRS and place is not None:
        plain = not any(isinstance(value, ast.Starred) for value in call.args)
        chosen, rest = (call.args[place : place + 1], None) if plain else (call.args[:1], place)
        for value in chosen:
            inner = value.value if isinstance(value, ast.Starred) else value
            yield from _leaves(source, inner, rest, indices, entered)
        return
    if isinstance(call.func, ast.Attribute) and not is_library(call.func.value):
        yield from _leaves(source, call.func.value, place, indices, entered)
    for value in given:
        yield from _leaves(source, value, None, indices, entered)


def _returned(source: Source, name: str) -> Iterator[ast.expr]:
    """What a function of the file returns or yields."""
    functions = [node for node in ast.walk(source.tree) if isinstance(node, Function) and node.name == name]
    for function in functions[:1]:
        for node in ast.walk(function):
            gives = isinstance(node, ast.Return | ast.Yield) and source.scope(node) is function
            if gives and isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                yield node.value


def _bindings(
    source: Source, name: ast.Name | ast.Attribute, place: int | None, user: Made | None
) -> Iterator[Made]:
    """The statement that binds a variable, or what a call hands to the function that it is a parameter of."""
    if isinstance(name, ast.Attribute):
        for node in ast.walk(source.tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if any(isinstance(t, ast.Attribute) and t.attr == name.attr for t in ast.walk(target)):
                    yield _assigned(node, target, name.attr, place, user)  # type: ignore[arg-type]
        return
    scope = source.scope(name)
    binding = binding_of(source, name, scope) or binding_of(source, name, source.tree)
    if isinstance(binding, ast.Assign):
        yield _assigned(binding, binding.targets[0], name.id, place, user)
    elif isinstance(binding, ast.AnnAssign) and binding.value is not None:
        yield Made(binding, binding.value, place, user)
    elif isinstance(binding, ast.For | ast.comprehension):
        target, value = binding.target, binding.iter
        if isinstance(value, ast.Call) and last_name(value.func) == "enumerate" and value.args:
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
            value = value.args[0]
        at = _place(target, name.id)
        yield Made(_statement(source, binding.iter), *_narrow(value, place if at is None else at), user)
    elif isinstance(scope, Function) and binding is None:
        given = handed(source, scope, name.id)
        if given is not None:
            yield Made(_statement(source, given), *_narrow(given, place), user)


def _statement(source: Source, node: ast.expr) -> ast.stmt:
    """The statement that an expression is part of."""
    return next(held for held in source.around(node) if isinstance(held, ast.stmt))


def _assigned(
    statement: ast.Assign, target: ast.expr, name: str, place: int | None, user: Made | None
) -> Made:
    at = _place(target, name)
    value = statement.value
    if at is not None and isinstance(value, ast.Tuple) and at < len(value.elts):
        return Made(statement, *_narrow(value.elts[at], place), user)
    return Made(statement, *_narrow(value, place if at is None else at), user)


def _narrow(value: ast.expr, place: int | None) -> tuple[ast.expr, int | None]:
    """The part of a value that one of several is: y in `zip(x, y)`."""
    paired = isinstance(value, ast.Call) and last_name(value.func) in PAIRS
    parts = value.args if paired and isinstance(value, ast.Call) else getattr(value, "elts", [])
    if place is None or place >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
        return value, place
    return parts[place], None


def _place(target: ast.expr, name: str) -> int | None:
    """At which place of a tuple of targets a name stands; None if it is no tuple."""
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    attributes = [{n.attr for n in ast.walk(part) if isinstance(n, ast.Attribute)} for part in target.elts]
    places = [at for at, part in enumerate(target.elts) if name in names_in(part) or name in attributes[at]]
    return places[0] if places else None
