"""What a student hands in, read with care: JSON or CSV, limited in size, numbers as they were written."""

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.errors import UserError

LIMIT = 1_000_000
"""Bytes of the answers of one student."""
PATH = re.compile(r"(\w[\w .-]*?)((?:\.[\w -]+|\[\d{1,4}(?:,\s*\d{1,4})*\])*)")


def read(source: str) -> dict[str, Any]:
    """Values by name, from a JSON file, from standard input (-) or from the JSON itself."""
    if source.lstrip().startswith(("{", "[")):
        return parse(source, "--check")
    if source == "-":
        text = sys.stdin.read(LIMIT + 1)
        if len(text) > LIMIT:
            raise UserError(f"standard input: at most {LIMIT:,} bytes are read")
        return parse(text, "standard input")
    path = Path(source)
    return parse(_decoded(path), source)


def parse(text: str, where: str) -> dict[str, Any]:
    """The object that a JSON text holds; a decimal stays the text it was written as (0.50 has two digits)."""
    try:
        value = json.loads(
            text, parse_float=str, parse_int=_integer, parse_constant=_refused, object_pairs_hook=_once
        )
        files.refuse_surrogates(text, value)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{where}: not JSON: {error.msg} in {position}") from None
    except RecursionError:
        raise UserError(f"{where}: not JSON: it is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{where}: an object with values by name is needed, it holds {files.kind(value)}")
    return value


def handed_in(path: Path) -> dict[str, Any]:
    """What one student has handed in, from a JSON or a CSV file."""
    text = _decoded(path)
    return table(text, str(path)) if path.suffix.lower() == ".csv" else parse(text, str(path))


def table(text: str, where: str) -> dict[str, Any]:
    """A CSV with the columns lesson, value and answer: {"answers": {lesson: {value: answer}}}.

    Entries of a matrix are rows of their own, `weights[2,1]`; rows without a lesson say who hands in
    (student) and which sheet (variant)."""
    rows, found = csv.DictReader(io.StringIO(text.lstrip("\ufeff"))), dict[str, Any](answers={})
    try:
        if not {"lesson", "value", "answer"} <= set(rows.fieldnames or ()):
            names = ", ".join(rows.fieldnames or ()) or "nothing"
            raise UserError(f"{where}: the columns lesson, value and answer are needed, it has {names[:80]}")
        for number, row in enumerate(rows, 2):
            lesson, name, answer = (str(row[key] or "").strip() for key in ("lesson", "value", "answer"))
            if not lesson and name in ("student", "variant"):
                found[name] = int(answer) if name == "variant" and answer.isdigit() else answer
            elif answer and (fault := _fault(found["answers"].setdefault(lesson, {}), name, answer)):
                raise UserError(f"{where}: line {number}: '{name[:40]}' is {fault}")
    except csv.Error as error:
        raise UserError(f"{where}: not CSV: {error}") from None
    return found


def _fault(values: dict[Any, Any], name: str, answer: str) -> str:
    """Put an answer at its place in nested dictionaries, or say what is wrong with its name.

    A list becomes a dictionary by number, from 1."""
    found, no_value = PATH.fullmatch(name), "no value such as weights[2,1]"
    if not found:
        return no_value
    parts: list[Any] = [found[1]]
    for word, numbers in re.findall(r"\.([\w -]+)|\[([\d, ]+)\]", found[2]):
        parts += [word] if word else [int(number) for number in numbers.split(",")]
    for part in parts[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            return no_value
    if parts[-1] in values:
        return "given twice"
    values[parts[-1]] = answer
    return ""


def _decoded(path: Path) -> str:
    try:
        return files.read(path, LIMIT, follow=True).decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: it is no text in UTF-8") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names occur once: of two answers with one name, nobody knows which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"'{twice[:40]}' is given twice")
    return found


def _integer(text: str) -> Any:
    return int(text) if len(text) <= 40 else text  # a text is refused where it stands, with its name


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
