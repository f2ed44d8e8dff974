"""The pages as a person uses them, in Chromium: draw, change a number, follow a training, compare, sort."""

import os
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web import chromium, visitor
from tests.web.visitor import Visitor, epoch, identity
from vitruvius.core import files
from vitruvius.core.runs import RunFolder
from vitruvius.ranking.results import WORKLOAD
from vitruvius.ranking.score import Scored
from vitruvius.training.results import Result as Trained
from vitruvius.web import live

pytestmark = chromium.needed
AXE = Path(__file__).parent / "axe-core" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = os.environ.get("VITRUVIUS_SCREENSHOTS")
"""A folder for screenshots of every page, for eyes."""
PAGES = {
    "start": "/",
    "shipped": "/look",
    "look": f"/look?run={identity('train', 'first')}",
    "lessons": "/lessons",
    "lesson": "/lessons/sentence_graph",
    "refused": "/lessons/attention_cost?tokens=two",
    "check": "/lessons/attention/check",
    "runs": "/runs",
    "training": f"/runs/{identity('train', 'first')}",
    "ranking": f"/runs/{identity('rank', 'three')}",
    "diagnosis": f"/runs/{identity('doctor', 'sick')}",
    "search": f"/runs/{identity('search', 'shown')}",
    "pretraining": f"/runs/{identity('pretrain', 'shown')}",
    "live": f"/runs/{identity('train', 'shown')}",
    "comparison": f"/compare?run={identity('train', 'first')}&run={identity('train', 'second')}",
    "nothing": "/nothing",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.launched() as launched:
        yield launched


@pytest.fixture
def page(browser: Any, site: Visitor) -> Iterator[Any]:
    """A page that has been let in; whatever its console says is a failure."""
    context = chromium.patient(browser.new_context(viewport={"width": 1280, "height": 900}))
    opened, said = context.new_page(), list[str]()
    opened.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(site.door.address)
    yield opened
    context.close()
    assert [text for text in said if not re.search("404|CORS|NotSameOrigin|403|ERR_FAILED", text)] == []


def test_a_number_that_is_changed_is_worked_again(page: Any, site: Visitor) -> None:
    page.goto(f"{site.door.site}/lessons?search=quux")
    page.get_by_text("No lesson has these words").wait_for()
    page.get_by_label("Search").fill("attention cost")
    page.get_by_role("link", name="attention cost").click()
    page.get_by_label("tokens").fill("17")
    page.wait_for_url("**/lessons/attention_cost?tokens=17")
    page.get_by_text("17^2").or_(page.locator("#worked", has_text="17")).first.wait_for()
    page.get_by_label("tokens").fill("none")
    page.get_by_text("tokens needs a whole number, got 'none'").wait_for()
    assert page.get_by_label("tokens").get_attribute("aria-invalid") == "true"
    assert page.get_by_label("tokens").input_value() == "none"
    page.get_by_label("tokens").fill("2")
    page.locator("#worked", has_text="proofs hold").wait_for()
    assert page.url.endswith("/lessons/attention_cost")  # its own numbers need no address
    with page.expect_download() as waiting:
        page.get_by_role("link", name="JSON").click()
    assert waiting.value.suggested_filename == "attention_cost.json"


def test_a_student_s_values_are_checked_and_stay(page: Any, site: Visitor) -> None:
    page.goto(f"{site.door.site}/lessons/sentence_graph?words=a,b,c")
    page.get_by_role("link", name="Check your own work").click()
    page.wait_for_url("**/lessons/sentence_graph/check?**")
    verdict = page.locator("#verdict")
    page.get_by_label("edges edges without loops").fill("3")
    page.get_by_label("Hint").select_option("1")
    page.get_by_role("button", name="Check").click()
    verdict.get_by_text("the two directions of a pair are counted as one").first.wait_for()
    verdict.get_by_text("Hint 1 (edges): To how many words does each word send an arrow?").wait_for()
    assert page.get_by_label("edges edges without loops").input_value() == "3"
    page.get_by_label("edges edges without loops").fill("6")
    page.get_by_role("button", name="Check").click()
    verdict.get_by_text("All right: 1 of 1 value.").wait_for()
    page.get_by_role("link", name="Show the solution").click()
    page.locator("#worked", has_text="proofs hold").wait_for()


def test_a_ranking_is_followed_while_it_scores(page: Any, site: Visitor) -> None:
    folder = site.runs / "rank" / "going"
    folder.mkdir(parents=True)
    files.write_json(folder / "config.json", {"data": "noise"})
    files.write_json(folder / ".holder", {"pid": os.getpid(), "host": socket.gethostname()})
    try:
        page.goto(f"{site.door.site}/runs/{identity('rank', 'going')}")
        page.get_by_text("0 scores so far").wait_for()
        assert page.locator("progress").is_hidden()
        files.write_json(folder / WORKLOAD, {"networks": 4, "seeds": 1})
        RunFolder(folder, False).keep(Scored(key="a", seed=0, scores={}, timing={"snip": 2.0}))
        page.get_by_text("1 of 4 scored: 4 networks · about 6 seconds left").wait_for()
        assert page.locator("progress").evaluate("bar => bar.value / bar.max") == 0.25
    finally:
        shutil.rmtree(folder)


def test_a_training_grows_before_the_eyes_and_becomes_its_report(page: Any, site: Visitor) -> None:
    folder = visitor.training(site.runs, "watched", None)
    files.write_json(folder / ".holder", {"pid": os.getpid(), "host": socket.gethostname()})
    try:
        page.goto(f"{site.door.site}/runs/{identity('train', 'watched')}")
        page.get_by_text("Epoch 1 of 3 · about 4 seconds left").wait_for()
        RunFolder(folder, False).keep(epoch(2))
        page.get_by_text("Epoch 2 of 3 · about 2 seconds left").wait_for()
        chromium.wait_until(page, "document.querySelector('#plots .plot').data[0].x.length === 2")
        assert page.locator("progress").evaluate("bar => bar.value / bar.max") == pytest.approx(2 / 3)
        done = files.read_as(site.runs / "train" / "first" / "result.json", Trained)
        RunFolder(folder, False).keep(done)
        (folder / ".holder").unlink()
        page.get_by_text("75.00% test accuracy").wait_for()
        assert page.locator("#live").count() == 0
    finally:
        shutil.rmtree(folder)


def test_a_run_that_vanishes_is_said_where_it_was(page: Any, site: Visitor) -> None:
    folder = visitor.training(site.runs, "lost", None)
    files.write_json(folder / ".holder", {"pid": os.getpid(), "host": socket.gethostname()})
    page.goto(f"{site.door.site}/runs/{identity('train', 'lost')}")
    page.get_by_text("Epoch 1 of 3").wait_for()
    shutil.rmtree(folder)
    page.get_by_text("This run has been removed.").wait_for()


def test_a_run_that_seems_to_have_stopped_while_its_files_are_removed_is_said_to_be_removed(
    page: Any, site: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = visitor.training(site.runs, "half", None)
    files.write_json(folder / ".holder", {"pid": os.getpid(), "host": socket.gethostname()})
    page.goto(f"{site.door.site}/runs/{identity('train', 'half')}")
    page.locator("#plots .plot").first.wait_for()  # drawn by the first event
    monkeypatch.setattr(live, "SECONDS", 10)  # between the last state and the last look
    (folder / ".holder").unlink()
    page.get_by_text("vitruvius train --resume half").wait_for()
    shutil.rmtree(folder)
    page.get_by_text("This run has been removed.").wait_for()


def test_runs_are_filtered_sorted_chosen_and_compared(page: Any, site: Visitor) -> None:
    page.goto(f"{site.door.site}/runs")
    rows = page.locator("#runs tbody tr:visible")
    every = rows.count()
    page.get_by_label("Verb").select_option("doctor")
    assert 0 < rows.count() < every
    page.get_by_label("Verb").select_option("")
    page.get_by_label("Filter").fill("25.00%")  # other tests leave runs with 75 % here
    assert rows.count() == 1
    page.get_by_label("Filter").fill("")
    page.get_by_role("button", name="result").click()
    page.get_by_role("button", name="result").click()
    assert "75.00%" in rows.first.inner_text()
    assert page.get_by_role("button", name="Compare trainings").is_disabled()
    page.get_by_label("compare first", exact=True).check()
    page.get_by_label("compare second", exact=True).check()
    page.get_by_role("button", name="Compare trainings").click()
    page.get_by_text("first is ahead with 75.00% test accuracy").wait_for()
    for number in range(4):
        page.locator(".plot").nth(number).locator(".main-svg").first.wait_for()
    page.locator(".plot").first.hover()
    page.locator(".plot .modebar-btn").first.wait_for()
    assert page.locator(".modebar-btn[data-title^=Share]").count() == 0, (
        "nothing is sent to plotly's own site"
    )


def test_a_ranking_is_sorted_by_the_score_whose_scatter_is_shown(page: Any, site: Visitor) -> None:
    page.goto(f"{site.door.site}/runs/{identity('rank', 'three')}")
    names = page.locator("#networks tbody td.name")
    page.get_by_role("button", name="zico").click()
    assert names.all_inner_texts()[0] == "tiny"
    assert page.locator(".one-score:visible").get_attribute("data-score") == "zico"
    page.get_by_label("Score").select_option("snip")
    assert names.all_inner_texts()[0] == visitor.HOSTILE
    assert page.locator(".one-score:visible .main-svg").count() >= 1


def test_the_server_computes_what_the_browser_would(page: Any, site: Visitor) -> None:
    """The same picture and changes through both sources; the numbers agree."""
    page.goto(f"{site.door.site}/lessons")
    differences = page.evaluate(
        """async (address) => {
          const { fetchSource } = await import("/static/viewer/source.js");
          const { serverSource } = await import("/static/site/server_source.js");
          const sources = [await fetchSource(`${address}/network`), serverSource(address)];
          const abouts = await Promise.all(sources.map((source) => source.describe()));
          const changes = [
            { hidden: [], order: null, positions: true, beta: 1 },
            { hidden: [1], order: [1, 0, 2, 3], positions: false, beta: Infinity },
          ];
          const pixels = Float32Array.from({ length: 64 }, (_, index) => (index % 7) / 7);
          const far = (a, b) => Math.max(...Array.from(a, (value, index) => Math.abs(value - b[index])));
          const found = [JSON.stringify(abouts[0].classes) === JSON.stringify(abouts[1].classes) ? 0 : 1];
          for (const change of changes) {
            const [one, two] = await Promise.all(sources.map((source) => source.forward(pixels, change)));
            found.push(far(one.logits, two.logits), far(one.attention[0], two.attention[0]));
            const place = { layer: 0, head: 1, token: 2 };
            const details = sources.map((source) => source.detail(pixels, change, place));
            const [first, second] = await Promise.all(details);
            const vectors = ["x", "q", "weights", "mixed", "output"];
            for (const name of vectors) found.push(far(first[name], second[name]));
            found.push(far(first.keys[1], second.keys[1]), far(first.values[1], second.values[1]));
          }
          return found;
        }""",
        f"/look/{identity('train', 'first')}",
    )
    assert len(differences) == 19
    assert max(differences) < 1e-4


def test_a_digit_is_drawn_and_its_arithmetic_becomes_a_lesson(page: Any, site: Visitor) -> None:
    page.goto(f"{site.door.site}/look")
    answer = page.locator("#viewer .answer")
    page.locator("#viewer .verdict").wait_for()
    before = answer.inner_text()
    page.get_by_role("button", name="Clear").click()
    box = page.locator("#viewer canvas.pad").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"], steps=8)
    page.mouse.up()
    chromium.wait_until(
        page, "before => document.querySelector('#viewer .answer').innerText !== before", before
    )
    page.get_by_text("Open the arithmetic").click()
    page.get_by_role("link", name="Open as a lesson").click()
    page.wait_for_url("**/lessons/attention?**")
    page.locator("#worked", has_text="proofs hold").wait_for()


def test_a_run_is_chosen(page: Any, site: Visitor) -> None:
    page.goto(f"{site.door.site}{PAGES['look']}")
    page.locator("#viewer .verdict").wait_for()
    page.get_by_label("Network").select_option(identity("train", "second"))
    page.wait_for_url(f"**/look?run={identity('train', 'second')}")
    page.locator("#viewer .verdict").wait_for()


def test_hostile_names_do_nothing(page: Any, site: Visitor) -> None:
    alerts: list[str] = []

    def dismiss(dialog: Any) -> None:
        alerts.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    for address in ("/", "/runs", PAGES["ranking"], PAGES["training"], PAGES["look"]):
        page.goto(site.door.site + address)
    assert alerts == []
    assert page.locator("img[src=x]").count() == 0


def test_other_sites_see_nothing(page: Any, site: Visitor) -> None:
    """A page of another origin can neither read nor frame this one."""
    other = socket.create_server(("127.0.0.1", 0))
    html = b"<title>other</title><body>"
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
    )

    def serve() -> None:
        for _ in range(2):
            try:
                connection, _address = other.accept()
            except OSError:
                return
            connection.recv(65536)
            connection.sendall(answer % (len(html), html))
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    page.goto(f"http://localhost:{other.getsockname()[1]}/")
    read = page.evaluate(
        "address => fetch(address).then(() => 'read', () => 'refused')", f"{site.door.site}/runs"
    )
    sent = page.evaluate(
        "address => fetch(address, {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}'})"
        ".then(answer => answer.type + answer.status, () => 'refused')",
        f"{site.door.site}/look/shipped/forward",
    )
    other.close()
    assert read == "refused"
    assert sent in ("refused", "opaque0")


@pytest.fixture(scope="module")
def shown(site: Visitor) -> Iterator[None]:
    """Runs of which the other tests do not know."""
    going = visitor.training(site.runs, "shown", None)
    files.write_json(going / ".holder", {"pid": os.getpid(), "host": socket.gethostname()})
    folders = [going, visitor.search(site.runs, "shown"), visitor.pretraining(site.runs, "shown")]
    yield
    for folder in folders:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_axe_finds_nothing_serious(
    name: str, browser: Any, site: Visitor, shown: None
) -> None:
    # axe-core is put into the page by the test; the site's own policy would refuse it.
    context = chromium.patient(browser.new_context(bypass_csp=True))
    page = context.new_page()
    page.goto(site.door.address)
    page.goto(site.door.site + PAGES[name])
    if page.locator(".plot:visible").count():
        page.locator(".plot:visible .main-svg").first.wait_for()
    if AXE.exists():
        page.add_script_tag(path=str(AXE))
    for width, scheme in ((1280, "light"), (375, "dark"), (375, "light"), (1280, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) <= 0, width
        if SHOTS:
            page.screenshot(path=f"{SHOTS}/{name}-{scheme}-{width}.png", full_page=True)
        if AXE.exists() and (width, scheme) in ((1280, "light"), (375, "dark")):
            found = page.evaluate("axe.run().then(found => found.violations)")
            grave = [fault for fault in found if fault["impact"] in ("serious", "critical")]
            said = [(fault["id"], [node["html"][:150] for node in fault["nodes"][:3]]) for fault in grave]
            assert said == [], scheme
    context.close()


@pytest.mark.parametrize("name", ["start", "shipped"])
def test_a_page_is_light(name: str, browser: Any, site: Visitor) -> None:
    """Start and Look inside weigh less than 400 kB, weights aside."""
    context = chromium.patient(browser.new_context())
    page, loaded = context.new_page(), list[str]()
    page.goto(site.door.address)
    page.on("response", lambda answer: loaded.append(answer.url))
    page.goto(site.door.site + PAGES[name], wait_until="networkidle")
    context.close()
    paths = {url.removeprefix(site.door.site) for url in loaded if not url.endswith("/network")}
    assert "/static/site/site.css" in paths
    assert sum(len(site.ask(path).body) for path in paths) < 400_000
