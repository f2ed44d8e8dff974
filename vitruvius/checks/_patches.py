"""Edits of the user's source that mend a bug: each returns a patch, or None where the source leaves a doubt.

What a patch does is proven by `doctor fix`, which runs the changed script again.
"""

import ast
from collections.abc import Iterable

from vitruvius.checks._source import (
    Source,
    assigned,
    calls,
    last_name,
    located,
    method,
    read,
    receiver,
    stored,
    torch_nn,
)
from vitruvius.core.patch import Edit, Patch

SCALERS = ("scaler", "grad_scaler", "self.scaler")
DIFFERENCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
DIFFERENCE_MODULES = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")


def zero_after_step(where: str) -> Patch | None:
    """`optimizer.zero_grad()` behind `optimizer.step()`, or behind `scaler.step(optimizer)`."""
    found = located(where)
    call = method(found[1], "step") if found else None
    if not found or not call or call.keywords:
        return None
    source, statement = found
    scaled = len(call.args) == 1 and source.text(receiver(call)) in SCALERS
    optimiser = call.args[0] if scaled else receiver(call)
    if (call.args and not scaled) or not isinstance(optimiser, ast.Name | ast.Attribute | ast.Subscript):
        return None  # a closure zeroes inside itself
    return source.patch(source.after(statement, f"{source.text(optimiser)}.zero_grad()"))


def step_after_backward(where: str, built: str) -> Patch | None:
    """The step of the optimiser that was built in one line, behind the backward pass of another."""
    found, made = located(where), located(built)
    if not found or not made or not method(found[1], "backward") or found[0].file != made[0].file:
        return None
    (source, statement), (_, builder) = found, made
    target = builder.targets[0] if isinstance(builder, ast.Assign) and len(builder.targets) == 1 else None
    if not isinstance(target, ast.Name) or calls(statement, "scale"):
        return None
    scopes = [source.scope(source.statement(line) or statement) for line in (where, built)]
    seen = isinstance(scopes[1], ast.Module) or scopes[0] is scopes[1]
    return source.patch(source.after(statement, f"{target.id}.step()")) if seen else None


def removed(where: str) -> Patch | None:
    """The statement of a line goes; None if its block would be empty."""
    found = located(where)
    if not found or len(found[0].block(found[1])) < 2:
        return None
    return found[0].patch(found[0].without(found[1]))


def ordered_steps(where: str) -> Patch | None:
    """`zero_grad()` between `backward()` and `step()` moves behind both; `step()` before `backward()` too."""
    found = located(where)
    if not found or not method(found[1], "step"):
        return None
    source, step = found
    block = [statement for statement in source.block(step) if source.is_alone(statement)]
    index = block.index(step)
    backwards = [at for at, statement in enumerate(block) if method(statement, "backward")]
    if len(backwards) != 1:
        return None
    (backward,) = backwards
    between = [statement for statement in block[backward:index] if method(statement, "zero_grad")]
    if backward > index:
        return source.patch(source.without(step), source.after(block[backward], source.text(step)))
    if len(between) != 1:
        return None
    return source.patch(source.without(between[0]), source.after(step, source.text(between[0])))


def moved_behind(where: str, other: str) -> Patch | None:
    """The statement of one line moves behind that of another, to its depth."""
    found, target = located(where), located(other)
    if not found or not target or found[0].file != target[0].file or len(found[0].block(found[1])) < 2:
        return None
    source, statement = found
    behind = source.statement(other)
    if behind is None or statement.lineno == behind.lineno:
        return None
    return source.patch(source.without(statement), source.after(behind, source.text(statement)))


def behind_next_step(where: str) -> Patch | None:
    """`scheduler.step()` moves behind the next statement of its block that makes another step."""
    found = located(where)
    call = method(found[1], "step") if found else None
    if not found or not call:
        return None
    source, statement = found
    block = source.block(statement)
    others = [later for later in block[block.index(statement) + 1 :] if calls(later, "step")]
    if not others or not source.is_alone(others[0]):
        return None
    text = source.indent(statement) + source.text(statement)
    here = Edit(line=(others[0].end_lineno or others[0].lineno) + 1, new=(text,))
    return source.patch(source.without(statement), here)


def before_loop(where: str) -> Patch | None:
    """An assignment inside a `for` loop moves in front of it, if it uses nothing that the loop binds."""
    found = located(where)
    if not found:
        return None
    source, statement = found
    if not isinstance(statement, ast.Assign):
        return None
    loop = source.parents[statement]
    if not isinstance(loop, ast.For) or not source.is_alone(loop) or len(loop.body) < 2:
        return None
    used = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
    targets = stored(statement.targets)
    bound = stored([loop.target, *(other for other in loop.body if other is not statement)])
    if used & (bound | targets) or targets & bound or loop.orelse:
        return None
    return source.patch(source.without(statement), source.before(loop, source.text(statement)))


def trained_flag(where: str) -> Patch | None:
    """`training=self.training` for the one functional dropout of a statement in a method."""
    source = read(where)
    statement = source.statement(where)
    if not statement:
        return None
    drops = calls(statement, "dropout", "dropout2d", "alpha_dropout")
    here = source.scope(statement)
    first = here.args.args[:1] if isinstance(here, ast.FunctionDef) else []
    told = [word.arg for call in drops for word in call.keywords]
    method_of_self = bool(first) and first[0].arg == "self"
    if len(drops) != 1 or len(drops[0].args) not in (1, 2) or not method_of_self:
        return None
    if "training" in told or None in told or source.text(receiver(drops[0])) == "self":
        return None
    text = source.text(drops[0]).removesuffix(")").rstrip().rstrip(",")
    return source.patch(source.replaced(drops[0], f"{text}, training=self.training)"))


def same_shape(where: str, scores: tuple[int, ...], target: tuple[int, ...]) -> Patch | None:
    """The target of a difference loss gets or loses a last axis of length one, as the scores have it."""
    source = read(where)
    statement = source.statement(where)
    if not statement:
        return None
    losses = [call for call in calls(statement, *DIFFERENCES) if len(call.args) > 1]
    made = {node for node in ast.walk(source.tree) if isinstance(node, ast.Assign)}
    criteria = {
        source.text(t) for node in made if calls(node.value, *DIFFERENCE_MODULES) for t in node.targets
    }
    losses += [c for c in calls(statement) if len(c.args) > 1 and source.text(c.func) in criteria]
    if len(losses) != 1:
        return None
    given = losses[0].args[1]
    plain = isinstance(given, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    text = source.text(given) if plain else f"({source.text(given)})"
    axis = "unsqueeze(-1)" if len(scores) > len(target) else "squeeze(-1)"
    return source.patch(source.replaced(given, f"{text}.{axis}"))


def registered(attribute: str, lines: Iterable[str]) -> Patch | None:
    """`self.layers = [...]`, assigned once, becomes an nn.ModuleList, a dictionary an nn.ModuleDict."""
    name = attribute.rpartition(".")[2]
    found: list[tuple[Source, ast.expr]] = []
    files = {line.rpartition(":")[0]: line for line in lines}
    for source in map(read, files.values()):
        for node in ast.walk(source.tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            if any(source.text(target) == f"self.{name}" for target in targets):
                found += [(source, node.value)] if isinstance(node, ast.Assign) else []
    if len(found) != 1:
        return None
    source, value = found[0]
    nn = torch_nn(source)
    if nn is None or not isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp):
        return None
    kind = "ModuleList" if isinstance(value, ast.List | ast.ListComp) else "ModuleDict"
    return source.patch(source.replaced(value, f"{nn}.{kind}({source.text(value)})"))


def evaluated(where: str) -> Patch | None:
    """`model.eval()` before and `model.train()` behind the `with torch.no_grad()` block of a line."""
    source = read(where)
    statement = source.statement(where)
    network = _network(source, statement) if statement else None
    if not statement or not network:
        return None
    blocks = [held for held in source.around(statement) if isinstance(held, ast.With)]
    blocks = [held for held in blocks if any(calls(item, "no_grad", "inference_mode") for item in held.items)]
    if len(blocks) != 1 or not source.is_alone(blocks[0]) or _leaves(blocks[0]):
        return None
    return source.patch(
        source.before(blocks[0], f"{network}.eval()"), source.after(blocks[0], f"{network}.train()")
    )


def trained_again(where: str) -> Patch | None:
    """`model.train()` at the beginning of the outermost loop around a line, in its function."""
    source = read(where)
    statement = source.statement(where)
    network = _network(source, statement) if statement else None
    if not statement or not network:
        return None
    scope = source.scope(statement)
    loops = [held for held in source.around(statement) if isinstance(held, ast.For | ast.While)]
    loops = [held for held in loops if source.scope(held) is scope]
    first = loops[-1].body[0] if loops else None
    if first is None or not source.is_alone(first) or network in stored(loops):
        return None
    return source.patch(source.before(first, f"{network}.train()"))


def _leaves(block: ast.With) -> bool:
    """Whether a block may end by a jump: what stands behind it would not run."""
    jumps = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom)
    inner = [node for node in ast.walk(block) if isinstance(node, ast.For | ast.While)]
    own = [node for loop in inner for node in ast.walk(loop) if isinstance(node, ast.Break | ast.Continue)]
    return any(isinstance(node, jumps) and node not in own for node in ast.walk(block))


def _network(source: Source, statement: ast.stmt) -> str | None:
    """The one variable that a statement calls as a network: bound in this file, and no function or loss."""
    nodes = list(ast.walk(source.tree))
    bound = stored([source.tree])
    bound |= {arg.arg for node in nodes if isinstance(node, ast.arguments) for arg in node.args}
    bound -= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    losses = [node for node in made if last_name(getattr(node.value, "func", node)).endswith("Loss")]
    called = [call.func for call in calls(statement, *(bound - stored(losses)))]
    names = {function.id for function in called if isinstance(function, ast.Name)}
    names = {name for name in names if not name.startswith(("criterion", "loss"))}
    return names.pop() if len(names) == 1 else None


def assigned_value(source: Source, name: ast.Name) -> ast.Assign | None:
    """The only assignment of a variable in the function that uses it."""
    found = assigned(source.scope(name), name.id)
    return found[0] if len(found) == 1 and len(found[0].targets) == 1 else None
