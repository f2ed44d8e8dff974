"""Shell completion: the script is run by the shell it is written for."""

import shutil
import subprocess

import pytest

from vitruvius.core import completion

CHOICES = {
    "": ["doctor", "train", "--help"],
    "doctor": ["run", "model"],
    "doctor run": ["--steps"],
    "train": ["--epochs", "--lr"],
}


@pytest.mark.parametrize(
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
def test_bash_completes_commands_and_options(typed: list[str], offered: list[str]) -> None:
    words = " ".join(f"'{word}'" for word in ["vitruvius", *typed])
    program = (
        f"{completion.script('bash', CHOICES)}\ncomplete -p vitruvius >/dev/null || exit 1\n"
        f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _vitruvius; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str) -> None:
    script = completion.script(shell, CHOICES)
    assert "doctor run " in script
    if shutil.which(shell):
        subprocess.run([shell, "--no-execute", "-c", script], check=True)
