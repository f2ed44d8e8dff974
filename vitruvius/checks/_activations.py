"""The softmax, or another activation, between a network and its loss: found in the source, and taken away."""

import ast

from vitruvius.checks._patches import assigned_value
from vitruvius.checks._source import Source, assigned, calls, last_name, read
from vitruvius.core.patch import Edit, Patch

MODULES = {"softmax": "Softmax", "sigmoid": "Sigmoid"}
SCORES = "the network then returns scores: take the activation where you need probabilities"


def without_activation(where: str, name: str) -> Patch | None:
    """Remove the one activation (`softmax` or `sigmoid`) before the criterion of a line."""
    source = read(where)
    statement = source.statement(where)
    if not statement:
        return None
    here = [node for node in ast.walk(statement) if inner(source, node, name) is not None]
    if here:
        return _stripped(source, here[0], name) if len(here) == 1 else None
    names = [node for call in calls(statement) for node in call.args[:1]]
    for used in (node for node in names if isinstance(node, ast.Name)):
        if (made := assigned_value(source, used)) and inner(source, made.value, name) is not None:
            return _bypassed(source, used, made, name)
    return _from_network(source, name)


def with_logarithm(where: str) -> Patch | None:
    """The one softmax of a file becomes a log-softmax."""
    source = read(where)
    found = calls(source.tree, "softmax", "Softmax")
    if len(found) != 1:
        return None
    function, name = found[0].func, last_name(found[0].func)
    if not isinstance(function, ast.Attribute):
        return None  # another function must be imported first
    other = {"softmax": "log_softmax", "Softmax": "LogSoftmax"}[name]
    return source.patch(source.replaced(function, source.text(function).removesuffix(name) + other))


def with_cross_entropy(where: str) -> Patch | None:
    """`nll_loss` becomes `cross_entropy` in a line, or the one nn.NLLLoss of its file nn.CrossEntropyLoss."""
    source = read(where)
    statement = source.statement(where)
    if not statement:
        return None
    called = (statement, "nll_loss", "cross_entropy")
    for node, name, other in (called, (source.tree, "NLLLoss", "CrossEntropyLoss")):
        found = [call.func for call in calls(node, name)]
        if len(found) == 1 and isinstance(found[0], ast.Attribute):
            return source.patch(source.replaced(found[0], source.text(found[0]).removesuffix(name) + other))
        if found:
            return None
    return None


def inner(source: Source, node: ast.AST, name: str) -> ast.expr | None:
    """What an activation is applied to: x in `F.softmax(x, 1)`, `x.softmax(1)`, `nn.Softmax(1)(x)`."""
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Call) and last_name(function.func) == MODULES[name] and node.args:
        return node.args[0]
    if last_name(function) == name:
        owner = source.text(function.value) if isinstance(function, ast.Attribute) else ""
        if isinstance(function, ast.Name) or owner in ("F", "torch", "nn.functional", "torch.nn.functional"):
            return node.args[0] if node.args else None
        return function.value if isinstance(function, ast.Attribute) else None
    held = [made for made in ast.walk(source.tree) if isinstance(made, ast.Assign)]
    called = source.text(function)
    held = [made for made in held if called in map(source.text, made.targets)]
    value = held[0].value if len(held) == 1 else None
    is_module = isinstance(value, ast.Call) and last_name(value.func) == MODULES[name]
    return node.args[0] if is_module and node.args else None


def _stripped(source: Source, node: ast.AST, name: str, note: str = "") -> Patch | None:
    kept = inner(source, node, name)
    if kept is None or not isinstance(node, ast.expr):
        return None
    return source.patch(source.replaced(node, source.text(kept)), note=note)


def _bypassed(source: Source, used: ast.Name, made: ast.Assign, name: str) -> Patch | None:
    """Give the criterion what the activation was applied to: the variable behind it, or the value itself."""
    scores = inner(source, made.value, name)
    scope = source.scope(used)
    if isinstance(scores, ast.Name) and len(assigned(scope, scores.id)) <= 1 and scores.id != used.id:
        return source.patch(source.replaced(used, scores.id))
    reads = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == used.id]
    return _stripped(source, made.value, name) if len(reads) == 2 else None


def _from_network(source: Source, name: str) -> Patch | None:
    """Take the one activation away that a network ends with."""
    ends = [node for node in calls(source.tree, "Sequential") if _ends_with(node, name)]
    returns = [node for node in ast.walk(source.tree) if isinstance(node, ast.Return) and node.value]
    returns = [node for node in returns if getattr(source.scope(node), "name", "") == "forward"]
    returns = [node for node in returns if node.value and inner(source, node.value, name) is not None]
    if len(ends) + len(returns) != 1:
        return None
    if returns and returns[0].value:
        return _stripped(source, returns[0].value, name, SCORES)
    edit = _without_last(source, ends[0])
    return source.patch(edit, note=SCORES) if edit else None


def _ends_with(call: ast.Call, name: str) -> bool:
    """Whether a call of nn.Sequential ends with nn.Softmax(...)."""
    last = call.args[-1] if len(call.args) > 1 else None
    return isinstance(last, ast.Call) and last_name(last.func) == MODULES[name]


def _without_last(source: Source, call: ast.Call) -> Edit | None:
    """The call without its last argument: its own line goes, otherwise the text behind the one before."""
    kept, last = call.args[-2], call.args[-1]
    text = source.lines[last.lineno - 1]
    own_line = text.strip().rstrip(",") == source.text(last) and kept.end_lineno != last.lineno
    if own_line:
        return Edit(line=last.lineno, old=(text,))
    if kept.end_lineno != last.end_lineno or last.lineno != last.end_lineno:
        return None
    data = text.encode()
    return Edit(
        line=last.lineno,
        old=(text,),
        new=((data[: kept.end_col_offset] + data[last.end_col_offset :]).decode(),),
    )
