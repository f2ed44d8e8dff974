"""What a verb is asked to do: one frozen model that is options, JSON file, HTTP body and record at once.

`Config` says what is done and is recorded; `Flags` says how it is run and shown and is not recorded.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from vitruvius.core.errors import BadFields, UserError, unknown


class Strict(BaseModel):
    """A frozen model without surprises whose validation errors are sentences (`UserError`)."""

    # The build is deferred: half of the start-up time went into validators that help never uses.
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=(), defer_build=True
    )

    def __init__(self, **fields: Any) -> None:
        # Not a validator: inside a union pydantic must see its own errors to try the next member.
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise BadFields(_faults(type(self).__name__, type(self).model_fields, error)) from None
        except UnicodeEncodeError:  # a validator's own message that repeats what was given
            raise UserError(f"{type(self).__name__}: half of a surrogate pair is no character") from None


class Part(Strict):
    """Settings that belong together; a verb's `Config` inherits the parts that it needs.

    A field's docstring is its help, which `core/options` reads from the source when help is asked for. A
    subclass that only changes a default repeats the field without its docstring: the help is inherited.
    """

    group: ClassVar[str] = "options"
    """The heading in `--help` of the fields that this class declares."""

    @classmethod
    def read_older(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Return a recorded config with what older versions left unsaid and this one would read otherwise."""
        return dict(recorded)


class Config(Part):
    """Everything a verb needs to know; each field is an option, a JSON key and a line of `config.json`."""

    takes: ClassVar[tuple[str, ...]] = ("json", "quiet")
    """The fields of `Flags` that the verb takes."""
    short: ClassVar[tuple[str, ...]] = ()
    """The fields that `-h` shows; default: the first ten."""
    letters: ClassVar[Mapping[str, str]] = {}
    """Switches that also have a one-letter name: `{"module": "m"}` lets `-m` mean `--module`."""


class RunConfig(Config):
    """The config of a verb that keeps a run folder."""

    takes: ClassVar[tuple[str, ...]] = (*Config.takes, "name", "resume", "runs")
    changeable: ClassVar[tuple[str, ...]] = ()
    """The fields that may differ when a run is resumed."""


@dataclass(frozen=True)
class Flags:
    """How a verb is run and shown; each field with its help."""

    json: Annotated[bool, "Print the result as one JSON document."] = False
    quiet: Annotated[bool, "Show no progress, only the result."] = False
    walk: Annotated[bool, "Show one step at a time; Enter shows the next."] = False
    name: Annotated[str | None, "Name of the run folder; default: date and time."] = None
    resume: Annotated[str | None, "Continue this run (a name or a folder) where it stopped."] = None
    runs: Annotated[str, "The folder that holds all runs."] = "runs"
    allow_inexact: Annotated[
        bool, "With --resume: continue although machine, threads or versions differ; marks the run inexact."
    ] = False


def _split(value: Any) -> Any:
    """Split a list that is written `a,b` or `a b`.

    >>> _split("5,20"), _split(["a,b", "c"]), _split(3)
    (('5', '20'), ('a', 'b', 'c'), (3,))
    """
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable):
        return (value,)
    parts = (filter(None, item.split(",")) if isinstance(item, str) else [item] for item in value)
    return tuple(chain.from_iterable(parts))


T = TypeVar("T")
Positional = Annotated[T, "positional"]
"""A field that is given by its place on the command line, without its name."""
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Ints = Annotated[tuple[int, ...], BeforeValidator(_split)]
Settings = Annotated[tuple[str, ...], "field=value"]  # what `--set` takes: `field=value`, as often as wanted
Rest = Annotated[tuple[str, ...], "rest"]
"""All words after the first positional one: the arguments of the script that it names."""


def settings(given: Settings) -> dict[str, Any]:
    """Read `--set field=value`; a value is JSON, a comma list or a word.

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
    except RecursionError:
        raise UserError(f"--set: '{text[:20]}...' is nested too deeply") from None
    except ValueError:
        simple = "," in text and not any(mark in text for mark in '[]{}"')
        return [_value(part.strip()) for part in text.split(",")] if simple else text


_WORDS = {"bool_parsing": "needs true or false"}
_WORDS |= dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "needs a whole number")
_WORDS |= dict.fromkeys(("float_parsing", "float_type"), "needs a number")


def checked_flags(given: Mapping[str, Any]) -> Flags:
    """Make Flags of the arguments of a call, checked by pydantic."""
    if not given:
        return Flags()
    from pydantic import TypeAdapter  # a dataclass needs it, a listing does not

    try:
        return TypeAdapter(Flags).validate_python(given)
    except ValidationError as error:
        raise BadFields(_faults(Flags.__name__, Flags.__annotations__, error)) from None


def _faults(name: str, fields: Mapping[str, Any], error: ValidationError) -> list[tuple[str, str]]:
    """Say each fault of one validation in a sentence, with the field that it is about."""
    found: dict[tuple[str, str], None] = {}  # an ordered set: a union type reports one fault several times
    for fault in error.errors():
        path = [str(key) for key in fault["loc"] if str(key) in fields or isinstance(key, int)]
        field, first = ".".join(path) or name.lower(), path[0] if path else ""
        if fault["type"] == "extra_forbidden":
            raise unknown(f"field in {name}", str(fault["loc"][-1]), fields)
        if fault["type"] == "value_error":
            message = str(fault["ctx"]["error"])
            found[first, f"{field}: {message}" if path else message] = None
        elif fault["type"] == "missing":
            found[str(fault["loc"][-1]), f"{fault['loc'][-1]} is missing"] = None
        else:
            what = _WORDS.get(fault["type"], fault["msg"].lower().replace("input should be", "must be"))
            given = repr(fault["input"])
            brief = given if len(given) <= 60 else f"{given[:57]}..."
            found[first, f"{field} {what}, got {brief}"] = None
    return list(found)
