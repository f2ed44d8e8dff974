"""Shell completion: the script is run by the shell it is written for."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from vitruvius.core import completion

CHOICES = {
    "": ["doctor", "train", "--help"],
    "doctor": ["run", "model"],
    "doctor run": ["--steps"],
    "train": ["--epochs", "--lr"],
}


TYPED = pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ([""], ["doctor", "train", "--help"]),
        (["tr"], ["train"]),
        (["train", "--e"], ["--epochs"]),
        (["train", "--lr", "1", "--"], ["--epochs", "--lr"]),
        (["doctor", ""], ["run", "model"]),
        (["doctor", "run", "--"], ["--steps"]),
        (["nonsense", ""], []),
    ],
)


@TYPED
def test_bash_completes_commands_and_options(typed: list[str], offered: list[str]) -> None:
    words = " ".join(f"'{word}'" for word in ["vitruvius", *typed])
    program = (
        f"{completion.script('bash', CHOICES)}\ncomplete -p vitruvius >/dev/null || exit 1\n"
        f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _vitruvius; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


@TYPED
@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_completes_commands_and_options(typed: list[str], offered: list[str]) -> None:
    words = " ".join(f"'{word}'" for word in ["vitruvius", *typed])
    program = (
        "compdef() { }; _files() { }; compadd() { shift; print -l -- $@ }\n"
        f"{completion.script('zsh', CHOICES)}\nwords=({words}); CURRENT={len(typed) + 1}; _vitruvius"
    )
    done = subprocess.run(["zsh", "-f", "-c", program], capture_output=True, text=True, check=True)
    assert [word for word in done.stdout.split() if word.startswith(typed[-1])] == offered


@TYPED
@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_completes_commands_and_options(typed: list[str], offered: list[str], tmp_path: Path) -> None:
    line = " ".join(["vitruvius", *typed])
    program = f"{completion.script('fish', CHOICES)}\ncd '{tmp_path}'\ncomplete -C '{line}'"
    home = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(["fish", "-c", program], capture_output=True, text=True, check=True, env=home)
    assert sorted(done.stdout.split()) == sorted(offered)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_every_shell_has_the_longest_command_first(shell: str) -> None:
    script = completion.script(shell, CHOICES)
    assert script.rindex("doctor run ") < script.rindex("doctor ")
