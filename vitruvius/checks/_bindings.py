"""Which statement binds a name, and what it is given there."""

import ast

from vitruvius.checks._source import Source, calls, line_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
LIBRARIES = ("torch", "F", "nn", "np", "numpy", "itertools", "self")


def place_of(source: Source, node: ast.AST | None) -> str:
    """`file:line` of a statement or an expression, empty if there is none."""
    return f"{source.file}:{node.lineno}" if isinstance(node, ast.stmt | ast.expr) else ""


def statement_at(source: Source, where: str) -> ast.stmt | None:
    """The innermost statement at a line, also one with a body."""
    line = line_of(where)
    found = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    found = [node for node in found if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return max(found, key=lambda node: (node.lineno, node.col_offset), default=None)


def binding_of(source: Source, name: ast.Name, scope: ast.AST) -> ast.stmt | ast.comprehension | None:
    """The last loop, comprehension or assignment before a use that binds a name in a scope."""
    around = [held for held in source.around(name) if isinstance(held, ast.GeneratorExp | ast.ListComp)]
    for held in around:
        for part in held.generators:
            if name.id in names_in(part.target) and not is_inside(part.iter, name):
                return part
    found: list[ast.stmt] = []
    for node in ast.walk(scope):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.For | ast.AnnAssign):
            targets = [node.target]
        own = source.scope(node) is scope
        if own and any(name.id in names_in(target) for target in targets) and isinstance(node, ast.stmt):
            found.append(node)
    earlier = [node for node in found if node.lineno < name.lineno or scope is not source.scope(name)]
    loops = [node for node in earlier if isinstance(node, ast.For) and not is_inside(node.iter, name)]
    plain = [node for node in earlier if not isinstance(node, ast.For) and not is_inside(node, name)] + loops
    return max(plain, key=lambda node: node.lineno, default=None)


def is_inside(node: ast.AST, name: ast.AST) -> bool:
    """Whether a node is part of another."""
    return any(part is name for part in ast.walk(node))


def names_in(node: ast.AST) -> set[str]:
    """The variables that a node speaks of."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def value_given(binding: ast.stmt, name: str) -> ast.expr | None:
    """What a name is given; its own part if several are given at once."""
    value = getattr(binding, "value", None)
    target = binding.targets[0] if isinstance(binding, ast.Assign) else None
    pair = isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple)
    if pair and isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple):
        for part, given in zip(target.elts, value.elts, strict=False):
            if name in names_in(part):
                return given
    return value if isinstance(value, ast.expr) else None


def is_library(node: ast.expr) -> bool:
    """Whether a name is that of a library, or of the object itself: no data."""
    return isinstance(node, ast.Name) and node.id in LIBRARIES


def handed(source: Source, function: Function, name: str) -> ast.expr | None:
    """What the first call of a function, or of its class, gives for one of its parameters; its default."""
    names = [argument.arg for argument in function.args.args]
    if name not in names:
        return None
    owner = source.parents.get(function)
    builds = function.name == "__init__" and isinstance(owner, ast.ClassDef)
    called = owner.name if builds and isinstance(owner, ast.ClassDef) else function.name
    place = names.index(name) - (names[:1] == ["self"])
    for call in calls(source.tree, called):
        words = [word.value for word in call.keywords if word.arg == name]
        given = [*words, *call.args[place : place + 1]]
        if given and not any(isinstance(value, ast.Starred) for value in call.args[: place + 1]):
            return given[0]
    behind = names.index(name) - len(names) + len(function.args.defaults)
    return function.args.defaults[behind] if behind >= 0 else None
