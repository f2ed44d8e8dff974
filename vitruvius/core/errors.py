"""Errors whose messages name the thing, what was given and what is possible."""

import difflib
from collections.abc import Iterable, Sequence


class VitruviusError(Exception):
    """An expected failure; the command line prints its one message and leaves with `exit_code`."""

    exit_code = 1


class UserError(VitruviusError):
    """Bad input or usage: nothing was done."""

    exit_code = 2


class BadFields(UserError):
    """Fields of a model that cannot be taken: `faults` pairs each with its sentence, "" for the whole."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(sentence for _, sentence in faults))
        self.faults = tuple(faults)


class InUse(UserError):
    """Another process works on the run folder."""


class WorkFailed(VitruviusError):
    """The work itself failed (a loss became NaN, a disk ran full); what was reached before is kept."""


class Interrupted(VitruviusError):
    """Ctrl-C or SIGTERM arrived and the state is saved; the exit code is 128 + the signal."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


def unknown(kind: str, name: str, possible: Iterable[str], hint: str = "") -> UserError:
    """Make the error for an unknown name, with the nearest known one or all of them.

    >>> str(unknown("proxy", "snp", ["snip", "zico"]))
    "no proxy 'snp': did you mean 'snip'?"
    >>> str(unknown("proxy", "qqq", ["snip", "zico"], "or a file: ./mine.py:name"))
    "no proxy 'qqq': choose from snip, zico (or a file: ./mine.py:name)"
    """
    names = sorted(possible)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return UserError(f"no {kind} '{name}': did you mean '{near[0]}'?")
    choices = f"choose from {', '.join(names)}" if names else "there are none"
    return UserError(f"no {kind} '{name}': {choices}" + (f" ({hint})" if hint else ""))


def reason(error: OSError) -> str:
    """Return the system's message for a failed file operation, without the errno.

    >>> reason(FileNotFoundError(2, "No such file or directory", "x"))
    'no such file or directory'
    """
    return (error.strerror or str(error)).lower()
