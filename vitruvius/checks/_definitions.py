"""Where the data that a line uses were made: names are followed through loops, loaders and calls to the line
that a person would change."""

import ast
from collections.abc import Iterator

from vitruvius.checks._bindings import (
    Function,
    binding_of,
    handed,
    is_inside,
    is_library,
    names_in,
    place_of,
    statement_at,
    value_given,
)
from vitruvius.checks._source import Source, calls, last_name, read, stored
from vitruvius.checks._words import TEST

WRAPPERS = (
    *("DataLoader", "TensorDataset", "Subset", "enumerate", "zip", "iter", "next", "tqdm", "cycle", "list"),
    *("len", "range", "float", "to", "cuda", "squeeze", "unsqueeze", "view", "reshape", "flatten"),
)
"""Calls that hand on the data that they are given."""
DEEPEST = 8


def inputs_line(where: str, argument: int = 0) -> str:
    """`file:line` that made what a network is given at a line (or what its output is compared with: 1).

    Empty if the names lead nowhere.
    """
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return ""
    called = [call for call in calls(node) if len(call.args) > argument]
    # The outermost call with two arguments is the loss, the innermost with one is the network.
    wanted = called if argument else list(reversed(called))
    for call in wanted:
        name = _first_name(call.args[argument])
        if name is not None:
            return place_of(source, _definition(source, name, DEEPEST, through=True))
    return ""


def held_out_line(where: str) -> str:
    """`file:line` that made the data of an evaluation at a line: the name that speaks of a test."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return ""
    for name in held_out_names(source, node):
        found = _definition(source, name, DEEPEST, through=False)
        if found is not None:
            return dataset_line(place_of(source, found))
    return inputs_line(where)


def dataset_line(built: str) -> str:
    """`file:line` that made the data set of the DataLoader that a line builds; the line itself otherwise."""
    source = read(built)
    node = statement_at(source, built)
    if node is None:
        return built
    for call in (call for call in calls(node) if last_name(call.func).endswith("DataLoader")):
        words = [word.value for word in call.keywords if word.arg == "dataset"]
        given = [*call.args[:1], *words]
        if given and isinstance(given[0], ast.Name):
            return place_of(source, _definition(source, given[0], DEEPEST, through=False)) or built
    return built


def _first_name(node: ast.AST) -> ast.Name | None:
    """The variable that an expression is about: x in `x[i].float()`; None for anything else."""
    while True:
        if isinstance(node, ast.Name):
            return node
        if isinstance(node, ast.Subscript | ast.Attribute | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        else:
            return None


def held_out_names(source: Source, node: ast.stmt) -> Iterator[ast.Name]:
    """The names of a statement, or of the loops around it, or handed to its function, that mean a test."""
    loops = [held.iter for held in source.around(node) if isinstance(held, ast.For)]
    for part in (node, *loops):
        # The innermost first: in loss(net(x_val), y_val) that is what the network is given.
        names = [name for name in reversed(list(ast.walk(part))) if isinstance(name, ast.Name)]
        yield from (name for name in names if TEST.search(name.id) and isinstance(name.ctx, ast.Load))
    scope = source.scope(node)
    if isinstance(scope, Function):
        for call in calls(source.tree, scope.name):
            given = [_first_name(value) for value in (*call.args, *(word.value for word in call.keywords))]
            yield from (name for name in given if name is not None and TEST.search(name.id))


def _definition(source: Source, name: ast.Name, depth: int, through: bool) -> ast.stmt | None:
    """The statement that made a variable; `through` goes on behind loaders and loops."""
    scope = source.scope(name)
    for place in dict.fromkeys((scope, source.tree)):
        binding = binding_of(source, name, place)
        if binding is not None:
            return _made_by(source, binding, name, depth, through)
    if isinstance(scope, Function) and depth:
        given = handed(source, scope, name.id)
        variable = _first_name(given) if given is not None else None
        return _definition(source, variable, depth - 1, through) if variable is not None else None
    return None


def _made_by(
    source: Source, binding: ast.stmt | ast.comprehension, name: ast.Name, depth: int, through: bool
) -> ast.stmt | None:
    value = (
        binding.iter if isinstance(binding, ast.For | ast.comprehension) else value_given(binding, name.id)
    )
    loops = isinstance(binding, ast.For | ast.comprehension)
    behind = _behind(source, value, name.id, binding) if value is not None and (through or loops) else None
    if behind is not None and depth and not (behind.id == name.id and not loops):
        found = _definition(source, behind, depth - 1, through)
        if found is not None:
            return found
    return binding if isinstance(binding, ast.stmt) else None


def _behind(
    source: Source, value: ast.expr, name: str, binding: ast.stmt | ast.comprehension
) -> ast.Name | None:
    """The variable that a loop, a loader or a network hands on; None if this is where the data are made."""
    if isinstance(value, ast.Name):
        return value
    if isinstance(value, ast.Subscript | ast.Attribute) and isinstance(value.value, ast.Call):
        return _behind(source, value.value, name, binding)
    called = value.func if isinstance(value, ast.Call) else None
    method = isinstance(called, ast.Attribute) and not is_library(called.value)
    if method and isinstance(value, ast.Call) and (not value.args or last_name(value.func) in WRAPPERS):
        return _behind(source, value.func.value, name, binding)  # type: ignore[attr-defined]
    if not isinstance(value, ast.Call) or not value.args:
        return None
    position = 0
    target = getattr(binding, "target", None)
    if last_name(value.func) == "zip" and isinstance(target, ast.Tuple):
        places = [place for place, part in enumerate(target.elts) if name in names_in(part)]
        position = min(places[0], len(value.args) - 1) if places else 0
    given = value.args[position]
    if last_name(value.func) in WRAPPERS:
        return _first_name(given) or _behind(source, given, name, binding)
    return _first_name(given) if _is_network(source, value.func) else None


def _is_network(source: Source, called: ast.expr) -> bool:
    """Whether a variable or an attribute of self is called, no function of a library or of the file."""
    functions = {node.name for node in ast.walk(source.tree) if isinstance(node, Function | ast.ClassDef)}
    if isinstance(called, ast.Attribute):
        return (
            isinstance(called.value, ast.Name) and called.value.id == "self" and called.attr not in functions
        )
    arguments = {node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg)}
    known = stored([source.tree]) | arguments
    return isinstance(called, ast.Name) and called.id in known - functions


def selected_by_labels(where: str) -> Iterator[tuple[str, str]]:
    """`file:line` where columns are chosen by means of labels that are split later, and the labels' name.

    A selection is `x[:, best]` where `best` comes from the labels as a whole: before the line, no part of
    them was taken on the way.
    """
    source = read(where)
    made = [node for node in ast.walk(source.tree) if isinstance(node, ast.Assign)]
    labels = _split_names(source)
    for node in made:
        for chosen in (part for part in ast.walk(node.value) if isinstance(part, ast.Subscript)):
            index = chosen.slice.elts if isinstance(chosen.slice, ast.Tuple) else []
            picks = index[1] if len(index) == 2 and isinstance(index[0], ast.Slice) else None
            if isinstance(picks, ast.Name) and _is_whole(index[0]):
                used = _whole_sources(source, picks, DEEPEST)
                for name in sorted(used & labels):
                    yield f"{source.file}:{node.lineno}", name


def _is_whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is None and part.upper is None


def _split_names(source: Source) -> set[str]:
    """Names of which different parts are taken: `y[train]` and `y[test]`, or that are split by a function."""
    parts: dict[str, set[str]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            index = source.text(node.slice)
            if index not in (":", "...") and not index.startswith(":,"):
                parts.setdefault(node.value.id, set()).add(index)
        if isinstance(node, ast.Call) and last_name(node.func) in ("train_test_split", "TensorDataset"):
            for given in node.args:
                if isinstance(given, ast.Name):
                    parts.setdefault(given.id, set()).update(("train", "test"))
    return {name for name, found in parts.items() if len(found) > 1}


def _whole_sources(source: Source, name: ast.Name, depth: int) -> set[str]:
    """The names that a variable is computed from, as far as no part of them is taken."""
    binding = binding_of(source, name, source.scope(name)) or binding_of(source, name, source.tree)
    value = value_given(binding, name.id) if isinstance(binding, ast.Assign) else None
    if value is None or not depth:
        return set()
    found: set[str] = set()
    for part in ast.walk(value):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id != name.id:
            holder = source.parents.get(part)
            if any(
                isinstance(held, ast.Subscript) and is_inside(held.slice, part)
                for held in source.around(part)
            ):
                continue  # it says which rows are taken
            index = source.text(holder.slice) if isinstance(holder, ast.Subscript) else ""
            cut = (
                isinstance(holder, ast.Subscript)
                and holder.value is part
                and index != ":"
                and not index.startswith((":,", "None", "..."))
            )
            if not cut:
                found |= {part.id} | _whole_sources(source, part, depth - 1)
    return found


def scaled_as_a_whole(where: str) -> str:
    """`file:line` where data are scaled by statistics of all their rows before they are split, or nothing."""
    source = read(where)
    divided = _split_names(source)
    for node in ast.walk(source.tree):
        names = (
            names_in(node.targets[0]) if isinstance(node, ast.Assign) and len(node.targets) == 1 else set()
        )
        if isinstance(node, ast.Assign) and names & divided and _is_scaled_whole(source, node):
            return f"{source.file}:{node.lineno}"
    return ""


def _is_scaled_whole(source: Source, node: ast.Assign) -> bool:
    value = node.value
    if isinstance(value, ast.Call) and last_name(value.func) == "fit_transform":
        return bool(value.args) and isinstance(value.args[0], ast.Name)
    if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)):
        return False
    left = value.left
    if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub) and isinstance(left.left, ast.Name)):
        return False
    return _is_statistic(source, left.right, left.left.id)


def _is_statistic(source: Source, node: ast.expr, data: str) -> bool:
    """Whether an expression is the mean (or minimum) of all rows of a variable, also through another name."""
    if isinstance(node, ast.Name):
        binding = binding_of(source, node, source.scope(node)) or binding_of(source, node, source.tree)
        value = value_given(binding, node.id) if isinstance(binding, ast.Assign) else None
        return value is not None and not isinstance(value, ast.Name) and _is_statistic(source, value, data)
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("mean", "min", "amin"):
                held = node.func.value
                whole = isinstance(held, ast.Name) and held.id == data
                given = node.args[0] if node.args else None
                return whole or (isinstance(given, ast.Name) and given.id == data)
            node = node.func.value
        elif isinstance(node, ast.Call):
            return False
        else:
            node = node.value
    return False
