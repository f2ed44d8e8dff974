"""The user's source around a guilty line, read with `ast`: statements that are moved, added or replaced."""

import ast
import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vitruvius.core.patch import Edit, Patch


@dataclass(frozen=True)
class Source:
    """A source file, its tree and the parent of every node in it."""

    file: str
    lines: tuple[str, ...]
    tree: ast.Module
    parents: dict[ast.AST, ast.AST]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds a node, from the inside out."""
        while (held := self.parents.get(node)) is not None:
            yield held
            node = held

    def statement(self, where: str) -> ast.stmt | None:
        """The innermost statement at a `file:line`; None if several begin there."""
        line = line_of(where)
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        found = [node for node in found if node.lineno <= line <= (node.end_lineno or node.lineno)]
        inner = [node for node in found if not any(node in self.around(other) for other in found)]
        return inner[0] if len(inner) == 1 and not hasattr(inner[0], "body") else None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which one stands."""
        for _, value in ast.iter_fields(self.parents[statement]):
            if isinstance(value, list) and statement in value:
                return value
        return [statement]

    def scope(self, node: ast.AST) -> ast.AST:
        """The function that holds a node, or the module."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((held for held in self.around(node) if isinstance(held, functions)), self.tree)

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        return ast.get_source_segment("\n".join(self.lines), node) or ""

    def is_alone(self, statement: ast.stmt) -> bool:
        """Whether a statement shares its lines with no other one."""
        before = self.lines[statement.lineno - 1].encode()[: statement.col_offset]
        after = self.lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset :].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def indent(self, statement: ast.stmt) -> str:
        """The white space before a statement."""
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def before(self, statement: ast.stmt, text: str) -> Edit:
        """A new statement before another, at its depth."""
        return Edit(line=statement.lineno, new=(self.indent(statement) + text,))

    def after(self, statement: ast.stmt, text: str) -> Edit:
        """A new statement behind another, at its depth."""
        return Edit(line=(statement.end_lineno or statement.lineno) + 1, new=(self.indent(statement) + text,))

    def without(self, statement: ast.stmt) -> Edit:
        """The lines of a statement go."""
        return Edit(line=statement.lineno, old=self.lines[statement.lineno - 1 : statement.end_lineno])

    def replaced(self, node: ast.expr, text: str) -> Edit:
        """An expression becomes another."""
        first, last = node.lineno, node.end_lineno or node.lineno
        old = self.lines[first - 1 : last]
        head = old[0].encode()[: node.col_offset].decode()
        tail = old[-1].encode()[node.end_col_offset :].decode()
        return Edit(line=first, old=old, new=tuple((head + text + tail).split("\n")))

    def patch(self, *edits: Edit, note: str = "") -> Patch | None:
        """The edits as one change, if what comes out is a program."""
        from vitruvius.core.patch import NoMatch, applied

        ordered = tuple(sorted(edits, key=lambda edit: edit.line))
        try:
            ast.parse(applied("\n".join(self.lines), ordered))
        except (NoMatch, SyntaxError, ValueError):
            return None
        return Patch(file=self.file, edits=ordered, note=note)


def line_of(where: str) -> int:
    """The number behind the last colon of `file:line`; 0 if there is none."""
    number = where.rpartition(":")[2]
    return int(number) if number.isdigit() else 0


def read(where: str) -> Source:
    """The file that a `file:line` names, as it was when it ran; an empty one if it cannot be read."""
    file = where.rpartition(":")[0]
    lines = linecache.getlines(file)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        lines, tree = [], ast.Module([], [])
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return Source(file, tuple(line.rstrip("\r\n") for line in lines), tree, parents)


def located(where: str) -> tuple[Source, ast.stmt] | None:
    """The source and the statement at a `file:line`, if it stands alone on its lines."""
    source = read(where)
    statement = source.statement(where)
    return (source, statement) if statement and source.is_alone(statement) else None


def method(node: ast.AST | None, name: str) -> ast.Call | None:
    """The call, if a statement is nothing but `something.name(...)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == name
    return call if named and isinstance(call, ast.Call) else None


def receiver(call: ast.Call) -> ast.expr:
    """What a method is called on."""
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def calls(node: ast.AST, *names: str) -> list[ast.Call]:
    """The calls below a node, of functions or methods with these last names if any are given."""
    found = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
    return [call for call in found if not names or last_name(call.func) in names]


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name, empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def assigned(node: ast.AST, name: str) -> list[ast.Assign]:
    """The plain assignments `name = ...` below a node."""
    found = [child for child in ast.walk(node) if isinstance(child, ast.Assign)]
    return [child for child in found if any(isinstance(t, ast.Name) and t.id == name for t in child.targets)]


def stored(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that some nodes bind."""
    names = [child for node in nodes for child in ast.walk(node) if isinstance(child, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def torch_nn(source: Source) -> str | None:
    """How a file names `torch.nn`; None if it does not."""
    for node in ast.walk(source.tree):
        names = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
        inside = "torch." if isinstance(node, ast.ImportFrom) and node.module == "torch" else ""
        for alias in names:
            if inside + alias.name == "torch.nn" and (alias.asname or inside):
                return alias.asname or alias.name
    plain = [node for node in ast.walk(source.tree) if isinstance(node, ast.Import)]
    modules = [alias.name for node in plain for alias in node.names if not alias.asname]
    return "torch.nn" if "torch" in modules or "torch.nn" in modules else None
