"""Turn command-line words, or the arguments of a Python call, into a Config and Flags.

argparse reads the words and pydantic judges the values: each reaches it as text, so that an option, a JSON
file and a Python call fail in the same words.
"""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from vitruvius.core.config import Config, Flags, checked_flags
from vitruvius.core.errors import UserError, unknown
from vitruvius.core.options import Option, options
from vitruvius.core.plugins import docstring, examples

Fields = dict[str, Any]


def parse(verb: Any, program: str, words: list[str]) -> tuple[Config, Flags] | None:
    """Return the Config and Flags that the words describe; None if help was asked for, which is printed."""
    known = options(verb.Config)
    words, rest = _split_rest(words, known)
    asked = next((word for word in words if word in ("-h", "--help")), "")
    parser = _parser(verb, program, known, asked)
    if asked:
        print(parser.format_help(), end="")
        return None
    given, left = parser.parse_known_intermixed_args(_spelled_out(words))
    if strange := [word for word in left if word.startswith("--")]:
        name = strange[0].partition("=")[0]
        if name in (option.name for option in known if option.is_positional):
            raise UserError(f"{program}: {name[2:].upper()} is given without a name: leave {name} out")
        named = [option.name for option in known if not option.is_positional]
        raise unknown(f"option of {program}", strange[0], named)
    if left:
        raise UserError(f"{program}: '{left[0]}' is one word too many; see {program} --help")
    return _typed(verb.Config, vars(given) | rest)


def from_call(config_type: type[Config], words: tuple[str, ...], given: Fields) -> tuple[Config, Flags]:
    """Return the Config and Flags that the arguments of a Python call describe; `words` have no name."""
    fields = dict(given)
    for option in options(config_type):
        if words and option.is_positional:
            fields[option.field], words = (words, ()) if option.is_list else (words[0], words[1:])
    if words:
        raise UserError(f"'{words[0]}' is one argument too many")
    return _typed(config_type, fields)


def _typed(config_type: type[Config], fields: Fields) -> tuple[Config, Flags]:
    """Check the fields; `model_fields_set` of the Config holds exactly these."""
    flags = {name: fields.pop(name) for name in config_type.takes if name in fields}
    return config_type(**fields), checked_flags(flags)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise a sentence; since values are text, one that is missing or not wanted is the only fault."""
        option = message.removeprefix("argument ").partition(":")[0]
        raise UserError(f"{self.prog}: {option} {'needs a' if 'expected' in message else 'takes no'} value")


def _parser(verb: Any, program: str, known: list[Option], asked: str) -> argparse.ArgumentParser:
    """Build a parser whose namespace holds only what was typed; `-h` shows ten options, no help none."""
    source = Path(verb.__file__)
    fields = [option.field for option in known]
    shown = {"-h": verb.Config.short or fields[:10], "--help": fields}.get(asked, ())
    more = [f"\n{program} --help shows all {len(known)} options."] if len(shown) < len(known) else []
    positionals = [f"[{option.field.upper()}]" for option in known if option.is_positional]
    paragraphs = docstring(source).strip().split("\n\n")
    parser = _Parser(
        prog=program,
        usage=" ".join([program, *positionals, "[OPTIONS]"]),
        description="\n\n".join(part for part in paragraphs if not part.startswith("vitruvius ")),
        epilog="\n".join(["examples:", *(f"  {example}" for example in examples(source)), *more]),
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30),
        argument_default=argparse.SUPPRESS,
        add_help=False,
        allow_abbrev=False,
    )
    groups = {title: parser.add_argument_group(title) for title in dict.fromkeys(o.group for o in known)}
    for option in known:
        if not option.is_rest:
            letters = [f"-{verb.Config.letters[option.field]}"] if option.field in verb.Config.letters else []
            names = [option.field] if option.is_positional else [*letters, option.name]
            groups[option.group].add_argument(*names, **_keywords(option, option.field in shown))
    return parser


def _help(option: Option) -> str:
    """Return the help of an option with its default, unless the text says it."""
    text, value = option.help, option.default
    value = ",".join(map(str, value)) if isinstance(value, tuple) else value
    is_said = value in (None, "") or isinstance(value, bool) or "default" in text
    return (text + ("" if is_said else f" (default: {value})")).replace("%", "%%")


def _keywords(option: Option, shown: bool) -> Fields:
    """Return the keywords with which argparse is told about an option."""
    text = {"help": _help(option) if shown else argparse.SUPPRESS}
    if option.is_positional:
        return text | {"nargs": "*" if option.is_list else "?", "metavar": option.field.upper()}
    if option.kind is bool:
        action = "store_false" if option.default is True else "store_true"
        return text | {"dest": option.field, "action": action}
    if "field=value" in option.marks:
        return text | {"action": "append", "metavar": "FIELD=VALUE"}
    return text | {"metavar": option.metavar} | ({"action": "extend", "nargs": "*"} if option.is_list else {})


def _split_rest(words: list[str], known: list[Option]) -> tuple[list[str], Fields]:
    """Cut off the words after the first that is no option, if a field of type `Rest` takes them."""
    rest = next((option.field for option in known if option.is_rest), None)
    if rest is None:
        return words, {}
    with_value = {option.name for option in known if option.kind is not bool}
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
            option, equals, value = word.partition("=")
            option = option.replace("_", "-")
            word = option + equals + value
        elif option == "--set" and "=" in word and done[-1] != "--set":
            done.append("--set")
        done.append(word)
    return done
