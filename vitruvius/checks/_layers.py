"""The layer that is to blame for units that do not work, and the line of the source to look at."""

import ast
from typing import TYPE_CHECKING

from vitruvius.checks import Trace, Units, holding
from vitruvius.checks._bindings import Function, binding_of, handed, place_of, statement_at
from vitruvius.checks._source import Source, calls, last_name, read

if TYPE_CHECKING:
    from torch import nn

LIBRARIES = ("site-packages", "dist-packages")
CONTAINERS = ("Sequential", "ModuleList")


def layer_of(trace: Trace, units: Units, bias_first: bool = False) -> tuple[str | None, str]:
    """The module whose weights feed some units, and the line that set these, or that applies the activation.

    Where neither stands in the user's code, the line that builds the module; empty if that is unknown too.
    """
    known = trace.parameters.get(units.weights)
    if known is None or not known.name:
        return None, units.where
    module = holding([known.name])
    beside = [p for p in trace.parameters.values() if p.name and holding([p.name]) == module]
    set_here = [p for p in beside if p.initialised and p.network == known.network]
    lines = [p.initialised for p in sorted(set_here, key=lambda p: (len(p.shape) > 1) == bias_first)]
    return module, next(iter(lines), "") or units.where or built_at(trace, module)


def built_at(trace: Trace, module: str | None) -> str:
    """`file:line` that builds a module of a network, or else the whole network; empty if that is unknown."""
    path = module.split(".") if module else []
    for example in trace.examples:
        if module and module not in dict(example.model.named_modules()):
            continue
        for depth in range(len(path) - 1, -1, -1):
            line = _attribute(example.model.get_submodule(".".join(path[:depth])), path[depth:])
            if line:
                return line
        return _variable(example.where, path)
    return ""


def _attribute(owner: "nn.Module", path: list[str]) -> str:
    """The line of a class of the user's that assigns a module to an attribute of its objects."""
    code = getattr(type(owner).__init__, "__code__", None)
    own = code is not None and not any(part in code.co_filename for part in LIBRARIES)
    if code is None or not own or type(owner).__module__.partition(".")[0] == "torch":
        return ""
    source, line = read(f"{code.co_filename}:{code.co_firstlineno}"), code.co_firstlineno
    for node in (part for part in ast.walk(source.tree) if isinstance(part, ast.Assign)):
        classes = [held for held in source.around(node) if isinstance(held, ast.ClassDef)]
        inside = any(held.lineno <= line <= (held.end_lineno or 0) for held in classes)
        parts = [part for target in node.targets for part in ast.walk(target)]
        named = any(isinstance(part, ast.Attribute) and part.attr == path[0] for part in parts)
        if inside and named:
            return _inner(source, node, path[1:])
    return ""


def _variable(where: str, path: list[str]) -> str:
    """The line that builds the network that a line calls."""
    source = read(where)
    node = statement_at(source, where)
    for call in reversed(calls(node) if node else []):
        made = _definition(source, call.func)
        if made is not None:
            return _inner(source, made, path)
    return ""


def _definition(source: Source, name: ast.expr, depth: int = 4) -> ast.Assign | None:
    """The assignment that builds what a variable, an argument or an attribute of self holds."""
    found: ast.AST | None = None
    given: ast.expr | None = None
    if isinstance(name, ast.Name):
        scope = source.scope(name)
        found = binding_of(source, name, scope) or binding_of(source, name, source.tree)
        given = handed(source, scope, name.id) if isinstance(scope, Function) and found is None else None
    elif isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id == "self":
        made = [node for node in ast.walk(source.tree) if isinstance(node, ast.Assign)]
        found = next((node for node in made if name.attr in map(last_name, node.targets)), None)
    if isinstance(found, ast.Assign):
        given = _bare(found.value)
        if isinstance(given, ast.Call):
            return found
    return _definition(source, given, depth - 1) if given is not None and depth else None


def _bare(value: ast.expr) -> ast.expr:
    """What a value was before it was moved to a device or a precision: Net() in Net().to(device)."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("to", "cuda", "cpu", "half", "double", "float", "train", "requires_grad_"):
            break
        value = value.func.value
    return value


def _inner(source: Source, made: ast.Assign, path: list[str]) -> str:
    """The line of a layer inside what is assigned, as far as the layers are written one by one."""
    place: ast.stmt | ast.expr = made
    value = _bare(made.value)
    while True:
        for part in (value, *_returned(source, value)):
            layers = _layers(part)
            if path and path[0].isdigit() and int(path[0]) < len(layers):
                place = value = layers[int(path[0])]
                path = path[1:]
                break
        else:
            return place_of(source, place)


def _layers(value: ast.expr) -> list[ast.expr]:
    """The layers that the constructor of a container is given one by one; none if that is not so."""
    if not isinstance(value, ast.Call) or last_name(value.func) not in CONTAINERS:
        return []
    listed = value.args[0] if len(value.args) == 1 else None
    layers = listed.elts if isinstance(listed, ast.List | ast.Tuple) else value.args
    return [] if any(isinstance(layer, ast.Starred) for layer in layers) else list(layers)


def _returned(source: Source, value: ast.expr) -> list[ast.expr]:
    """What a function of the file returns, if a value is a call of one."""
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    functions = [node for node in ast.walk(source.tree) if isinstance(node, Function) and node.name == name]
    found = [node for function in functions[:1] for node in ast.walk(function)]
    return [node.value for node in found if isinstance(node, ast.Return) and node.value is not None]
