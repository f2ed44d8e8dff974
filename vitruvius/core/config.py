"""What a verb is asked to do: one frozen model that is flags, JSON file, HTTP body and record at once.

`Config` says what is done and is recorded; `Flags` says how it is run and shown and is not.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from tyro.conf import Positional, Suppress

from vitruvius.core.errors import UserError, unknown


class Strict(BaseModel):
    """A frozen model without surprises whose validation errors are sentences (`UserError`)."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )

    def __init__(self, **fields: Any) -> None:
        # Not a validator: inside a union pydantic must see its own errors to try the next member.
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise UserError(_sentence(type(self), error)) from None


class Part(Strict):
    """Some settings that belong together; a verb's `Config` inherits the parts it needs, so that a field is described once.

    A subclass that only changes a default repeats the field without its docstring: the help is inherited.
    """

    group: ClassVar[str] = "options"
    """The heading in `--help` below which the fields that this class declares are listed."""


class Config(Part):
    """Everything a verb needs to know; each field is a flag, a JSON key and a line of `config.json`."""

    takes: ClassVar[tuple[str, ...]] = ("json", "quiet")
    """The fields of `Flags` that the verb takes."""
    short: ClassVar[tuple[str, ...]] = ()
    """The options that `-h` shows; default: the first ten."""


class RunConfig(Config):
    """The config of a verb that keeps a run folder."""

    takes: ClassVar[tuple[str, ...]] = (*Config.takes, "name", "resume", "runs")


@dataclass(frozen=True)
class Flags:
    """How a verb is run and shown."""

    json: bool = False
    """Print the result as one JSON document."""
    quiet: bool = False
    """No progress, only the result."""
    name: str | None = None
    """Name of the run folder; default: date and time."""
    resume: str | None = None
    """Continue this run (a name or a folder) where it stopped."""
    runs: str = "runs"
    """The folder that holds all runs."""
    allow_inexact: bool = False
    """With --resume: go on although machine, threads or versions differ; the run is marked inexact."""
    walk: bool = False
    """One step at a time: Enter shows the next."""


def _split(value: Any) -> Any:
    """Lists are written `a,b` or `a b`.

    >>> _split("5,20"), _split(["a,b", "c"]), _split(3)
    (('5', '20'), ('a', 'b', 'c'), (3,))
    """
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable):
        return (value,)
    return tuple(
        part
        for item in value
        for part in (filter(None, item.split(",")) if isinstance(item, str) else [item])
    )


__all__ = [
    "Config",
    "Flags",
    "Ints",
    "Names",
    "Part",
    "Positional",
    "Rest",
    "RunConfig",
    "Settings",
    "Strict",
    "changed",
    "settings",
]

Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Ints = Annotated[tuple[int, ...], BeforeValidator(_split)]
Settings = Annotated[tuple[str, ...], "field=value"]
"""What `--set` takes: `field=value`, as often as wanted."""
Rest = Annotated[tuple[str, ...], "rest", Suppress]
"""The words after the first positional one, whatever they are: they belong to somebody else."""


def settings(given: Settings) -> dict[str, Any]:
    """The fields that `--set field=value` names; values are JSON, comma lists or words.

    >>> settings(("depth=4", "heads=2,4", "kernel=linear", "class_token=false", "x=1/2,3/4"))
    {'depth': 4, 'heads': [2, 4], 'kernel': 'linear', 'class_token': False, 'x': ['1/2', '3/4']}
    """
    fields: dict[str, Any] = {}
    for item in given:
        field, equals, value = item.partition("=")
        if not equals or not field:
            raise UserError(f"--set takes field=value, got '{item}'")
        fields[field.strip()] = _value(value.strip())
    return fields


def changed(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """The fields in which two configs differ, in order of the first."""
    return [key for key in {**recorded, **asked} if recorded.get(key) != asked.get(key)]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        simple = "," in text and not any(mark in text for mark in '[]{}"')
        return [_value(part.strip()) for part in text.split(",")] if simple else text


_WORDS = {
    "int_parsing": "needs a whole number",
    "int_type": "needs a whole number",
    "int_from_float": "needs a whole number",
    "float_parsing": "needs a number",
    "float_type": "needs a number",
    "bool_parsing": "needs true or false",
    "missing": "is missing",
}


def _sentence(model: type[BaseModel], error: ValidationError) -> str:
    """All faults of one validation in a sentence each, joined by semicolons."""
    sentences: dict[str, None] = {}  # an ordered set: a union type reports one fault several times
    for fault in error.errors():
        place = [
            str(part) for part in fault["loc"] if str(part) in model.model_fields or isinstance(part, int)
        ]
        field = ".".join(place) or model.__name__.lower()
        if fault["type"] == "extra_forbidden":
            raise unknown(f"field in {model.__name__}", str(fault["loc"][-1]), model.model_fields)
        if fault["type"] == "value_error":
            message = str(fault["ctx"]["error"])
            sentences[f"{field}: {message}" if place else message] = None
        elif fault["type"] == "missing":
            sentences[f"{fault['loc'][-1]} is missing"] = None
        else:
            what = _WORDS.get(fault["type"], fault["msg"].lower().replace("input should be", "must be"))
            sentences[f"{field} {what}, got {_brief(fault['input'])}"] = None
    return "; ".join(sentences)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
