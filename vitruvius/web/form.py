"""The form of a lesson: a field per entry of its Question's JSON schema, and the numbers that it was sent.

Texts are read as `explain --set` reads them (JSON, a comma list or a word); a matrix may also be written as
lines of numbers.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vitruvius import lessons
from vitruvius.core.config import settings
from vitruvius.core.errors import BadFields, UserError

LONGEST = 20_000  # characters of one field


@dataclass(frozen=True)
class Field:
    """One entry of a question as a form shows it."""

    name: str
    kind: str  # integer, choice, switch, matrix, json or text
    text: str  # what it holds now
    default: str
    choices: tuple[str, ...] = ()
    hint: str = ""
    refusal: str = ""

    @property
    def lines(self) -> int:
        """The height of a text area."""
        return min(12, max(2, self.text.count("\n") + 1))


@dataclass(frozen=True)
class Form:
    """The fields of a lesson, and its question if all of them can be taken."""

    fields: tuple[Field, ...]
    question: lessons.Question | None
    refusal: str = ""
    """What is wrong with the numbers as a whole."""


def form(question_type: type[lessons.Question], sent: Mapping[str, str]) -> Form:
    """Read the numbers that were sent; what cannot be taken is said beside its field."""
    schema = question_type.model_json_schema()
    properties, definitions = schema.get("properties", {}), schema.get("$defs", {})
    fields = {name: _field(name, entry, definitions) for name, entry in properties.items()}
    given, faults = {}, dict[str, str]()
    for name, text in sent.items():
        try:
            value = _value(name, text, fields.get(name))
        except UserError as error:
            faults[name] = str(error)
            continue
        if value is not ...:
            given[name] = value
    question = None
    try:
        question = question_type(**given) if not faults else None
    except BadFields as error:
        for name, sentence in error.faults:
            faults[name] = f"{faults[name]}; {sentence}" if name in faults else sentence
    except UserError as error:
        faults[""] = str(error)
    filled = (
        replace(field, text=sent.get(name) or field.default, refusal=faults.get(name, ""))
        for name, field in fields.items()
    )
    whole = "; ".join(sentence for name, sentence in faults.items() if name not in fields)
    return Form(tuple(filled), question, whole)


def _field(name: str, entry: Mapping[str, Any], definitions: Mapping[str, Any]) -> Field:
    """What the schema says about an entry of a question, with its default in the field."""
    options = [_resolved(one, definitions) for one in entry.get("anyOf", [entry])]
    plain = [one for one in options if one.get("type") != "null"]
    first = plain[0] if plain else {}
    choices, least, most = tuple(map(str, first.get("enum", ()))), first.get("minimum"), first.get("maximum")
    kind = _kind(plain, choices)
    default = written(entry.get("default"), kind)
    hint = "a row per line" if kind == "matrix" else "may be empty" if len(plain) < len(options) else ""
    if least is not None and most is not None:
        hint = f"{least:,} to {most:,}"
    return Field(name, kind, default, default, choices, hint)


def written(value: Any, kind: str) -> str:
    """Return a value as a form shows it.

    >>> written([["1", "1/2"], ["0", "3"]], "matrix")
    '1  1/2\\n0  3'
    >>> written(["1", "2"], "text"), written(None, "text"), written(3, "integer"), written(True, "switch")
    ('1, 2', '', '3', 'true')
    """
    if value is None:
        return ""
    if kind == "matrix" and _is_matrix(value):
        return "\n".join("  ".join(map(str, row)) for row in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(map(str, value))
    if isinstance(value, list):
        return "[" + ",\n ".join(_plain_json(one) for one in value) + "]"
    return value if isinstance(value, str) else _plain_json(value)


def _plain_json(value: Any) -> str:
    """Return JSON in which whole numbers stand without quotes, as people write them."""
    return re.sub(r'"(-?\d+)"(?!:)', r"\1", json.dumps(value, ensure_ascii=False))


def _value(name: str, text: str, known: Field | None) -> Any:
    """Read the text of a field; `...` stands for its default."""
    if len(text) > LONGEST:
        raise UserError(f"{name}: at most {LONGEST:,} characters are read, it has {len(text):,}")
    text = text.strip()
    if not text or (known is not None and text == known.default):
        return ...
    if known is not None and known.kind == "matrix" and not set(text) & set("[{"):
        lines = [line.replace(",", " ").split() for line in text.splitlines()]
        return [line for line in lines if line]
    return settings((f"{name}={text}",))[name]


def _kind(options: list[Mapping[str, Any]], choices: tuple[str, ...]) -> str:
    types = {one.get("type") for one in options}
    if choices:
        return "choice"
    if types == {"boolean"}:
        return "switch"
    if types == {"integer"}:
        return "integer"
    if "object" in types:
        return "json"
    if types == {"array"}:
        items = [one.get("items", {}) for one in options]
        if all(item.get("type") == "array" and not _is_deep(item) for item in items):
            return "matrix"
        return "json" if any(item.get("type") == "array" for item in items) else "text"
    return "json" if "array" in types else "text"


def _is_deep(row: Mapping[str, Any]) -> bool:
    entries = [row.get("items", {}), *row.get("prefixItems", ())]
    return any(one.get("type") == "array" for entry in entries for one in entry.get("anyOf", [entry]))


def _resolved(entry: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = str(entry.get("$ref", "")).rpartition("/")[2]
    return definitions.get(reference, {}) if reference else entry


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) for row in value)
