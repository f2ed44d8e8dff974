"""Random command lines over all verbs: each ends with an exit code and a sentence, none with a traceback.

A command that is accepted begins to work: after a while it is ended and counted as such.
"""

import contextlib
import importlib
import io
import os
import pkgutil
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vitruvius
from tests.campaigns import Tally
from vitruvius import cli
from vitruvius.core import plugins
from vitruvius.core.options import options

FULL, SMALL = 5000, 40
SECONDS = 1.5
"""Of the processor, after which a command that works is ended; twice as many on the clock if it waits."""
TRACEBACK = 99
NASTY = (
    "", "-", "--", "-1", "0", "1e999", "nan", "10" * 200, "\udcff", "../..", "/dev/null", "/dev/zero",
    "a" * 5000, "x=y", "depth=" + "[" * 3000, "width=99999999999", "null", "{}", "[1", "folder:/", "a:b:c",
    "0/0", "é\x1b[31m", "mnist", "fifty", "attention", "runs", "1", "2,4", "true",
)  # fmt: skip


def run(rounds: int, first: int = 0) -> Tally:
    """Try so many command lines, spread over the verbs."""
    tally = Tally(planted="a verb that divides by zero")
    _import_all()
    choices = {label: _names(member) for label, member in cli._verbs().items()}
    for number in range(first, first + rounds):
        label = sorted(choices)[number % len(choices)]
        words = [*label.split(), *line(choices[label], random.Random(number))]
        code, said = tried(lambda words=words: cli.main(words))  # type: ignore[misc]
        if code == TRACEBACK:
            tally.fail(label, "traceback", f"{[word[:40] for word in words]}: {said[-300:]}")
        elif code < 0:
            tally.count(label, "working")
        else:
            tally.count(label, f"exit code {code}")
    tally.is_caught = tried(lambda: 1 // 0)[0] == TRACEBACK
    return tally


def line(names: list[str], source: random.Random) -> list[str]:
    """Return some options of a verb with values that nobody expects."""
    words: list[str] = []
    for _ in range(source.randrange(1, 6)):  # a verb alone is a line that its own tests try
        if source.random() < 0.8 and names:
            words.append(source.choice(names))
        if source.random() < 0.8:
            words.append(source.choice(NASTY))
    return words


def tried(work: Callable[[], int]) -> tuple[int, str]:
    """Return exit code and error of a command in its own process and folder; negative if it was ended."""
    with tempfile.TemporaryDirectory() as place:
        said, folder = Path(place) / "said", Path(place, "deep", "down")  # "../.." is inside too
        folder.mkdir(parents=True)
        child = os.fork()
        if not child:
            os._exit(_work(work, folder, said))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it has started
        return code, said.read_text() if said.exists() else ""


def _work(work: Callable[[], int], folder: Path, said: Path) -> int:
    os.setpgid(0, 0)
    for timer, after in ((signal.ITIMER_PROF, SECONDS), (signal.ITIMER_REAL, 2 * SECONDS)):
        signal.setitimer(timer, after)  # the signal ends the process: nobody handles it
    os.chdir(folder)
    os.environ.pop("DISPLAY", None)  # nobody looks at what `serve` would open
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


def _import_all() -> None:
    """Import the whole package once, so that the processes that are forked from here need not."""
    for found in pkgutil.walk_packages(vitruvius.__path__, "vitruvius."):
        with contextlib.suppress(ImportError):  # packages that only an extra brings
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)


def _names(member: plugins.Member) -> list[str]:
    verb: Any = plugins.module(member.family, member.name)
    return [option.name for option in options(verb.Config) if not option.is_positional]
