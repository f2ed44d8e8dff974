"""The doctor in pytest: a test in which a training bug is proven fails, with the line and the fix.

`@pytest.mark.vitruvius_watch` watches a whole test, `--vitruvius-watch` every test, the fixture `watched` a
block:

    def test_training(watched):
        with watched():
            train(epochs=1)

pytest imports this file at every start where the package is installed, so only what watches imports torch.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest

if TYPE_CHECKING:
    from vitruvius.doctor.diagnose import Report
    from vitruvius.doctor.results import Result

FailOn: TypeAlias = Literal["error", "warning"]
MARK = "vitruvius_watch"
Watch: TypeAlias = Callable[..., AbstractContextManager["Report"]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch that watches every test."""
    text = "Watch every test for training bugs; one in which a bug is proven fails."
    parser.getgroup("vitruvius").addoption("--vitruvius-watch", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    text = "fail the test if a training bug is proven in it; fail_on='warning': also if one is suspected"
    config.addinivalue_line("markers", f"{MARK}(fail_on='error'): {text}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Watch a test that is marked, or every one; findings in a test that fails anyway are shown beside."""
    mark = item.get_closest_marker(MARK)
    if mark is None and not item.config.getoption("vitruvius_watch"):
        return (yield)
    fail_on = _fail_on(**mark.kwargs) if mark else "error"
    from vitruvius.doctor.diagnose import watch

    try:
        with watch() as report:
            done = yield
    except BaseException:
        if text := _text(report.result, fail_on):
            item.add_report_section("call", "vitruvius doctor", text)
        raise
    _fail(report.result, fail_on)
    return done


@pytest.fixture
def watched() -> Watch:
    """A function that watches a block: `with watched(fail_on="error", steps=None) as report`."""
    return _watched


@contextmanager
def _watched(fail_on: FailOn = "error", steps: int | None = None) -> Iterator["Report"]:
    """Watch the block, for so many optimiser steps at most, and fail the test by what is found in it."""
    from vitruvius.doctor.diagnose import watch

    fail_on = _fail_on(fail_on)
    with watch(steps) as report:
        yield report
    _fail(report.result, fail_on)


def _fail_on(fail_on: Any = "error", **others: Any) -> FailOn:
    """The least severity that fails a test, checked."""
    if others or fail_on not in ("error", "warning"):
        given = ", ".join(f"{name}={value!r}" for name, value in {"fail_on": fail_on, **others}.items())
        raise pytest.UsageError(f"{MARK} takes fail_on='error' or fail_on='warning', not {given}")
    return "error" if fail_on == "error" else "warning"


def _fail(result: "Result", fail_on: FailOn) -> None:
    if text := _text(result, fail_on):
        pytest.fail(text, pytrace=False)


def _text(result: "Result", fail_on: FailOn) -> str:
    """The failing findings as they are shown on a terminal; empty if there are none."""
    from vitruvius.core.blocks import Text
    from vitruvius.core.visible import visible

    failing = result.model_copy(update={"fail_on": fail_on}).failing
    blocks = [block for finding in failing for block in finding.view()]
    return visible("\n".join(block.text for block in blocks if isinstance(block, Text)))
