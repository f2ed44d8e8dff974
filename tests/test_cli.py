"""The command line as a person meets it: help, exit codes, one clear message, no heavy import, no noise."""

import dataclasses
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vitruvius.cli import main
from vitruvius.core import plugins
from vitruvius.core.config import Flags
from vitruvius.core.options import options

Capture = pytest.CaptureFixture[str]
VERBS = [
    [name, *inner]
    for name in plugins.members("verbs")
    for inner in (
        [[sub] for sub in plugins.members(f"verbs/{name}")]
        if (plugins.PACKAGE / "verbs" / name).is_dir()
        else [[]]
    )
]
NOISE = ("Traceback", "pydantic", "argparse", "argument", "invalid literal", "Errno")


def spoken(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command run in this process."""
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_alone_it_says_what_it_can_do_with_commands_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = spoken(capsys)
    assert (code, err) == (0, "")
    assert "Try:" in out
    for verb in plugins.members("verbs").values():
        assert verb.name in out
        assert verb.summary in out


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_is_a_config_and_a_run(verb: list[str]) -> None:
    module = plugins.module("/".join(["verbs", *verb[:-1]]), verb[-1])
    assert list(inspect.signature(module.run).parameters) == ["config", "flags"]
    known = {field.name for field in dataclasses.fields(Flags)}
    assert set(module.Config.takes) <= known
    assert not known & set(module.Config.model_fields)
    assert set(module.Config.short) <= {option.field for option in options(module.Config)}


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_examples(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, *verb, "--help")
    assert code == 0
    assert "usage:" in out
    assert f"  vitruvius {' '.join(verb)}" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lst"], "no command 'lst': did you mean 'list'?"),
        (["list", "--jsn"], "did you mean '--json'?"),
        (["list", "kernls"], "no family 'kernls': did you mean 'kernels'?"),
        (["list", "a", "b", "c"], "'c' is one word too many"),
        (["train", "--epochs", "ten"], "epochs needs a whole number, got 'ten'"),
        (["train", "--epochs"], "--epochs needs a value"),
        (["train", "--quiet=yes"], "--quiet takes no value"),
        (["--completion", "fsh"], "no shell 'fsh': did you mean 'fish'?"),
        (["train", "--epoch", "3"], "no option of vitruvius train '--epoch': did you mean '--epochs'?"),
        (["train", "--compile", "maybe"], "compile must be 'auto', 'on' or 'off', got 'maybe'"),
        (["train", "--set", "depth"], "--set takes field=value, got 'depth'"),
        (["train", "--set", "dept=3"], "no field in Arch 'dept': did you mean 'depth'?"),
        (["train", "--arch", "mnits"], "no preset 'mnits': did you mean 'mnist'?"),
        (["train", "--arch", "nowhere.json"], "nowhere.json: no such file or directory"),
        (["train", "--data", "mnst"], "no dataset 'mnst': did you mean 'mnist'?"),
    ],
)
def test_bad_words_get_one_sentence_and_exit_code_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = spoken(capsys, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not any(noise in err for noise in NOISE)


def test_json_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = spoken(capsys, "list", "presets", "--json")
    assert (code, err) == (0, "")
    by_name = {preset["name"]: preset for preset in json.loads(out)["presets"]}
    assert by_name["mnist"]["params"] == 892_938
    assert by_name["mnist-slim"]["params"] == 204_810
    assert by_name["vit_base_patch16_224"]["params"] == 86_567_656
    assert by_name["vit_huge_patch14_224"]["params"] == 632_045_800


def test_walking_waits_for_enter_between_two_steps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[int] = []

    def enter(prompt: str) -> str:
        shown.append(len(capsys.readouterr().out))
        return ""

    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", enter)
    assert main(["explain", "earth_mover", "--walk"]) == 0
    assert len(shown) == 5 + 2  # before each step, the answer and the proofs
    assert all(shown)
    assert capsys.readouterr().out


def test_walking_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = spoken(capsys, "explain", "earth_mover", "--walk")
    assert (code, out) == (2, "")
    assert "--walk shows one lesson step by step on a terminal: it needs its name and no --out" in err


def test_a_reader_that_leaves_early_is_not_an_error() -> None:
    command = f"{sys.executable} -m vitruvius list | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""


def test_an_output_that_cannot_be_written_is_said_in_a_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vitruvius", "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "vitruvius: the output cannot be written: No space left on device\n"


LIGHT_ONLY = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "numpy", "scipy", "matplotlib", "plotly"):
            raise ImportError(f"{name} is imported")
sys.meta_path.insert(0, Blocked())
"""
LIGHT = [[], ["--help"], ["--completion", "bash"], ["list"], ["list", "presets"], ["explain"]]
LIGHT += [[*verb, option] for verb in VERBS for option in ("-h", "--help")]


@pytest.mark.parametrize("words", LIGHT, ids=lambda words: " ".join(words) or "alone")
def test_help_and_listings_import_nothing_heavy(words: list[str]) -> None:
    program = f"{LIGHT_ONLY}from vitruvius.cli import main\nsys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_core_and_every_verb_import_nothing_heavy() -> None:
    names = [
        path.relative_to(plugins.PACKAGE.parent).with_suffix("") for path in plugins.PACKAGE.rglob("*.py")
    ]
    light = [
        ".".join(name.parts)
        for name in names
        if name.parts[1] in ("core", "verbs") and name.name != "__main__"
    ]
    program = f"{LIGHT_ONLY}import importlib\n" + "".join(
        f"importlib.import_module({name.removesuffix('.__init__')!r})\n" for name in light
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_colour_is_left_out_where_it_is_not_wanted() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vitruvius", "list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert "\x1b[" not in done.stdout


def test_unreadable_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vitruvius.arch import tables
    from vitruvius.core.errors import UserError

    broken = tmp_path / "net.json"
    broken.write_text("{")
    with pytest.raises(UserError, match="not JSON.*line 1"):
        tables.arch(str(broken))


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (PermissionError(13, "Permission denied", "runs"), 2, "runs: permission denied"),
        (OSError(36, "File name too long", "x" * 5000), 2, "file name too long"),
        (OSError(28, "No space left on device", "a"), 1, "a: no space left on device"),
        (
            UnicodeEncodeError("utf-8", "x" * 500 + "caf\udce9.png", 503, 504, "surrogates not allowed"),
            2,
            "cannot be written: " + "x" * 57 + "caf\\udce9.png (surrogates not allowed)",
        ),
        (RecursionError(), 2, "nested too deeply"),
        (MemoryError(), 1, "there is not enough memory for this\n"),
        (RuntimeError("Symlink loop from '/data/a'"), 2, "point in a circle: '/data/a'"),
    ],
)
def test_every_error_of_the_system_is_one_sentence(
    error: BaseException, code: int, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(words: list[str]) -> int:
        raise error

    monkeypatch.setattr("vitruvius.cli._command", fail)
    found, out, err = spoken(capsys)
    assert (found, out, len(err.splitlines())) == (code, "", 1)
    assert sentence in err
    assert len(err) < 400


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: list[str]) -> int:
        raise RuntimeError("a bug")

    monkeypatch.setattr("vitruvius.cli._command", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main([])


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_that_cannot_be_said_still_has_its_exit_code(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-m", "vitruvius", "lst"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stderr=full, stdout=full, env=environment)
    assert done.returncode == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m vitruvius list {closed}", shell=True, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_unicode_gets_escapes() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "vitruvius", "explain", "multihead"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_with_terminal_escapes_are_shown_not_obeyed(capsys: Capture) -> None:
    code, _, err = spoken(capsys, "train", "--arch", "\x1b[2Jnet")
    assert code == 2
    assert "\x1b" not in err
    assert r"\x1b[2Jnet" in err


@pytest.mark.parametrize("value", ["[" * 100_000, "{" * 5 + '"a":' + "[" * 50_000])
def test_deep_settings_are_one_sentence(value: str, capsys: Capture) -> None:
    code, out, err = spoken(capsys, "explain", "multihead", "--set", f"heads={value}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert len(err) < 400


@pytest.mark.parametrize("field", ["heads", "tokens", "dim", "width"])
@pytest.mark.parametrize("lesson", ["multihead", "attention_cost"])
def test_enormous_numbers_are_one_sentence(lesson: str, field: str, capsys: Capture) -> None:
    code, out, err = spoken(capsys, "explain", lesson, "--set", f"{field}={10**400}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert len(err) < 1000
