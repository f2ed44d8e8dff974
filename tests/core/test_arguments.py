"""From words to a Config: what was typed and nothing else, every value judged by pydantic."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import pytest

from vitruvius.core import arguments
from vitruvius.core.config import Config, Flags, Names, Part, Positional, Rest, RunConfig, Settings
from vitruvius.core.errors import UserError


class Recipe(Part):
    group: ClassVar[str] = "recipe"
    epochs: int = 10
    """How often every sample is seen."""
    lr: float = 0.1
    """Learning rate, at most 100 %."""
    kind: Literal["plain", "deep"] = "plain"
    flip: bool = False
    bias: bool = True


class Toy(RunConfig, Recipe):
    source: Positional[str] = ""
    images: Positional[tuple[str, ...]] = ()
    data_dir: str | None = None
    proxies: Names = ()
    """Scores; default: none."""
    set: Settings = ()
    epochs: int = 3
    short: ClassVar[tuple[str, ...]] = ("source", "epochs")


class Script(Config):
    script: Positional[str] = ""
    arguments: Rest = ()
    steps: int | None = None
    table: bool = False


Parse = Callable[..., Any]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Parse words for a Config as `vitruvius toy` would."""
    source = tmp_path / "toy.py"
    source.write_text('"""Play.\n\nMore about it.\n\nvitruvius toy --epochs 1\n"""\n')

    def call(*words: str, config: type[Config] = Toy) -> Any:
        verb = SimpleNamespace(Config=config, __file__=str(source))
        return arguments.parse(verb, "vitruvius toy", list(words))

    return call


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("", {}),
        ("--epochs 3", {"epochs": 3}),  # also where that is the default
        ("--epochs=5 --epochs 6", {"epochs": 6}),
        ("--lr -1", {"lr": -1.0}),
        ("--flip --no-bias", {"flip": True, "bias": False}),
        ("--data-dir x", {"data_dir": "x"}),
        ("--data_dir=x", {"data_dir": "x"}),
        ("--proxies a,b c --proxies d", {"proxies": ("a", "b", "c", "d")}),
        ("--set a=1 --lr 1 --set b=2 c=3 run", {"set": ("a=1", "b=2", "c=3"), "lr": 1.0, "source": "run"}),
        (
            "--flip run a.png --lr 1 b.png",
            {"flip": True, "lr": 1.0, "source": "run", "images": ("a.png", "b.png")},
        ),
    ],
)
def test_the_config_holds_what_was_typed(parse: Parse, words: str, typed: dict[str, object]) -> None:
    config, flags = parse(*words.split())
    assert config == Toy(**typed)
    assert config.model_fields_set == set(typed)
    assert flags == Flags()


def test_flags_are_kept_apart(parse: Parse) -> None:
    config, flags = parse("--json", "--runs", "elsewhere", "--epochs", "5")
    assert (config.epochs, flags) == (5, Flags(json=True, runs="elsewhere"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--epoch 3", "no option of vitruvius toy '--epoch': did you mean '--epochs'?"),
        ("--no-flip", "no option of vitruvius toy '--no-flip': did you mean '--flip'?"),
        ("--images x", "vitruvius toy: IMAGES is given without a name: leave --images out"),
        ("--source=x", "vitruvius toy: SOURCE is given without a name: leave --source out"),
        ("--walk", "no option of vitruvius toy '--walk'"),
        ("--epochs", "vitruvius toy: --epochs needs a value"),
        ("--epochs --flip", "vitruvius toy: --epochs needs a value"),
        ("--flip=1", "vitruvius toy: --flip takes no value"),
        ("--epochs ten", "epochs needs a whole number, got 'ten'"),
        ("--kind dep", "kind must be 'plain' or 'deep', got 'dep'"),
    ],
)
def test_bad_words_are_one_sentence(parse: Parse, words: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(*words.split())
    assert message in str(caught.value)


def test_a_word_too_many_is_named(parse: Parse) -> None:
    with pytest.raises(UserError, match="'c' is one word too many"):
        parse("a", "c", config=type("One", (Config,), {"__annotations__": {"a": Positional[str]}, "a": ""}))


@pytest.mark.parametrize(
    ("words", "script", "rest"),
    [
        ("train.py --steps 3 --help", "train.py", ("--steps", "3", "--help")),
        ("--steps 5 --table train.py --json x", "train.py", ("--json", "x")),
        ("", "", ()),
    ],
)
def test_everything_after_a_script_is_its_own(
    parse: Parse, words: str, script: str, rest: tuple[str, ...]
) -> None:
    config, _ = parse(*words.split(), config=Script)
    assert (config.script, config.arguments) == (script, rest)


def test_full_help_lists_groups_with_inherited_texts_and_examples(
    parse: Parse, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse("--help") is None
    text = capsys.readouterr().out
    assert text.startswith("usage: vitruvius toy [SOURCE] [IMAGES] [OPTIONS]\n\nPlay.\n\nMore about it.\n")
    assert text.index("options:") < text.index("recipe:") < text.index("run:") < text.index("examples:")
    recipe = text[text.index("recipe:") : text.index("run:")]
    assert "--epochs N" in recipe
    assert "How often every sample is seen. (default: 3)" in recipe
    assert "at most 100 %" in recipe
    assert "--kind plain|deep" in recipe
    assert "  vitruvius toy --epochs 1\n" in text


def test_short_help_shows_the_common_options(parse: Parse, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse("-h") is None
    text = capsys.readouterr().out
    assert "--epochs" in text
    assert "--lr" not in text
    assert "run:" not in text
    assert "vitruvius toy --help shows all 15 options." in text
