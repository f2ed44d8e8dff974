"""Which line of the user's source stores into a variable: where a value that is held was put."""

import ast
import linecache
from collections.abc import Iterator

CUTTERS = ("item", "detach", "tolist", "numpy", "float", "int")
ADDERS = ("append", "extend", "appendleft", "add")


def line_that_keeps(file: str, name: str, near: int) -> str:
    """`file:line` where a variable or attribute is added to, nearest to a line; empty if nowhere.

    >>> linecache.cache["keeps.py"] = (0, None, ["total = 0\\n", "for x in y:\\n", "    total += x\\n"], "")
    >>> line_that_keeps("keeps.py", "total", 2)
    'keeps.py:3'
    """
    tree = _tree(file)
    adding = [statement for statement in ast.walk(tree) if _adds(statement, name)]
    with_graph = [statement for statement in adding if not _is_cut(statement)]
    found = [getattr(statement, "lineno", 0) for statement in with_graph or adding]
    return f"{file}:{min(found, key=lambda line: (line < near, abs(line - near)))}" if found else ""


def _tree(file: str) -> ast.Module:
    """The program of a file, as it was when it ran; an empty one if it is none."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])


def _is_cut(node: ast.AST) -> bool:
    """Whether what is stored was taken off its graph: item(), detach(), float(...)."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    names = [getattr(called, "attr", getattr(called, "id", "")) for called in calls]
    return any(name in CUTTERS for name in names)


def _adds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.AugAssign):
        return name in _names(node.target)
    if isinstance(node, ast.Assign):
        kept = any(name in _names(target) for target in node.targets)
        indexed = any(isinstance(target, ast.Subscript) for target in node.targets)
        return kept and (
            indexed or name in {found for part in ast.walk(node.value) for found in _names(part)}
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ADDERS and name in _names(node.func.value)
    return False


def _names(node: ast.AST) -> Iterator[str]:
    """The variable or attribute that an expression names; for an element, that of its container."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def line_that_updates(file: str, name: str) -> str:
    """`file:line` inside a loop or function that copies weights into a variable; empty if there is none."""
    tree = _tree(file)
    found = sorted(_updates(tree, name, False))
    return f"{file}:{found[0]}" if found else ""


def _updates(node: ast.AST, name: str, repeated: bool) -> Iterator[int]:
    """Lines that load or write the weights of a variable, where a loop or a function repeats them."""
    if isinstance(node, ast.For) and repeated and _reads_weights(node.iter, name):
        yield _first_simple(node).lineno
        return
    if isinstance(node, ast.Call) and repeated and isinstance(node.func, ast.Attribute):
        is_update = node.func.attr in ("load_state_dict", "update_parameters", "lerp_")
        if is_update and name in _names(node.func.value):
            yield node.lineno
    is_function = isinstance(node, ast.FunctionDef) and node.name not in ("__init__", "main", "train")
    inner = repeated or is_function or isinstance(node, ast.For | ast.While)
    for child in ast.iter_child_nodes(node):
        yield from _updates(child, name, inner)


def _first_simple(node: ast.stmt) -> ast.stmt:
    """The first statement without a body inside a loop, a condition or a `with`."""
    body = getattr(node, "body", None)
    return _first_simple(body[0]) if body else node


def _reads_weights(node: ast.AST, name: str) -> bool:
    calls = [
        part for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
    ]
    kinds = ("parameters", "named_parameters", "state_dict", "buffers")
    return any(call.func.attr in kinds and name in _names(call.func.value) for call in calls)  # type: ignore[attr-defined]
