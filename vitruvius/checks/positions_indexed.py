"""Positions are indexed where a slice was meant: all tokens get the vector of one place."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType

from torch import Tensor, nn

from vitruvius.checks import Finding, Findings, Trace, named, training

LESSON = "positions"
SICK = training(
    "x = torch.randn(4, 6, 8)",
    "F.mse_loss(net(x), x.cumsum(1)).backward()",
    net="Places()",
).replace(
    "net = ",
    """class Places(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(1, 9, 8))
        self.linear = nn.Linear(8, 8)
    def forward(self, x):
        return self.linear(x + self.table[:, x.size(1)])  # here
net = """,
)
HEALTHY = SICK.replace("[:, x.size(1)]", "[:, :x.size(1)]")


def positions_indexed(trace: Trace) -> Findings:
    """A table of a module that is indexed by the length of an input, read from the source of its methods."""
    for example in trace.examples:
        for path, module in example.model.named_modules():
            for line, text in _indexed(module):
                yield Finding(
                    where=line,
                    module=named(trace, path),
                    evidence=f"{text} picks one row of a table, at the length of the input",
                    why="one vector is added to all tokens: the order of the tokens is lost, without an "
                    "error",
                    fix="a slice up to the length: table[:, :x.size(1)]",
                )
                return


def _indexed(module: nn.Module) -> Iterator[tuple[str, str]]:
    """Line and text of tables that the methods of a module index by a length."""
    if type(module).__module__.startswith("torch."):
        return
    for method in vars(type(module)).values():
        if inspect.isfunction(method):
            yield from _in_method(module, method)


def _in_method(module: nn.Module, method: FunctionType) -> Iterator[tuple[str, str]]:
    try:
        source, first = inspect.getsourcelines(method)
        tree = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, SyntaxError, TypeError):
        return
    file = method.__code__.co_filename
    lengths = _lengths(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _is_table(module, node.value):
            index = node.slice
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            slices = [part for part in parts if isinstance(part, ast.Slice)]
            if any(_is_length(part, lengths) for part in parts) and _is_whole(slices):
                yield f"{file}:{first + node.lineno - 1}", ast.unparse(node)


def _is_whole(slices: list[ast.Slice]) -> bool:
    return all(part.lower is None and part.upper is None for part in slices)


def _is_table(module: nn.Module, node: ast.expr) -> bool:
    """Whether an expression is a tensor of the module with a row for each place."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id != "self" or not parts:
        return False
    value: object = module
    for name in reversed(parts):
        value = getattr(value, name, None)
    return isinstance(value, Tensor) and value.dim() >= 2 and value.is_floating_point()


def _lengths(tree: ast.AST) -> set[str]:
    """Names that are assigned the size of an axis."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and _is_length(node.value, set()):
                found.add(target.id)
            elif isinstance(target, ast.Tuple) and _is_shape(node.value):
                found |= {part.id for part in target.elts if isinstance(part, ast.Name)}
    return found


def _is_shape(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return (isinstance(node, ast.Attribute) and node.attr == "shape") or (
        called and node.func.attr == "size" and not node.args  # type: ignore[attr-defined]
    )


def _is_length(node: ast.expr, lengths: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in lengths
    if isinstance(node, ast.Subscript):
        return _is_shape(node.value)
    if isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute) and node.func.attr == "size" and bool(node.args)
        return method or (isinstance(node.func, ast.Name) and node.func.id == "len")
    return False
