"""Pages in Chromium: their policy refuses nothing of ours, and styles of others have no effect."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web import chromium
from vitruvius.core.blocks import Block, Figure, Formula, Scatter, Table, Text
from vitruvius.render import page as html

pytestmark = chromium.needed
HOSTILE = (
    '<p id="evil" style="position: fixed; inset: 0; background: red">x</p><style>h1 { display: none }</style>'
)
Page = Any  # playwright's, which is not imported where it is missing


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.launched() as browser:
        yield browser


def opened(browser: Any, path: Path, content: str) -> Page:
    """Open a page from disk; `said` holds what its console and its policy complain of."""
    path.write_text(content, encoding="utf-8")
    context = chromium.patient(browser.new_context(viewport={"width": 1000, "height": 800}))
    context.set_offline(True)
    view = context.new_page()
    view.said = []
    view.on("pageerror", lambda error: view.said.append(str(error)))
    view.on(
        "console", lambda told: view.said.append(told.text) if told.type in ("error", "warning") else None
    )
    view.goto(path.as_uri())
    return view


def style(view: Page, where: str, name: str) -> str:
    """The style that an element has in the end."""
    return str(view.locator(where).first.evaluate(f"element => getComputedStyle(element).{name}"))


def test_plots_are_drawn_as_plotly_means_them(browser: Any, tmp_path: Path, figures: list[Figure]) -> None:
    points = {"x": (1.0, 1e6), "y": (1e-6, 2.0), "log_x": True, "log_y": True}
    nets = Scatter(title="Nets", names=("one", "two"), x_label="size", y_label="loss", **points)
    view = opened(browser, tmp_path / "page.html", html.page("All", [*figures, nets], interactive=True))
    drawn = view.locator(".js-plotly-plot .main-svg .trace")
    drawn.last.wait_for(state="attached")
    assert view.locator(".js-plotly-plot").count() == 5
    plot = view.locator(".js-plotly-plot").last
    plot.scroll_into_view_if_needed()
    box = plot.locator(".nsewdrag").bounding_box()
    view.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chromium.wait_until(view, "() => document.querySelector('.js-plotly-plot:hover .modebar') !== null")
    assert style(view, ".js-plotly-plot .modebar", "position") == "absolute", "plotly's rules hold"
    buttons = plot.locator(".modebar-btn").evaluate_all("all => all.map(one => one.dataset.title).join()")
    assert "Download" in buttons
    assert "Share" not in buttons, "nothing is sent to plotly's own site"
    exponent = view.locator(".js-plotly-plot").last.locator("tspan[style]").first
    sizes = exponent.evaluate(
        "one => [one, one.parentNode].map(part => parseFloat(getComputedStyle(part).fontSize))"
    )
    assert sizes[0] == pytest.approx(0.7 * sizes[1]), "an exponent is small"
    assert view.said == []
    view.context.close()


def test_a_page_without_plots_is_shown_as_it_is_meant(
    browser: Any, tmp_path: Path, figures: list[Figure]
) -> None:
    blocks: list[Block] = [*figures, Formula(latex="a = 1"), Text(text="Beware", style="warning")]
    view = opened(browser, tmp_path / "page.html", html.page("All", blocks))
    assert view.said == []
    assert style(view, "p.warning", "color") == "rgb(138, 83, 0)"
    assert style(view, "svg text", "fontSize") == "9px"
    assert style(view, "svg[aria-label=Loss] path[stroke-linecap=square]", "strokeLinecap") == "square"
    width = view.locator("svg[role=img]").first.evaluate("one => [one.clientWidth, one.width.baseVal.value]")
    assert width[0] == pytest.approx(width[1], abs=1), "as wide as it was drawn where there is room"
    view.set_viewport_size({"width": 320, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth") == 320
    view.context.close()


def test_names_of_thousands_of_letters_do_not_widen_a_page(browser: Any, tmp_path: Path) -> None:
    name = "x" * 5_000
    table = Table(title=name, columns=(name,), rows=((name,),))
    points = Scatter(title=name, x=(1,), y=(2,), names=(name,), x_label=name, y_label=name)
    blocks: list[Block] = [Text(text=name, style="title"), Text(text=name), table, points]
    view = opened(browser, tmp_path / "page.html", html.page(name, blocks, interactive=True))
    view.locator(".js-plotly-plot .trace").wait_for(state="attached")
    assert view.evaluate("document.documentElement.scrollWidth") == 1000
    assert view.said == []
    view.context.close()


@pytest.mark.parametrize("interactive", [False, True])
def test_styles_in_names_have_no_effect(interactive: bool, browser: Any, tmp_path: Path) -> None:
    table = Table(title=HOSTILE, columns=(HOSTILE,), rows=((HOSTILE,),))
    points = Scatter(title=HOSTILE, x=(1,), y=(2,), names=(HOSTILE,), x_label=HOSTILE, y_label=HOSTILE)
    view = opened(
        browser, tmp_path / "page.html", html.page(HOSTILE, [table, points], interactive=interactive)
    )
    view.locator("svg").first.wait_for()
    assert view.locator("#evil").count() == 0
    assert style(view, "h1", "display") == "block"
    assert view.said == []
    view.context.close()


@pytest.mark.parametrize("interactive", [False, True])
@pytest.mark.parametrize("is_planted", [False, True])
def test_even_unescaped_a_style_has_no_effect(
    is_planted: bool, interactive: bool, browser: Any, tmp_path: Path
) -> None:
    points = Scatter(title="", x=(1,), y=(2,), names=("a",), x_label="", y_label="")
    content = html.page("Nets", [Text(text="unescaped"), points], interactive=interactive)
    content = content.replace("unescaped", HOSTILE)
    if is_planted:  # what such markup does where the policy does not refuse it
        content = re.sub("style-src [^;]*", "style-src 'unsafe-inline'", content, count=1)
    view = opened(browser, tmp_path / "page.html", content)
    view.locator("#evil").wait_for(state="attached")
    shown = style(view, "#evil", "position"), style(view, "h1", "display")
    assert shown == (("fixed", "none") if is_planted else ("static", "block"))
    assert (view.said == []) is is_planted
    view.context.close()
