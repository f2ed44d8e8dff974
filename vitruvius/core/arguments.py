"""Turn command-line words into a Config and Flags: argparse reads the words, pydantic judges the values.

Every value reaches pydantic as text, so that an option, a JSON file and a Python call fail in the same words.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Union, get_args, get_origin

from pydantic import ValidationError

from vitruvius.core.config import Config, Flags, Part, sentence
from vitruvius.core.errors import UserError, unknown
from vitruvius.core.plugins import docstring, examples


class Field(NamedTuple):
    """A field of a Config or of Flags as the command line sees it."""

    name: str
    group: str
    help: str
    kind: Any
    default: Any
    marks: list[Any]

    @property
    def option(self) -> str:
        """How the field is written: `--data-dir`; `--no-x` for a switch that is on by default."""
        return f"--{'no-' * (self.default is True)}{self.name.replace('_', '-')}"


def fields(config_type: type[Config]) -> list[Field]:
    """List the fields of a Config by group, the verb's own first, then the Flags that it takes."""
    own = [_field(config_type, name) for name in config_type.model_fields]
    groups = list(dict.fromkeys([Part.group, *(field.group for field in own)]))
    own.sort(key=lambda field: groups.index(field.group))
    return own + [_field(Flags, name) for name in config_type.takes]


def parse(verb: Any, program: str, words: list[str]) -> tuple[Config, Flags] | None:
    """Return the Config and Flags that the words describe; None if help was asked for, which is printed."""
    known = fields(verb.Config)
    words, typed = _split_rest(words, known)
    asked = next((word for word in words if word in ("-h", "--help")), "")
    parser = _parser(verb, program, known, short=asked == "-h")
    if asked:
        print(parser.format_help(), end="")
        return None
    given, left = parser.parse_known_intermixed_args(_spelled_out(words))
    for word in left:
        if word.startswith("--"):
            raise unknown(f"option of {program}", word, [field.option for field in known])
    if left:
        raise UserError(f"{program}: '{left[0]}' is one word too many; see {program} --help")
    return from_python(verb.Config, (), typed | vars(given))


def from_python(
    config_type: type[Config], positionals: Sequence[str], options: Mapping[str, Any]
) -> tuple[Config, Flags]:
    """Return the Config and Flags that the arguments of a Python call describe."""
    given = dict(options)
    words = list(positionals)
    for field in fields(config_type):
        if words and {"positional", "rest"} & set(field.marks):
            many = get_origin(field.kind) is tuple
            given[field.name] = tuple(words) if many else words[0]
            words = [] if many else words[1:]
    if words:
        raise UserError(f"'{words[0]}' is one argument too many")
    flags = {name: given.pop(name) for name in config_type.takes if name in given}
    try:
        return config_type(**given), Flags(**flags)
    except ValidationError as error:
        raise UserError(sentence(Flags, error)) from None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise a sentence; since values are text, one that is missing or not wanted is the only fault."""
        option = message.removeprefix("argument ").partition(":")[0]
        raise UserError(f"{self.prog}: {option} {'needs a' if 'expected' in message else 'takes no'} value")


def _parser(verb: Any, program: str, known: list[Field], short: bool) -> argparse.ArgumentParser:
    """Build a parser whose namespace holds only what was typed; `short` hides all but ten options."""
    source = Path(verb.__file__)
    shown = (
        {*(verb.Config.short or [field.name for field in known][:10])} if short else {f.name for f in known}
    )
    paragraphs = docstring(source).strip().split("\n\n")
    positionals = [field.name.upper() for field in known if "positional" in field.marks]
    more = [f"\n{program} --help shows all {len(known)} options."] if len(shown) < len(known) else []
    parser = _Parser(
        prog=program,
        usage=" ".join([program, *(f"[{name}]" for name in positionals), "[OPTIONS]"]),
        description="\n\n".join(part for part in paragraphs if not part.startswith("vitruvius ")),
        epilog="\n".join(["examples:", *(f"  {example}" for example in examples(source)), *more]),
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30),
        argument_default=argparse.SUPPRESS,
        add_help=False,
        allow_abbrev=False,
    )
    groups = {title: parser.add_argument_group(title) for title in dict.fromkeys(f.group for f in known)}
    for field in known:
        if "rest" not in field.marks:
            name, how = _argument(field)
            if field.name not in shown and name.startswith("--"):
                how["help"] = argparse.SUPPRESS
            groups[field.group].add_argument(name, **how)
    return parser


def _argument(field: Field) -> tuple[str, dict[str, Any]]:
    """Return the name and the keywords with which argparse is told about a field."""
    many = get_origin(field.kind) is tuple
    value = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
    told = value in (None, "") or isinstance(value, bool) or "default" in field.help
    how: dict[str, Any] = {"help": (field.help + ("" if told else f" (default: {value})")).replace("%", "%%")}
    if "positional" in field.marks:
        return field.name, how | {"nargs": "*" if many else "?", "metavar": field.name.upper()}
    how["dest"] = field.name
    if field.kind is bool:
        return field.option, how | {"action": f"store_{field.default is not True}".lower()}
    if "field=value" in field.marks:
        return field.option, how | {"action": "append", "metavar": "FIELD=VALUE"}
    if many:
        return field.option, how | {
            "action": "extend",
            "nargs": "*",
            "metavar": _metavar(get_args(field.kind)[0]),
        }
    return field.option, how | {"metavar": _metavar(field.kind)}


def _field(model: type[Part] | type[Flags], name: str) -> Field:
    """Describe a field; the class that declares it first names its group, the nearest docstring helps."""
    parts = [part for part in model.__mro__ if name in getattr(part, "__pydantic_fields__", ())]
    infos = [part.__pydantic_fields__[name] for part in parts]  # type: ignore[attr-defined]
    text = next((info.description for info in infos if info.description), "")
    group = vars(parts[-1]).get("group", Part.group)
    return Field(
        name, group, " ".join(text.split()), infos[0].annotation, infos[0].default, infos[0].metadata
    )


def _split_rest(words: list[str], known: list[Field]) -> tuple[list[str], dict[str, Any]]:
    """Cut the words after the first that is no option, if a field of type `Rest` takes them."""
    rest = next((field.name for field in known if "rest" in field.marks), None)
    if rest is None:
        return words, {}
    with_value = {field.option for field in known if field.kind is not bool}
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 1 + (words[index].replace("_", "-") in with_value)
    return words[: index + 1], {rest: tuple(words[index + 1 :])}


def _spelled_out(words: list[str]) -> list[str]:
    """Write options with hyphens, and `--set` before each of its values.

    >>> _spelled_out(["--data_dir", "x", "--set", "a=1", "b=2", "--set=c=3"])
    ['--data-dir', 'x', '--set', 'a=1', '--set', 'b=2', '--set=c=3']
    """
    done: list[str] = []
    option = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            option = name.replace("_", "-")
            word = option + equals + value
        elif option == "--set" and "=" in word and done[-1] != "--set":
            done.append("--set")
        done.append(word)
    return done


def _metavar(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _metavar(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return "|".join(dict.fromkeys(_metavar(part) for part in get_args(kind) if part is not NoneType))
    return {int: "N", float: "X", str: "TEXT"}.get(kind, "VALUE")
