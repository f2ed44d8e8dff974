"""Verdicts: does a second computation give the same values?"""

import math
from typing import Any

from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Proof, Value, leaves

SLACK = 1e-12
"""Absolute difference that is rounding, whatever the size of the values."""


def agree(name: str, method: str, claimed: Value, found: Value, tolerance: float = 1e-9) -> Proof:
    """The proof that two values are the same, entry by entry, to a relative tolerance.

    Of an answer, the fields that were found are compared.

    >>> agree("sum", "by hand", [1.0, 2.0], [1.0, 2.000001]).passed
    False
    """
    if isinstance(claimed, Answer):
        claimed = {field: claimed[field] for field in found}
    left, right = leaves(claimed), leaves(found)
    if left.keys() != right.keys():
        missing = sorted(left.keys() ^ right.keys())[:3]
        return Proof(
            name=name, method=method, passed=False, detail=f"different entries: {', '.join(missing)}"
        )
    gap, worst = 0.0, ""
    for path, value in left.items():
        difference = _difference(value, right[path])
        if difference > gap:
            gap, worst = difference, path
    passed = gap <= tolerance
    where = "" if passed else f" at {worst or 'the value'}: {left[worst]} against {right[worst]}"
    found = f"largest relative difference {gap:.1e}{where}" if gap else "equal up to rounding"
    return Proof(name=name, method=method, passed=passed, detail=f"{counted(len(left), 'entry')}, {found}")


def holds(name: str, method: str, passed: bool, detail: str) -> Proof:
    """The proof that a statement is true; the detail gives its numbers."""
    return Proof(name=name, method=method, passed=bool(passed), detail=detail)


def within(
    name: str, method: str, claimed: float, estimate: float, standard_error: float, limit: float = 4.0
) -> Proof:
    """The proof that a Monte-Carlo estimate lies within `limit` standard errors of the claim."""
    gap = abs(float(claimed) - estimate)
    shown = f"estimate {estimate:.6g} +- {standard_error:.2g} (standard error)"
    detail = f"{shown}, {gap:.2g} from {float(claimed):.6g}"
    return Proof(name=name, method=method, passed=gap <= limit * standard_error + SLACK, detail=detail)


def _difference(claimed: Any, found: Any) -> float:
    if isinstance(claimed, str | bool | None) or isinstance(found, str | bool | None):
        return 0.0 if claimed == found else math.inf
    gap = abs(float(claimed) - float(found))
    if not math.isfinite(gap):
        return 0.0 if claimed == found else math.inf  # NaN equals nothing
    return 0.0 if gap <= SLACK else gap / max(abs(float(claimed)), abs(float(found)))
