"""Positions are indexed where a slice was meant: all tokens get the vector of one place."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import FunctionType

import torch
from torch import Tensor, nn

from vitruvius.checks import Example, Finding, Findings, Trace, named, training
from vitruvius.checks._experiment import Specimen, specimens
from vitruvius.checks._positions import Lookup, attends, lookups, order_kept

LESSON = "positions"
SICK = training(
    "x = torch.randn(4, 6, 8)", "F.mse_loss(net(x), x.cumsum(1)).backward()", net="Places()"
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
POSITION = re.compile(r"pos|place|\bpe\b|wpe", re.IGNORECASE)


def positions_indexed(trace: Trace) -> Findings:
    """Tables of positions that are taken at one place, by the rows of the batch, or by the tokens."""
    found = [*_in_source(trace), *_in_passes(trace)]
    yield from found[:1]


def _in_source(trace: Trace) -> Findings:
    """A table of a module that is indexed by the length of an input, read from the source of its methods."""
    for example in trace.examples:
        for path, module in example.model.named_modules():
            for line, text in _indexed(module):
                yield _finding(
                    line, named(trace, path), f"{text} picks one row of a table, at the length of the input"
                )


def _in_passes(trace: Trace) -> Findings:
    """A table that is cut by the number of rows, or asked for the tokens themselves, in a pass of a copy."""
    for specimen in specimens(trace.examples, _has_tokens):
        taken = lookups(specimen) if specimen.is_steady() else []
        reasons = [(one, reason) for one in taken if (reason := _wrong(one, taken, specimen))]
        for one, reason in reasons:
            proven = one.rows >= specimen.x.shape[1] and not specimen.example.shifted and order_kept(specimen)
            if proven or _is_by_rows(one, specimen) or POSITION.search(one.path):
                said = ", and shuffled tokens give the same output" if proven else ""
                yield _finding(one.where or specimen.example.where, named(trace, one.path), reason + said)
                return


def _has_tokens(example: Example) -> bool:
    x = example.x
    rows_first = example.target_shape[:1] == (example.rows,) or (example.shifted and example.time_axis == 1)
    several = x is not None and (x.dim() == 4 or (x.dim() in (2, 3) and x.shape[1] > 1))
    return several and rows_first and attends(example)


def _wrong(one: Lookup, taken: list[Lookup], specimen: Specimen) -> str:
    """What is wrong with a lookup, empty if nothing is."""
    if _is_by_rows(one, specimen):
        return f"the table {one.path} is cut by the {len(specimen.x)} rows of the batch, not by the tokens"
    if specimen.x.dim() == 4:  # how many tokens an image has is not known
        return ""
    others = [other for other in taken if other.path != one.path and _is_tokens(other, specimen)]
    named_so = POSITION.search(one.path) or not any(POSITION.search(other.path) for other in others)
    if others and named_so and _is_tokens(one, specimen):
        return f"{one.path} is asked for the tokens themselves, as {others[0].path} is, not for their places"
    index = one.index
    single = isinstance(index, Tensor) and index.numel() > 1 and bool((index == index.flatten()[0]).all())
    plain = isinstance(index, int) or (isinstance(index, Tensor) and index.numel() == 1)
    if (single or plain) and POSITION.search(one.path) and specimen.x.shape[1] > 1:
        return f"the table {one.path} is asked for one place only, for all {specimen.x.shape[1]} tokens"
    return ""


def _is_tokens(one: Lookup, specimen: Specimen) -> bool:
    x, index = specimen.x, one.index
    return isinstance(index, Tensor) and index.shape == x.shape and bool((index == x).all())


def _is_by_rows(one: Lookup, specimen: Specimen) -> bool:
    """Whether a table is cut by the number of rows, where that is not the number of tokens too."""
    rows, tokens = specimen.x.shape[:2]
    index = one.index
    if isinstance(index, Tensor) and index.dim() == 2 and len(index) == rows > 1 and index.shape[1] > 1:
        return bool((index == torch.arange(rows, device=index.device)[:, None]).all())
    if rows == tokens or rows < 2 or specimen.x.dim() == 4:
        return False
    if isinstance(index, Tensor):
        counted = index.dim() == 1 or (index.dim() == 2 and index.shape[1] == 1)
        return counted and len(index) == rows and bool((index.flatten() == torch.arange(rows)).all())
    parts = index if isinstance(index, tuple) else (index,)
    stops = [part.stop for part in parts if isinstance(part, slice) and part.start in (None, 0)]
    return rows in stops and tokens not in stops and one.rows > rows


def _finding(where: str, module: str | None, evidence: str) -> Finding:
    return Finding(
        where=where,
        module=module,
        evidence=evidence,
        why="tokens at different places then get the same vector: their order is lost, without an error",
        fix="a slice up to the number of tokens: table[:, :x.size(1)], or embed(torch.arange(x.size(1)))",
        explains=("positions_ignored", "rate_too_low"),
    )


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
