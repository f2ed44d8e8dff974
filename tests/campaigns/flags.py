"""Random command lines over all verbs: each ends with an exit code and a sentence, none with a traceback.

A command that is accepted begins to work: after some seconds it is ended and counted as such.
"""

import contextlib
import io
import os
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.campaigns import Tally
from vitruvius import cli
from vitruvius.core import plugins
from vitruvius.core.options import options

FULL, SMALL = 5000, 40
SECONDS = 5
TRACEBACK = 99
NASTY = (
    "", "-", "--", "-1", "0", "1e999", "nan", "10" * 200, "\udcff", "../..", "/dev/null", "/dev/zero",
    "a" * 5000, "x=y", "depth=" + "[" * 3000, "width=99999999999", "null", "{}", "[1", "folder:/", "a:b:c",
    "0/0", "é\x1b[31m", "mnist", "fifty", "attention", "runs", "1", "2,4", "true",
)  # fmt: skip


def run(rounds: int) -> Tally:
    """Try so many command lines, spread over the verbs."""
    tally = Tally(planted="a verb that divides by zero")
    source, verbs = random.Random(0), cli._verbs()
    verbs.pop("serve", None)  # a server does not end; its requests have tests of their own
    choices = {label: _names(member) for label, member in verbs.items()}
    from vitruvius.render import terminal  # noqa: F401  # so that every fork finds it imported

    for number in range(rounds):
        label = sorted(choices)[number % len(choices)]
        words = [*label.split(), *line(choices[label], source)]
        code, said = tried(lambda words=words: cli.main(words))  # type: ignore[misc]
        if code == TRACEBACK:
            tally.fail(label, "traceback", f"{[word[:40] for word in words]}: {said[-300:]}")
        elif code < 0:
            tally.count(label, f"working after {SECONDS} s")
        else:
            tally.count(label, f"exit code {code}")
    tally.is_caught = tried(lambda: 1 // 0)[0] == TRACEBACK
    return tally


def line(names: list[str], source: random.Random) -> list[str]:
    """Return some options of a verb with values that nobody expects."""
    words: list[str] = []
    for _ in range(source.randrange(0, 5)):
        if source.random() < 0.8 and names:
            words.append(source.choice(names))
        if source.random() < 0.8:
            words.append(source.choice(NASTY))
    return words


def tried(work: Callable[[], int]) -> tuple[int, str]:
    """Return exit code and error of a command in its own process and folder; negative if it was ended."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        child = os.fork()
        if not child:
            os._exit(_work(work, Path(folder), said))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, said.read_text() if said.exists() else ""


def _work(work: Callable[[], int], folder: Path, said: Path) -> int:
    os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
    signal.alarm(SECONDS)
    os.chdir(folder)
    os.environ.update({"HOME": str(folder), "XDG_CACHE_HOME": str(folder), "VITRUVIUS_DATA": str(folder)})
    sys.stdin = io.StringIO("")
    try:
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            return work()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        said.write_text(traceback.format_exc(), errors="backslashreplace")
        return TRACEBACK


def _names(member: plugins.Member) -> list[str]:
    verb: Any = plugins.module(member.family, member.name)
    return [option.name for option in options(verb.Config) if not option.is_positional]
