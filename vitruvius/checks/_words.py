"""Whether names in the user's source code suggest that a line evaluates on test data."""

import ast
import linecache
import re
from functools import lru_cache

from vitruvius.checks import Forward

TEST = re.compile(r"(?<![a-wz])test|valid|(?<![a-wz])val(?!ue)|held|(?<!ri)eval|unseen", re.IGNORECASE)
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


def speaks_of_test(event: Forward) -> bool:
    """Whether the line, a call of its function, or (if no call speaks of training) its name does so."""
    file, _, line = event.where.rpartition(":")
    function = event.function
    calls = [text.replace(function, "") for text in linecache.getlines(file) if f"{function}(" in text]
    calls = [text for text in calls if not text.lstrip().startswith(("def ", "async def "))]
    if any(TEST.search(text) for text in (statement(file, int(line or 0)), *calls)):
        return True
    return bool(TEST.search(function)) and (not calls or not all(TRAIN.search(text) for text in calls))
