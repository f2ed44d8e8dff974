"""Debian's Chromium, driven by playwright; tests that need it are skipped where one of the two is missing."""

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATH = shutil.which("chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 180_000
"""Milliseconds after which a state that does not come about is a failure; a busy machine takes its time."""
PAUSE = 50
"""Milliseconds between two looks at a page."""
IS_MISSING = PATH is None or importlib.util.find_spec("playwright") is None
needed = pytest.mark.skipif(IS_MISSING, reason="needs chromium and playwright (make browser)")


def patient(context: Any) -> Any:
    """Let everything in a window wait long enough for a busy machine; returns the window."""
    context.set_default_timeout(PATIENCE)
    return context


def wait_until(page: Any, script: str, argument: Any = None) -> None:
    """Wait until a script is true. It is asked from outside: a page's policy forbids to evaluate texts."""
    for _ in range(PATIENCE // PAUSE):
        if page.evaluate(script, argument):
            return
        page.wait_for_timeout(PAUSE)
    raise AssertionError(f"this did not come about: {script}")


@contextmanager
def launched() -> "Iterator[Browser]":
    """Start Chromium, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PATH, args=list(FLAGS), timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()
