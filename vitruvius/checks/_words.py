"""Whether names in the user's source code suggest that a line evaluates on test data."""

import ast
import linecache
import re
from functools import lru_cache

from vitruvius.checks import Forward

TEST = re.compile(
    r"(?<![a-wz])test|valid|(?<![a-wz])val(?!ue)|held|(?<!ri)eval|unseen"
    r"|\b[xy]_?(?:va?|te)\b|\bva\b|(?:_|\b)dev_?(?:set|loader|data|iter)",
    re.IGNORECASE,
)
NEAR = 12  # lines after a figure was computed in which it is told
TRAIN = re.compile(r"train|fit", re.IGNORECASE)


def statement(file: str, line: int) -> str:
    """The lines of the simple statement at a line: a generator expression may name its data elsewhere."""
    spans = _statements("".join(linecache.getlines(file)))
    first, last = next((span for span in spans if span[0] <= line <= span[1]), (line, line))
    return "".join(linecache.getline(file, number) for number in range(first, last + 1))


@lru_cache(maxsize=16)
def _statements(source: str) -> list[tuple[int, int]]:
    """First and last line of the simple statements of several lines in a source text."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    simple = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return [(n.lineno, n.end_lineno) for n in simple if n.end_lineno and n.end_lineno > n.lineno]


def _told(file: str, line: int) -> str:
    """The words with which the figure that a line computes is printed soon after it."""
    source = "".join(linecache.getlines(file))
    return " ".join(_words_of(source, line))


@lru_cache(maxsize=64)
def _words_of(source: str, line: int) -> list[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AugAssign)]
    made = [node for node in made if node.lineno <= line <= (node.end_lineno or line)]
    names = {
        part.id
        for node in made
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [node for node in calls if line < node.lineno <= line + NEAR]
    calls = [node for node in calls if names & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}]
    parts = [part for node in calls for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return [part.value for part in parts if isinstance(part.value, str)]


def speaks_of_test(event: Forward) -> bool:
    """Whether the line, a call of its function, or (if no call speaks of training) its name does so."""
    file, _, line = event.where.rpartition(":")
    function = event.function
    calls = [text.replace(function, "") for text in linecache.getlines(file) if f"{function}(" in text]
    calls = [text for text in calls if not text.lstrip().startswith(("def ", "async def "))]
    said = (statement(file, int(line or 0)), *calls, _told(file, int(line or 0)))
    if any(TEST.search(text) for text in said):
        return True
    return bool(TEST.search(function)) and (not calls or not all(TRAIN.search(text) for text in calls))
