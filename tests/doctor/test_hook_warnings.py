"""Warnings of torch under the doctor: those that a script gets alone, at the same lines."""

import sys
import warnings
from collections.abc import Callable

import pytest
import torch

from vitruvius.doctor import hooks
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher


def by_the_script() -> int:
    torch.std(torch.ones(1))  # torch warns: no degree of freedom is left
    return sys._getframe().f_lineno - 1


def by_a_library() -> int:
    """The line of the library that called torch, not the script's that called the library."""
    exec(compile("\n\ntorch.std(torch.ones(1))", f"{torch.__path__[0]}/a.py", "exec"), globals())
    return 3


@pytest.mark.parametrize("warns", [by_the_script, by_a_library])
def test_a_warning_names_the_line_that_called_torch(warns: Callable[[], int]) -> None:
    found = []
    for watched in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if watched:
                with installed(Watcher()):
                    line = warns()
            else:
                line = warns()
        found.append([(one.filename, one.lineno, str(one.message)) for one in caught])
    alone, under_watch = found
    assert [number for _, number, _ in alone] == [line]
    assert under_watch == alone


def test_warnings_are_shown_as_before_when_the_block_has_ended() -> None:
    before = warnings.showwarning, list(warnings.filters)
    with installed(Watcher()):
        assert warnings.showwarning is not before[0]
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_a_warning_of_the_watchers_own_work_is_not_the_scripts() -> None:
    watcher = Watcher()
    with warnings.catch_warnings(record=True) as caught, installed(watcher), watcher.looking():
        warnings.simplefilter("always")
        torch.std(torch.ones(1))
    assert [one.filename for one in caught] == [hooks.__file__]
