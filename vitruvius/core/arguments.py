"""From command-line words to a Config and Flags: tyro reads the words, pydantic judges the values.

Every value reaches pydantic as text, so that a flag, a JSON file and a Python call fail with the same sentence.
"""

import inspect
from dataclasses import field, make_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from vitruvius.core.config import Config, Flags
from vitruvius.core.errors import UserError, unknown
from vitruvius.core.plugins import docstring, examples

SHOWN_FLAGS = ("json", "quiet")
"""What a verb without a run folder offers."""


def takes_flags(verb: Any) -> bool:
    """Whether a verb's `run` wants to know how it is run: it keeps a run folder."""
    return "flags" in inspect.signature(verb.run).parameters


def parse(verb: Any, program: str, arguments: list[str]) -> tuple[Config, Flags] | None:
    """The Config and Flags that the words describe; None if only help was asked for, which is then printed."""
    config_type: type[Config] = verb.Config
    keeps_runs = takes_flags(verb) and not hasattr(verb, "SHOWN_FLAGS")
    flag_names = [field for field in Flags.__dataclass_fields__ if keeps_runs or field in SHOWN_FLAGS]
    arguments, rest = _without_rest(arguments, config_type)
    shown = make_dataclass("Shown", [(name, *_flag(name)) for name in flag_names], frozen=True)
    call = make_dataclass(
        "Call", [("config", config_type), ("flags", Annotated[shown, tyro.conf.arg(name="")])]
    )
    if not any(word in ("-h", "--help") for word in arguments):
        _check_words(arguments, config_type, flag_names, program)
    source = Path(verb.__file__)
    text = docstring(source)
    parsed: Any
    try:
        parsed, left = tyro.cli(
            call,
            args=_gather(arguments, "--set"),
            prog=program,
            description="\n\n".join(
                part for part in text.split("\n\n") if not part.lstrip().startswith("vitruvius ")
            ),
            return_unknown_args=True,
            config=(
                tyro.conf.OmitArgPrefixes,
                tyro.conf.FlagCreatePairsOff,
                tyro.conf.OmitSubcommandPrefixes,
            ),
            registry=_texts(),
        )
    except SystemExit as end:
        if end.code == 0:
            print("\n".join(["Examples:", *(f"  {example}" for example in examples(source))]))
            return None
        raise
    if left:
        raise UserError(f"{program}: '{left[0]}' is one word too many; see {program} --help")
    config = config_type(**_typed(parsed.config, arguments), **(rest or {}))
    return config, Flags(**{name: getattr(parsed.flags, name) for name in flag_names})


def _typed(config: Config, arguments: list[str]) -> dict[str, Any]:
    """The fields that the words name, or that differ from their defaults; the others count as not given."""
    words = {word[2:].partition("=")[0].replace("-", "_") for word in arguments if word.startswith("--")}
    fields = type(config).model_fields
    values = {name: getattr(config, name) for name in fields if "rest" not in fields[name].metadata}
    return {name: value for name, value in values.items() if name in words or value != fields[name].default}


def _without_rest(arguments: list[str], config_type: type[Config]) -> tuple[list[str], dict[str, Any] | None]:
    """The words up to the first that is no option, and the rest for the field of type `Rest`, if there is one."""
    field = next((name for name, info in config_type.model_fields.items() if "rest" in info.metadata), None)
    if field is None:
        return arguments, None
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        name = arguments[place].lstrip("-").replace("-", "_")
        given = config_type.model_fields.get(name)
        place += 1 + (given is not None and given.annotation is not bool)
    return arguments[: place + 1], {field: tuple(arguments[place + 1 :])}


def _flag(name: str) -> tuple[Any, Any]:
    """One field of Flags with its help, for the parser."""
    text = inspect.getsource(Flags).split(f"    {name}: ", 1)[1].split('"""')[1]
    return Annotated[Flags.__annotations__[name], tyro.conf.arg(help=text)], field(
        default=getattr(Flags, name)
    )


def _check_words(
    arguments: list[str], config_type: type[Config], flag_names: list[str], program: str
) -> None:
    """Unknown options get the nearest known one; an option at the end that lacks its value is named."""
    fields = {name.replace("_", "-"): info.annotation for name, info in config_type.model_fields.items()}
    fields |= {name.replace("_", "-"): Flags.__annotations__[name] for name in flag_names}
    for index, word in enumerate(arguments):
        if not word.startswith("--") or word == "--":
            continue
        name = word[2:].partition("=")[0].replace("_", "-").removeprefix("no-")
        if name not in fields:
            raise unknown(f"option of {program}", word, [f"--{field}" for field in fields])
        following = arguments[index + 1 : index + 2]
        wants_value = (
            fields[name] is not bool and "=" not in word and get_origin(_bare(fields[name])) is not tuple
        )
        if wants_value and (not following or following[0].startswith("--")):
            raise UserError(f"{program}: {word} needs a value")


def _gather(arguments: list[str], option: str) -> list[str]:
    """Join the values of an option that is given more than once, as `--set a=1 --set b=2` is.

    >>> _gather(["--set", "a=1", "--seed", "3", "--set", "b=2", "c=3"], "--set")
    ['--seed', '3', '--set', 'a=1', 'b=2', 'c=3']
    """
    rest: list[str] = []
    values: list[str] = []
    before = ""
    inside = False
    for word in arguments:
        if word == option or word.startswith(f"{option}="):
            inside = True
            values += [word.partition("=")[2]] if "=" in word else []
        elif inside and not word.startswith("--") and ("=" in word or before == option):
            values.append(word)
        else:
            inside = False
            rest.append(word)
        before = word
    return [*rest, option, *values] if values else rest


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _texts() -> ConstructorRegistry:
    """A tyro registry that passes every value on as text."""
    registry = ConstructorRegistry()

    @registry.primitive_rule
    def as_text(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kind = _bare(info.type)
        many = get_origin(kind) is tuple
        if not many and kind not in (int, float, str) and get_origin(kind) not in (Literal, Union, UnionType):
            return None  # bool is a flag without a value; models and dataclasses are read field by field
        return PrimitiveConstructorSpec(
            nargs="*" if many else 1,
            metavar=f"{_metavar(get_args(kind)[0])} ..." if many else _metavar(kind),
            instance_from_str=tuple if many else lambda words: words[0],
            is_instance=lambda value: True,
            str_from_instance=lambda value: list(map(str, value)) if many else [str(value)],
        )

    return registry


def _metavar(kind: Any) -> str:
    kind = _bare(kind)
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return "|".join(dict.fromkeys(_metavar(part) for part in get_args(kind) if part is not NoneType))
    return {int: "N", float: "X", str: "TEXT"}.get(kind, "VALUE")
