"""The line that a person would change: where what goes wrong later is written down."""

import ast
from collections.abc import Sequence

from vitruvius.checks import OptimiserBuilt, SchedulerStep, Step, Trace
from vitruvius.checks._bindings import Function, binding_of, names_in, place_of, statement_at
from vitruvius.checks._source import Source, calls, last_name, line_of, read

ATTENTION = "scaled_dot_product_attention"
CUTTERS = ("data", "detach", "item", "numpy", "tolist")
CHANGED = 1.5  # a rate that differs by more from the one given to the optimiser was set by a scheduler


def rate_line(trace: Trace, step: Step) -> str:
    """Where the learning rate of a step is given: to the optimiser, or to the scheduler that has set it."""
    built = [event for event in trace.of(OptimiserBuilt) if event.optimiser == step.optimiser]
    moves = [event for event in trace.of(SchedulerStep) if event.optimiser == step.optimiser and event.built]
    if built and moves and not step.lr / CHANGED <= built[0].lr <= step.lr * CHANGED:
        return argument_line(moves[0].built, "max_lr", "lr_lambda", "base_lr")
    return argument_line(built[0].where, "lr") if built and built[0].where else step.where


def argument_line(where: str, *words: str) -> str:
    """The line of an argument by keyword in the call that begins at a line; that line if there is none."""
    source = read(where)
    node = statement_at(source, where)
    for word in (word for call in calls(node) for word in call.keywords) if node else ():
        if word.arg in words:
            return place_of(source, word.value)
    return where


def criterion_line(where: str, word: str) -> str:
    """Where a loss function that is called at a line is given an argument: in its constructor, or there."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return where
    given = calls(node)
    built = [made.value for call in given for made in _assignments(source, last_name(call.func))]
    named = [call for call in calls(source.tree) if last_name(call.func).endswith("Loss")]
    for candidates in ([*given, *built], named):
        lines = {value.lineno for call in candidates for value in _argument(call, word)}
        if len(lines) == 1:
            return f"{source.file}:{lines.pop()}"
    return where


def _argument(call: ast.expr, word: str) -> list[ast.expr]:
    """The argument of a loss function by its keyword, or the weights of its classes by their place."""
    if not isinstance(call, ast.Call):
        return []
    found = [given.value for given in call.keywords if given.arg == word]
    first = word == "weight" and last_name(call.func) in ("CrossEntropyLoss", "NLLLoss")
    return found or (call.args[:1] if first else [])


def _assignments(source: Source, name: str) -> list[ast.Assign]:
    """Assignments to a variable or to an attribute of that name."""
    found = [node for node in ast.walk(source.tree) if isinstance(node, ast.Assign) and name]
    return [node for node in found if any(last_name(target) == name for target in node.targets)]


def loss_line(where: str) -> str:
    """The statement that made the loss of the backward pass at a line; that line if it is written there."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return where
    for call in calls(node, "backward"):
        scaled = [given for scale in calls(call, "scale") for given in scale.args]
        name = _base(scaled[0] if scaled else call)
        binding = binding_of(source, name, source.scope(name)) if isinstance(name, ast.Name) else None
        if isinstance(binding, ast.Assign) and calls(binding.value):
            return place_of(source, binding)
    return where


def _base(node: ast.expr) -> ast.expr:
    """What a method is called on, or a sum or quotient is made from: loss in `(loss / 4).mean()`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.BinOp):
            node = node.right if isinstance(node.left, ast.Constant) else node.left
        else:
            return node


def cut_line(where: str, module: str | None) -> str:
    """The line of a file that cuts what a module returns off its graph; empty if none is seen to do so."""
    source = read(where)
    name = (module or "").rpartition(".")[2]
    if not name:
        return ""
    without: list[ast.AST] = []
    for call in calls(source.tree, name):
        around = list(source.around(call))
        statement = next(part for part in around if isinstance(part, ast.stmt))
        targets = names_in(statement) if isinstance(statement, ast.Assign) else set()
        later = [node for node in ast.walk(source.scope(call)) if isinstance(node, ast.Attribute)]
        cuts = [node for node in later if node.attr in CUTTERS and node.lineno >= statement.lineno]
        for node in cuts:
            own = any(part is call for part in ast.walk(node.value))
            if own or (isinstance(node.value, ast.Name) and node.value.id in targets):
                return place_of(source, node)
        blocks = [part for part in around if isinstance(part, ast.With) and _is_without(part.items)]
        scope = source.scope(call)
        marked = isinstance(scope, Function) and _is_without(scope.decorator_list)
        without += blocks or ([statement] if marked else [])
    return place_of(source, without[0]) if len(without) == 1 else ""


def _is_without(parts: Sequence[ast.AST]) -> bool:
    """Whether one of some contexts or decorators is torch.no_grad or torch.inference_mode."""
    names = {last_name(node) for part in parts for node in ast.walk(part)}
    return bool(names & {"no_grad", "inference_mode"})


def uncalled(where: str, *methods: str) -> str:
    """The nearest line of the file that names a method and does not call it; empty if there is none."""
    source = read(where)
    named = [node for node in ast.walk(source.tree) if isinstance(node, ast.Expr)]
    named = [node for node in named if isinstance(node.value, ast.Attribute) and node.value.attr in methods]
    line = line_of(where)
    return place_of(source, min(named, key=lambda node: abs(node.lineno - line), default=None))


def skipped_step(where: str, built: str) -> str:
    """The condition around the step of an optimiser, in the function of a backward pass; empty if none is."""
    source = read(where)
    node, made = (statement_at(source, line) for line in (where, built))
    if node is None:
        return ""
    names = {last_name(t) for t in made.targets} if isinstance(made, ast.Assign) else set()
    scope = source.scope(node)
    for call in calls(scope, "step"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        scaled = {last_name(given) for given in call.args}
        if source.scope(call) is scope and ({last_name(owner)} | scaled) & names:
            held = [part for part in source.around(call) if isinstance(part, ast.If)]
            if held:
                return place_of(source, held[0])
    return ""


def training_line(where: str) -> str:
    """The last `train()` before a line of the same function; empty if there is none."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return ""
    scope = source.scope(node)
    found = [call for call in calls(scope, "train") if source.scope(call) is scope and not call.args]
    found = [call for call in found if call.lineno < node.lineno and isinstance(call.func, ast.Attribute)]
    return place_of(source, max(found, key=lambda call: call.lineno, default=None))


def masking_line(where: str) -> str:
    """The line that masks scores of attention in the function of a line; empty if none does."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return ""
    scope = source.scope(node)
    for names in (("masked_fill", "masked_fill_", "where", "tril", "triu"), ("softmax", ATTENTION)):
        found = [call for call in calls(scope, *names) if source.scope(call) is scope]
        if found:
            return place_of(source, min(found, key=lambda call: call.lineno))
    return ""


def frozen_line(where: str) -> str:
    """The first line of a file that sets requires_grad to something else than True; empty if none does."""
    source = read(where)
    found: list[ast.stmt | ast.expr] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and any(last_name(t) == "requires_grad" for t in node.targets):
            found += [] if _is_true(node.value) else [node]
        elif isinstance(node, ast.Call) and last_name(node.func) == "requires_grad_":
            found += [] if not node.args or _is_true(node.args[0]) else [node]
    return place_of(source, min(found, key=lambda node: node.lineno, default=None))


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def divides_rate(where: str, rows: int) -> bool:
    """Whether the rate that an optimiser is given at a line was divided by the rows of a batch."""
    source = read(where)
    node = statement_at(source, where)
    if node is None:
        return False
    words = [word for call in calls(node) for word in call.keywords]
    given = [word.value for word in words if word.arg == "lr"]
    given += [made.value for rate in given for made in _assignments(source, last_name(rate))]
    quotients = [value for value in given if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)]
    return any(_is_number(source, value.right, rows) for value in quotients)


def _is_number(source: Source, node: ast.expr, number: int) -> bool:
    """Whether an expression is a number, written there or where its name is assigned, or counts a batch."""
    values = [node, *(made.value for made in _assignments(source, last_name(node)))]
    written = any(isinstance(value, ast.Constant) and value.value == number for value in values)
    return written or "batch" in last_name(node).lower()
