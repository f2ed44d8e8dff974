"""The page of a ranking in Chromium: its own scripts run by their hashes, and names in it are inert."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ranking.test_report import as_json
from tests.web import chromium
from vitruvius.core.blocks import Lines, Series
from vitruvius.ranking import report
from vitruvius.ranking.results import Result
from vitruvius.render import cells, figures
from vitruvius.render import page as html

pytestmark = chromium.needed
EVIL = '<script>document.title="run"</script><img src=x onerror="document.title=1"><a href="http://e">n</a>'
READY = "document.body.append(Object.assign(document.createElement('b'), {id: 'ready'}))"
"""A script of a page, which shows that it was run."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def page() -> str:
    """The page of a ranking on data, and of a network, whose names are markup."""
    found = as_json(count=6)
    found["data"] = EVIL
    found["archs"][0]["name"] = EVIL
    return report.page(Result(**found))


def opened(browser: Any, content: str, path: Path) -> Any:
    """Open a page from disk without a network, once its scripts have run; its faults are kept."""
    path.write_text(content, encoding="utf-8")
    context = chromium.patient(browser.new_context())
    context.set_offline(True)
    view = context.new_page()
    view.faults, view.asked = [], []
    view.on("pageerror", lambda error: view.faults.append(str(error)))
    view.on("console", lambda message: view.faults.append(message.text) if message.type == "error" else None)
    view.on("request", lambda request: view.asked.append(request.url))
    view.goto(path.as_uri())
    view.wait_for_selector("caption select, #ready", state="attached")
    return view


def test_the_page_draws_and_sorts_with_scripts_that_its_policy_names(
    browser: Any, page: str, tmp_path: Path
) -> None:
    assert "script-src 'sha256-" in page
    view = opened(browser, page, tmp_path / "report.html")
    assert (
        view.locator(".js-plotly-plot").count() == view.locator(".js-plotly-plot .xaxislayer-above").count()
    )
    assert view.locator(".js-plotly-plot").count() >= 1
    view.select_option("caption select", "depth")
    assert view.inner_text("table:has(select) tbody tr td") == "1"
    assert view.faults == []
    assert view.asked == [(tmp_path / "report.html").as_uri()]
    view.context.close()


def test_names_are_shown_and_not_obeyed(browser: Any, page: str, tmp_path: Path) -> None:
    view = opened(browser, page, tmp_path / "report.html")
    assert view.title() == view.inner_text("h1") == f"Ranking on {EVIL}"
    assert EVIL in view.locator("table:has(select) tbody td").all_inner_texts()
    assert view.locator("main a, main img").count() == 0, "plotly's texts included"
    view.context.close()


def test_plots_show_markup_in_their_texts_as_it_is(browser: Any, tmp_path: Path) -> None:
    curve = Series(name=EVIL, x=(1, 2), y=(1, 2))
    drawn = Lines(title=EVIL, series=(curve, curve), x_label=EVIL, y_label=EVIL)
    content = html.page("Plots", [drawn], interactive=True, script=READY, data=[])
    view = opened(browser, content, tmp_path / "plots.html")
    assert view.locator(".js-plotly-plot a").count() == 0
    texts = view.locator(".js-plotly-plot .main-svg text").all_text_contents()
    names = [cells.shortened(EVIL, figures.LONGEST_NAME)] * 2
    assert [text for text in texts if "<" in text] == [*names, *[EVIL] * 3], "two curves, two axes, the title"
    view.context.close()


def test_a_script_that_was_put_into_the_page_is_not_run(browser: Any, page: str, tmp_path: Path) -> None:
    planted = page.replace("</h1>", '</h1><script>document.title="run"</script>', 1)
    view = opened(browser, planted, tmp_path / "report.html")
    assert view.title() == f"Ranking on {EVIL}"
    assert any("Content Security Policy" in fault for fault in view.faults)
    view.context.close()
