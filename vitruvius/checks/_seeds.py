"""Where random numbers begin anew inside a loop, so that every pass of it draws the same ones."""

import ast

from vitruvius.checks._bindings import Function
from vitruvius.checks._source import Source, calls, read

SEEDS = ("manual_seed", "seed", "set_seed", "seed_all", "seed_everything", "default_rng", "RandomState")


def seeded_again(where: str) -> str:
    """`file:line` that seeds in a loop, itself or in a function that a loop calls; empty if none does."""
    source = read(where)
    seeding = calls(source.tree, *SEEDS)
    for call in seeding:
        if _repeats(source, call):
            return f"{source.file}:{call.lineno}"
    for call in seeding:
        function = source.scope(call)
        if not isinstance(function, Function):
            continue
        users = [used for used in calls(source.tree, function.name) if _repeats(source, used)]
        if users:  # a function that only seeds is right; who calls it in a loop is not
            only = "seed" in function.name or len(function.body) == 1
            return f"{source.file}:{users[0].lineno if only else call.lineno}"
    return ""


def _repeats(source: Source, call: ast.Call) -> bool:
    """Whether a loop of the same function runs a call again and again."""
    scope = source.scope(call)
    for held in source.around(call):
        if held is scope:
            return False
        if isinstance(held, ast.While):
            return True
        if isinstance(held, ast.For) and not any(part is call for part in ast.walk(held.iter)):
            return True
    return False
