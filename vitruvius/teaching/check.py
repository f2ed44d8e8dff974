"""Check a student's values: which is the first wrong one, by which mistake, and what follows from it."""

import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vitruvius.core.errors import UserError, unknown
from vitruvius.core.files import kind
from vitruvius.lessons import listed
from vitruvius.teaching import numbers
from vitruvius.teaching.numbers import Written
from vitruvius.teaching.results import Judged
from vitruvius.teaching.solution import Solution, comparable

TRIES = 4
"""Ways in which written digits are moved within their rounding, to see what that does to later values."""

CARRIED = 0.02
"""Largest difference that roundings may add up to, as part of a value's largest entry."""


class Work(NamedTuple):
    """What a student has written before a value: own numbers by name, and mistakes recognised in them."""

    values: dict[str, Any]
    moved: tuple[dict[str, Any], ...]
    """The same numbers, each somewhere within the rounding of its digits."""
    mistakes: list[str]
    wrong: list[str]


def judge(solution: Solution, answers: Mapping[str, Any]) -> Iterator[Judged]:
    """The verdict on every value of a solution, in order, also on those that were not given."""
    given = read(solution, answers)
    dice = random.Random(0)
    work = Work({}, tuple({} for _ in range(TRIES)), [], [])
    for name in solution.values:
        entries = given.get(name)
        if entries is None or not any(True for _ in _pairs(entries, solution.values[name])):
            yield Judged(name=name, status="missing")
            continue
        judged, matched = _judged(solution, work, name, entries)
        yield judged
        work.values[name] = _numbers(entries, matched)
        for moved in work.moved:
            moved[name] = _numbers(entries, matched, dice)
        work.mistakes.extend(judged.mistakes[:1])
        if judged.status == "wrong":
            work.wrong.append(name)
    yield from (Judged(name=name, status="unchecked") for name in answers if name in solution.not_judged)


def _judged(solution: Solution, work: Work, name: str, entries: Any) -> tuple[Judged, Any]:
    """The verdict on one value, and the value that it is, if it is a known one."""
    truth = solution.values[name]
    if _fits(entries, truth):
        return Judged(name=name, status="right"), truth
    value = _following(solution, work, work.mistakes, name, entries) if work.values else None
    if value is not None:
        if work.wrong:
            return Judged(name=name, status="consistent", because=work.wrong[0]), value
        return Judged(name=name, status="right", because="rounding"), value
    found = list(_mistakes(solution, work, name, entries))
    mistakes, says = tuple(key for key, _, _ in found), tuple(said for _, said, _ in found)
    return Judged(name=name, status="wrong", mistakes=mistakes, says=says), found[0][2] if found else None


def _mistakes(solution: Solution, work: Work, name: str, entries: Any) -> Iterator[tuple[str, str, Any]]:
    """The mistakes that give this value, whether in its own step or in one before that was not written."""
    lines, tried = solution.lines(work.values, work.mistakes), set(work.mistakes)
    for earlier, line in lines.items():
        for key, (says, _) in line.mistakes.items():
            if key not in tried and earlier not in work.values:
                tried.add(key)
                value = _following(solution, work, [*work.mistakes, key], name, entries)
                if value is not None:
                    yield key, says, value
        if earlier == name:
            return


def _following(solution: Solution, work: Work, made: list[str], name: str, entries: Any) -> Any:
    """The value that follows from what was written and from mistakes, if the entries are that value."""
    lines, truth = solution.lines(work.values, made), solution.values[name]
    if name not in lines:
        return None
    value = listed(lines[name].value)
    if _fits(entries, value, truth):
        return value
    if not _near(entries, value):
        return None
    others = [solution.lines(moved, made) for moved in work.moved]
    found = [listed(line[name].value) for line in others if name in line]
    return value if _follows(entries, value, found, truth) else None


def read(solution: Solution, answers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of an answer by name; an unknown name, a wrong shape or a text without value is refused."""
    found = {}
    for name, given in answers.items():
        if name in solution.not_judged:
            continue
        if name not in solution.values:
            raise unknown(f"value in {solution.lesson}", str(name)[:60], solution.values)
        found[name] = _entries(name, given, solution.values[name])
    return {name: entries for name, entries in found.items() if entries is not None}


def _entries(path: str, given: Any, truth: Any) -> Any:
    """A given value with the structure of the true one; what was left out is None."""
    given = given.tolist() if hasattr(given, "tolist") else given
    if given is None or given == "":
        return None
    if isinstance(truth, Mapping):
        if not isinstance(given, Mapping):
            raise UserError(f"{path} needs an object with {', '.join(map(str, truth))}, got {kind(given)}")
        for key in given:
            if key not in truth:
                raise unknown(f"entry in {path}", str(key)[:60], map(str, truth))
        return {key: _entries(f"{path}.{key}", given.get(key), item) for key, item in truth.items()}
    if isinstance(truth, list | tuple):
        return _list(path, given, truth)
    if not comparable(truth):
        return None
    if isinstance(truth, bool):
        return _truth_value(path, given)
    if isinstance(truth, str):
        if not isinstance(given, str):
            raise UserError(f"{path} needs a word, got {kind(given)}")
        return given
    if isinstance(given, list | tuple | Mapping):
        raise UserError(f"{path} needs one number, got {kind(given)}")
    try:
        return numbers.read(given)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _list(path: str, given: Any, truth: Any) -> list[Any]:
    if isinstance(given, Mapping) and all(isinstance(key, int) for key in given):  # entries by number
        if not 1 <= min(given) <= max(given) <= len(truth):
            raise UserError(f"{path} needs entries 1 to {len(truth)}, got {max(given)}")
        given = [given.get(number) for number in range(1, len(truth) + 1)]
    if not isinstance(given, list | tuple):
        raise UserError(f"{path} needs {_shape(truth)} entries, got {kind(given)}")
    flat = not any(isinstance(item, list | tuple | Mapping) for item in truth)
    if flat and len(given) == len(truth) and all(isinstance(row, list) and len(row) == 1 for row in given):
        given = [row[0] for row in given]  # a column
    if len(given) != len(truth):
        raise UserError(f"{path} needs {_shape(truth)} entries, got {_shape(given)}")
    return [_entries(f"{path}[{i}]", *pair) for i, pair in enumerate(zip(given, truth, strict=True), 1)]


def _truth_value(path: str, given: Any) -> bool:
    words = {"true": True, "yes": True, "false": False, "no": False}
    found = given if isinstance(given, bool) else words.get(str(given).strip().lower())
    if found is None:
        raise UserError(f"{path} needs true or false, got {str(given)[:40]!r}")
    return found


def _shape(value: Any) -> str:
    """The lengths of nested lists.

    >>> _shape([[1, 2, 3], [4, 5, 6]])
    '2 x 3'
    """
    sizes = []
    while isinstance(value, list | tuple):
        sizes.append(str(len(value)))
        value = value[0] if value else None
    return " x ".join(sizes)


def agrees(value: Any, truth: Any) -> bool:
    """Whether a computed value is the true one, up to the rounding of floats."""
    try:
        return _fits(_entries("value", listed(value), truth), truth)
    except UserError:
        return False


def _pairs(entries: Any, truth: Any) -> Iterator[tuple[Any, Any]]:
    """Each entry that was given, beside the true one."""
    if entries is None:
        return
    if isinstance(truth, Mapping):
        for key, item in truth.items():
            yield from _pairs(entries[key], item)
    elif isinstance(truth, list | tuple):
        for entry, item in zip(entries, truth, strict=True):
            yield from _pairs(entry, item)
    else:
        yield entries, truth


def _fits(entries: Any, value: Any, truth: Any = None) -> bool:
    """Whether every entry that was given is that of a value, to the digits that were written."""
    return all(_same(*triple) for triple in _with_slack(entries, value, truth))


def _follows(entries: Any, value: Any, others: list[Any], truth: Any) -> bool:
    """Whether the entries are a value that was computed from rounded numbers, wherever these lie."""
    columns = zip(*([item for _, item in _pairs(entries, other)] for other in others), strict=True)
    triples = list(_with_slack(entries, value, truth))
    largest = max((abs(float(v)) for _, v, _ in triples if isinstance(v, int | float)), default=0.0)
    for (entry, follows, slack), found in zip(triples, columns, strict=True):
        if isinstance(entry, Written):
            spread = max((2 * abs(float(other) - float(follows)) for other in found), default=0.0)
            slack = max(slack, min(spread, CARRIED * largest))
        if not _same(entry, follows, slack):
            return False
    return True


def _near(entries: Any, value: Any) -> bool:
    """Whether roundings could make up the difference: it is worth a closer look."""
    pairs = [pair for pair in _pairs(entries, value) if isinstance(pair[0], Written) and pair[1] is not None]
    largest = max((abs(float(number)) for _, number in pairs), default=0.0)
    return all(abs(float(e.value) - float(v)) <= CARRIED * largest + e.unit for e, v in pairs)


def _with_slack(entries: Any, value: Any, truth: Any = None) -> Iterator[tuple[Any, Any, float]]:
    """Entries given and computed, and the difference that is rounding beside the largest number.

    The true value counts among them: what should cancel to 0 leaves its rounding, where 0 is exact, too."""
    pairs = list(_pairs(entries, value))
    both = [number for _, number in (*pairs, *_pairs(entries, truth)) if numbers.is_number(number)]
    slack = numbers.NOTHING * max((abs(float(number)) for number in both), default=0.0)
    for entry, number in pairs:
        rounded = isinstance(number, float) or (numbers.is_number(number) and number == 0)
        yield entry, number, slack if rounded else 0.0


def _same(entry: Any, truth: Any, slack: float) -> bool:
    if isinstance(entry, Written):
        if truth is None or isinstance(truth, str) or truth != truth:
            return False
        return entry.fits(truth, slack)
    if isinstance(entry, str):
        return isinstance(truth, str) and entry.strip().casefold() == truth.strip().casefold()
    return bool(entry == truth)


def _numbers(entries: Any, matched: Any, dice: random.Random | None = None) -> Any:
    """The values of entries; with dice, somewhere within the rounding of the digits.

    An entry that is the matched value itself is not rounded: 2.5 may be five halves.
    """
    if isinstance(entries, Written):
        same = matched is not None and abs(float(entries.value) - float(matched)) <= 1e-9 * abs(
            float(matched)
        )
        if dice is None or not entries.unit or same:
            return entries.value
        return float(entries.value) + dice.uniform(-1, 1) * entries.unit
    if isinstance(entries, Mapping):
        return {key: _numbers(item, matched[key] if matched else None, dice) for key, item in entries.items()}
    if isinstance(entries, list):
        others = matched if matched is not None else [None] * len(entries)
        return [_numbers(*pair, dice) for pair in zip(entries, others, strict=True)]
    return entries
