"""Where data were put in order, shuffled apart, split, or taken from a table together with their targets."""

import ast

from vitruvius.checks._ancestry import Made, ancestry
from vitruvius.checks._bindings import names_in, place_of, statement_at
from vitruvius.checks._definitions import held_out_line, held_out_names
from vitruvius.checks._source import Source, calls, last_name, read

ORDERS = ("randperm", "permutation", "permuted", "shuffle", "sample", "argsort")
DRAWS = ("integers", "randint", "choice", "multinomial")  # of indices, where they stand in brackets
SPLITS = ("train_test_split", "random_split", "Subset", "split", "train_val_split")


def order_line(where: str) -> str:
    """The line outside of all loops that puts the rows of a network's input in order; empty if none does.

    That is a permutation, or a DataLoader.
    """
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return ""
    loops = [held for held in source.around(node) if isinstance(held, ast.For | ast.While)]
    for made in (found for value in _arguments(node) for found in ancestry(source, value, indices=True)):
        repeated = any(held in loops for held in (made.statement, *source.around(made.statement)))
        names = [last_name(call.func) for call in calls(made.part)]
        if not repeated and any(name in ORDERS or name.endswith("DataLoader") for name in names):
            return place_of(source, made.statement)
    return ""


def shuffled_line(where: str) -> str:
    """The line that draws an order for the targets of a loss alone, or for the inputs alone."""
    source, pair = _compared(where)
    if pair is None:
        return ""
    given, wanted = (_drawn(source, value) for value in pair)
    for own, other in ((wanted, given), (given, wanted)):
        alone = [call for key, call in own.items() if key not in other]
        if alone:
            return place_of(source, alone[0])
    return ""


def features_line(forward: str, criterion: str) -> str:
    """The line that takes the inputs of a network from a table that the targets come from too."""
    source, pair = _compared(criterion)
    same = forward.rpartition(":")[0] == criterion.rpartition(":")[0]
    node = statement_at(source, forward) if same else None
    if pair is None or node is None:
        return ""
    targets = ancestry(source, pair[1])
    known = {(id(made.statement), id(made.part), made.place) for made in targets}
    pairs = {id(made.statement) for made in targets if _is_pair(made)}
    for made in (found for value in _arguments(node) for found in ancestry(source, value)):
        if _is_pair(made) and id(made.statement) in pairs:
            return place_of(source, made.statement)
        if (id(made.statement), id(made.part), made.place) in known:
            nearer = made.user
            taken = nearer is not None and isinstance(nearer.statement, ast.Assign)
            return place_of(source, nearer.statement if taken and nearer else made.statement)
    return ""


def split_line(where: str) -> str:
    """The line that split off the data of an evaluation at a line; that of the data if none did."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return ""
    for name in held_out_names(source, node):
        for made in ancestry(source, name):
            looped = any(
                isinstance(held, ast.For) for held in (made.statement, *source.around(made.statement))
            )
            if not looped and _splits(made.part):
                return place_of(source, made.statement)
    return held_out_line(where)


def _splits(value: ast.expr) -> bool:
    by_call = bool(calls(value, *SPLITS))
    return by_call or (isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Constant))


def _is_pair(made: Made) -> bool:
    """Whether a statement assigns several values one by one."""
    return isinstance(made.statement, ast.Assign) and isinstance(made.statement.value, ast.Tuple)


def _compared(where: str) -> tuple[Source, tuple[ast.expr, ast.expr] | None]:
    """What a loss at a line compares: its first two arguments, or the two sides of a difference."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return source, None
    for call in calls(node):
        words = {word.arg: word.value for word in call.keywords}
        if len(call.args) > 1:
            return source, (call.args[0], call.args[1])
        if "target" in words and (call.args or "input" in words):
            return source, ((call.args or [words["input"]])[0], words["target"])
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            return source, (part.left, part.right)
    return source, None


def _arguments(node: ast.stmt) -> list[ast.expr]:
    """What the innermost calls of a statement are given first."""
    return [call.args[0] for call in reversed(calls(node)) if call.args]


def _drawn(source: Source, value: ast.expr) -> dict[int, ast.Call]:
    """The calls that draw an order of rows on the way to a value, the nearest first."""
    steps = ancestry(source, value, indices=True)
    found = [call for part in (value, *(made.part for made in steps)) for call in calls(part)]
    names = {name for made in steps for name in _assigned(made.statement)}
    in_place = [node.value for node in ast.walk(source.tree) if isinstance(node, ast.Expr)]
    shuffles = [call for call in calls(source.tree, "shuffle") if call in in_place]
    found += [call for call in shuffles if any(names_in(given) & names for given in call.args[:1])]
    return {id(call): call for call in found if _draws(source, call)}


def _assigned(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {name for target in targets for name in names_in(target)}


def _draws(source: Source, call: ast.Call, depth: int = 2) -> bool:
    """Whether a call draws an order, itself or in a function of the file."""
    name = last_name(call.func)
    if name in ORDERS or (name == "DataLoader" and any(_is_shuffle(word) for word in call.keywords)):
        return True
    if name in DRAWS:
        return any(isinstance(held, ast.Subscript) for held in source.around(call))
    functions = [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)]
    inner = [part for node in functions if node.name == name for part in calls(node)]
    return bool(depth) and any(_draws(source, part, depth - 1) for part in inner if part is not call)


def _is_shuffle(word: ast.keyword) -> bool:
    return word.arg == "shuffle" and isinstance(word.value, ast.Constant) and word.value.value is True
