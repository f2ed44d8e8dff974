"""The viewer in Chromium, as a person uses it: on a mailable page, opened from disk, with no network."""

import functools
import http.server
import json
import re
import shlex
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor

from tests.web import chromium
from tests.web.test_forward import ARCHS, assert_same, normalised, shown, split
from vitruvius.cli import main
from vitruvius.nn import attention_maps
from vitruvius.training import predictor
from vitruvius.web import modules, page, trained, weights
from vitruvius.web.weights import Viewable

pytestmark = chromium.needed
AXE = Path(__file__).parent / "axe-core" / "node_modules" / "axe-core" / "axe.min.js"
Page = Any  # playwright's, which is not imported where it is missing


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def network() -> Viewable:
    return trained.shipped()


@pytest.fixture(scope="module")
def address(network: Viewable, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The shipped network as a page on disk."""
    path = tmp_path_factory.mktemp("page") / "digits.html"
    path.write_text(page.html(network.about.name, weights.pack(network, "float16")), encoding="utf-8")
    return path.as_uri()


def opened(browser: Any, address: str, **options: Any) -> Page:
    """Open a page without a network; errors of its script and its policy fail the test."""
    context = chromium.patient(browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options}))
    context.set_offline(True)
    view = context.new_page()
    faults: list[str] = []
    view.on("pageerror", lambda error: faults.append(str(error)))
    view.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    asked: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    view.goto(address)
    view.wait_for_selector(".verdict")
    view.faults, view.asked = faults, asked
    return view


@pytest.fixture
def view(browser: Any, address: str) -> Iterator[Page]:
    view = opened(browser, address)
    yield view
    assert view.faults == []
    view.context.close()


def verdict(view: Page) -> tuple[str, float]:
    """The class that is shown, and its probability."""
    percent = view.inner_text(".verdict .chance").strip("> %")
    return view.inner_text(".verdict .class"), float(percent) / 100


def settled(view: Page) -> None:
    """Wait until two frames have been drawn: what was asked before is computed and shown."""
    view.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def chances(network: Viewable, image: int = 0) -> Tensor:
    with torch.no_grad():
        return network.net(normalised(network)[image : image + 1])[0].softmax(-1)


def figures(view: Page) -> list[float]:
    """The percentages that stand on the patches."""
    return [float(text) for text in view.locator(".patch .figure").all_inner_texts()]


def test_the_page_opens_from_disk_and_asks_for_nothing(view: Page, network: Viewable, address: str) -> None:
    assert view.asked == [address]
    label, chance = verdict(view)
    expected = chances(network)
    assert label == network.about.classes[int(expected.argmax())]
    assert chance == pytest.approx(float(expected.max()), abs=2e-3)
    assert view.inner_text(".right, .wrong").endswith(f"shows {network.about.classes[0]}.")
    assert network.about.text in view.inner_text(".about")


def test_probabilities_move_while_a_digit_is_drawn(view: Page) -> None:
    view.click("text=Clear")
    box = view.locator(".pad").bounding_box()
    x, y, side = box["x"], box["y"], box["width"]
    view.mouse.move(x + 0.3 * side, y + 0.25 * side)
    view.mouse.down()
    view.mouse.move(x + 0.7 * side, y + 0.25 * side, steps=4)
    settled(view)
    before = view.inner_text(".chances")
    view.mouse.move(x + 0.45 * side, y + 0.8 * side, steps=6)
    settled(view)
    assert view.inner_text(".chances") != before, "while the button is still down"
    view.mouse.up()
    settled(view)
    assert verdict(view)[0] == "7"
    assert not view.locator(".right, .wrong").count(), "nobody knows what a drawing shows"
    view.click("text=Clear")
    settled(view)
    assert pixels(view) == [0] * 784


def pixels(view: Page) -> list[int]:
    """The grey values of the pad."""
    script = (
        "Array.from(document.querySelector('.pad').getContext('2d').getImageData(0, 0, 28, 28).data)"
        ".filter((_, i) => i % 4 === 0)"
    )
    return list(view.evaluate(script))


def test_a_finger_draws(browser: Any, address: str) -> None:
    view = opened(browser, address, has_touch=True, viewport={"width": 375, "height": 800})
    view.tap("text=Clear")
    view.locator(".pad").scroll_into_view_if_needed()
    box = view.locator(".pad").bounding_box()
    finger = view.context.new_cdp_session(view)
    for kind, part in (("touchStart", 0.2), ("touchMove", 0.5), ("touchMove", 0.8), ("touchEnd", None)):
        point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] * (part or 0)}
        touches = [] if part is None else [point]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
    settled(view)
    drawn = pixels(view)
    assert sum(drawn[row * 28 + 14] > 200 for row in range(28)) >= 14
    assert view.faults == []
    view.context.close()


def test_a_picture_is_uploaded_and_another_file_is_refused(
    view: Page, network: Viewable, tmp_path: Path
) -> None:
    digit = int(torch.tensor(network.about.labels).eq(4).nonzero()[0])
    large = Image.fromarray(network.images[digit, 0].numpy()).resize((300, 260), Image.Resampling.BICUBIC)
    large.save(tmp_path / "four.png")
    (tmp_path / "words.png").write_text("no picture")
    view.set_input_files("input[type=file]", tmp_path / "four.png")
    view.locator(".verdict .class", has_text="4").wait_for()
    expected = predictor.read_picture(str(tmp_path / "four.png"), network.predictor).flatten()
    assert (torch.tensor(pixels(view)) - 255 * expected).abs().max() <= 4, "as vitruvius predict reads it"
    view.set_input_files("input[type=file]", tmp_path / "words.png")
    view.wait_for_selector("[role=alert]:not([hidden])")
    assert view.inner_text("[role=alert]") == "words.png is not a picture that this browser can read."
    view.click(".thumbnails button >> nth=3")
    settled(view)
    assert view.locator("[role=alert]").is_hidden()


def test_patches_show_where_a_token_looks(view: Page, network: Viewable) -> None:
    maps = [layer[0] for layer in attention_maps.attention(network.net, normalised(network)[:1])]

    def expect(row: Tensor) -> None:
        settled(view)
        assert figures(view) == pytest.approx((100 * row[1:]).tolist(), abs=0.51)

    expect(maps[-1].mean(0)[0])
    view.hover(".patch >> nth=5")
    expect(maps[-1].mean(0)[6])
    view.hover("h2 >> nth=0")
    expect(maps[-1].mean(0)[0])
    view.click(".patch >> nth=9")
    view.click('[aria-label^="layer 2, head 3"]')
    view.hover("h2 >> nth=0")
    expect(maps[1][2, 10])
    assert "layer 2, head 3" in view.inner_text(".looking")
    view.click("text=Rollout over all layers")
    view.hover("h2 >> nth=0")
    expect(attention_maps.rollout([layer[None] for layer in maps])[0, 10])
    view.click(".matrix canvas", position={"x": 5, "y": 2})
    expect(attention_maps.rollout([layer[None] for layer in maps])[0, 0])
    view.hover(".matrix canvas", position={"x": 5, "y": 2})
    assert view.inner_text(".readout").startswith("class token gives ")


def test_heads_say_how_far_they_look(view: Page, network: Viewable) -> None:
    maps = attention_maps.attention(network.net, normalised(network)[:1])
    found = attention_maps.distances(network.net, maps)
    labels = view.locator(".head").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    heads = [label for label in labels if ", head " in label]
    assert len(heads) == found.numel()
    for label, expected in zip(heads, found.flatten().tolist(), strict=True):
        assert float(label.split()[-3]) == pytest.approx(expected, abs=0.06)


def test_changes_are_answered_beside_the_original(view: Page) -> None:
    original = verdict(view)
    view.check("text=switches it off")
    for patch in (4, 5, 6, 9):
        view.click(f".patch >> nth={patch}")
    settled(view)
    assert view.inner_text(".patch >> nth=5").strip() == "off"
    assert view.inner_text(".summary") == "Changed: 4 patches off."
    comparison = view.inner_text(".comparison")
    assert comparison.startswith(f"Without your changes: {original[0]}, ")
    assert view.locator(".chances progress.before").count() == 10
    view.click("text=Undo all changes")
    settled(view)
    assert verdict(view) == original
    view.check("text=swaps it with another")
    view.click(".patch >> nth=0")
    view.click(".patch >> nth=10")
    settled(view)
    assert view.inner_text(".summary") == "Changed: 2 patches moved."
    swapped = verdict(view)
    view.check("text=Leave the positions out")
    settled(view)
    without = view.inner_text(".chances")
    view.check("text=swaps it with another")
    view.click(".patch >> nth=3")
    view.click(".patch >> nth=12")
    settled(view)
    numbers = re.compile(r"[\d.]+ %")
    assert numbers.findall(view.inner_text(".chances"))[::2] == numbers.findall(without)[::2], (
        "no order is seen"
    )
    view.click("text=Undo all changes")
    settled(view)
    assert verdict(view) == original != swapped


def test_the_temperature_turns_from_the_mean_to_the_best_key(view: Page) -> None:
    view.focus("input[type=range]")
    view.keyboard.press("Home")
    settled(view)
    assert view.inner_text(".summary") == "Changed: β = 0, the mean of all."
    assert figures(view) == pytest.approx([100 / 17] * 16, abs=0.06)
    view.keyboard.press("End")
    view.click('[aria-label^="layer 1, head 1"]')
    view.hover("h2 >> nth=0")
    settled(view)
    assert set(figures(view)) <= {0.0, 100.0}
    text = open_arithmetic(view)
    assert "infinite" in text
    assert "There are 17." in text, "also those that get no weight"
    assert "The 3 most attended of 17 tokens" in text
    view.check("text=switches it off")
    view.click(".patch >> nth=5")
    settled(view)
    assert "There are 16." in view.inner_text(".arithmetic-board")


def open_arithmetic(view: Page) -> str:
    view.click("summary:has-text('Open the arithmetic')")
    view.wait_for_selector(".steps li")
    return str(view.inner_text(".arithmetic-board"))


def test_the_arithmetic_has_the_numbers_of_torch(view: Page, network: Viewable) -> None:
    view.click('[aria-label^="layer 2, head 3"]')
    view.click(".patch >> nth=9")
    text = open_arithmetic(view)
    assert view.locator(".arithmetic-board math").count() == 8
    net, at = network.net, (1, 2, 10)
    second: Any = net.layers[1]
    with torch.no_grad():
        normed = second.norm1(net.layers[0](net.embed(normalised(network)[:1])))
        q, k, v = (part[0, at[1]] for part in second.attention.project(normed))
        output = second.attention(normed)[0, at[2]]
    products = k @ q[at[2]]
    weight = (products / 8**0.5).softmax(-1)
    best = weight.argsort(descending=True)[:3]
    expected = [normed[0, at[2], 0], q[at[2], 0], *k[best, 0], *products[best], *(products[best] / 8**0.5)]
    expected += [*weight[best], (weight @ v)[0], output[0]]
    found = [float(word.replace("−", "-")) for word in re.findall(r"−?\d+\.\d+", text)]
    for value in expected:
        assert min(abs(number - float(value)) for number in found) < 2e-3, value
    view.click("summary:has-text('Open as a lesson')")
    words = shlex.split(view.inner_text(".as-lesson pre"))
    assert words[:3] == ["vitruvius", "explain", "attention"]
    assert main(words[1:] + ["--json"]) == 0
    query = json.loads(words[words.index("--set", 7) + 1].partition("=")[2])
    assert query[0] == pytest.approx(q[at[2]].tolist(), abs=0.006)
    view.select_option(".chooser select >> nth=0", index=4)
    settled(view)
    assert "Layer 5, head 3" in view.inner_text(".legend")


def test_everything_is_reached_by_keys(view: Page) -> None:
    view.click("text=Clear")
    view.focus(".pad")
    view.keyboard.press(" ")
    for _ in range(8):
        view.keyboard.press("ArrowDown")
    view.keyboard.press(" ")
    view.keyboard.press("ArrowDown")
    settled(view)
    drawn = pixels(view)
    assert [drawn[row * 28 + 14] > 200 for row in (12, 18, 22, 25)] == [False, True, True, False]
    view.focus(".patch >> nth=0")
    view.keyboard.press("ArrowRight")
    view.keyboard.press("ArrowDown")
    view.keyboard.press("Enter")
    settled(view)
    assert view.get_attribute(".patch >> nth=5", "aria-pressed") == "true"
    assert view.inner_text(".looking").startswith("Patch 2, 2 looks most at")
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.type") == "radio", "the patches are one stop of the tab key"


def test_the_eraser_inversion_and_centring(view: Page) -> None:
    before = pixels(view)
    view.click("text=Invert")
    settled(view)
    assert pixels(view) == [255 - value for value in before]
    view.click("text=Invert")
    view.click("text=Clear")
    box = view.locator(".pad").bounding_box()
    corner = (box["x"] + 20, box["y"] + 20)
    view.mouse.move(*corner)
    view.mouse.down()
    view.mouse.move(corner[0], corner[1] + 60, steps=3)
    view.mouse.up()
    view.click("text=Centre")
    settled(view)
    drawn = torch.tensor(pixels(view)).view(28, 28).float()
    for axis in (0, 1):
        mass = (drawn.sum(1 - axis) * torch.arange(0.5, 28)).sum() / drawn.sum()
        assert mass == pytest.approx(14, abs=0.5)
    assert (drawn.amax(1) > 100).sum() == pytest.approx(20, abs=2)
    view.click("text=Eraser")
    view.mouse.move(box["x"] + box["width"] / 2, box["y"])
    view.mouse.down()
    view.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, steps=20)
    view.mouse.up()
    settled(view)
    assert torch.tensor(pixels(view)).view(28, 28)[:, 14].max() < 10


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core (make browser)")
@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (768, "light"), (1600, "dark")])
def test_no_width_needs_sideways_scrolling_and_axe_finds_nothing_serious(
    browser: Any, address: str, width: int, scheme: str, tmp_path: Path
) -> None:
    size = {"width": width, "height": 800}
    view = opened(browser, address, viewport=size, color_scheme=scheme)
    open_arithmetic(view)
    view.check("text=Leave the positions out")
    settled(view)
    view.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    view.evaluate(AXE.read_text(encoding="utf-8"))  # not as an element, which the page's policy refuses
    found = view.evaluate("axe.run().then((found) => found.violations)")
    serious = [
        (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert view.faults == []
    view.context.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The viewer's modules over HTTP, and a folder beside them."""
    root = tmp_path_factory.mktemp("site")
    (root / "viewer").symlink_to(modules.FOLDER)
    (root / "index.html").write_text("<!doctype html><title>viewer</title><div id=viewer></div>")
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", root
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


COMPUTE = """async (name) => {
  const { fetchSource } = await import("/viewer/source.js");
  const source = await fetchSource(`/${name}`);
  const { images } = await source.describe();
  const [found, changes] = [[], { hidden: [], order: null, positions: true, beta: 1 }];
  for (const pixels of images) {
    const { logits, attention } = await source.forward(pixels, changes);
    for (const part of [logits, ...attention]) found.push(...part);
  }
  const bytes = new Uint8Array(Float32Array.from(found).buffer);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}"""


def test_scores_and_attention_in_chromium_are_those_of_torch(browser: Any, served: tuple[str, Path]) -> None:
    address, root = served
    view = chromium.patient(browser.new_context()).new_page()
    view.goto(f"{address}/index.html")
    for index, (name, arch) in enumerate(ARCHS.items()):
        network = shown(arch)
        (root / f"network{index}").write_bytes(weights.pack(network))
        numbers = torch.frombuffer(
            bytearray(b64decode(view.evaluate(COMPUTE, f"network{index}"))), dtype=torch.float32
        )
        x = normalised(network)
        with torch.no_grad():
            logits = network.net(x)
        found = split(numbers, arch, len(network.images))
        assert_same(found, logits, attention_maps.attention(network.net, x))
        assert len(network.images) == 100, name
    view.close()


def test_lessons_are_links_where_the_page_has_them(browser: Any, served: tuple[str, Path]) -> None:
    address, root = served
    (root / "network").write_bytes(weights.pack(shown(ARCHS["sinusoidal, mean, gelu_tanh"], 2)))
    view = chromium.patient(browser.new_context()).new_page()
    view.goto(f"{address}/index.html")
    mount = """async () => {
      const { mount } = await import("/viewer/viewer.js");
      const { fetchSource } = await import("/viewer/source.js");
      const lesson = (name, fields) => `/lessons/${name}?${encodeURIComponent(JSON.stringify(fields))}`;
      await mount(document.getElementById("viewer"), { source: await fetchSource("/network"), lesson });
    }"""
    view.evaluate(mount)
    view.wait_for_selector(".verdict")
    assert view.inner_text(".wholes [aria-pressed=true]").startswith("All patches"), "what the head reads"
    open_arithmetic(view)
    links = view.locator(".arithmetic-board a").evaluate_all(
        "all => all.map((link) => link.getAttribute('href'))"
    )
    assert len(links) == 9
    assert links[0].startswith("/lessons/normalisation?")
    assert "keys" in links[-1]
    view.close()


def test_a_damaged_network_is_said_in_a_sentence(browser: Any, tmp_path: Path) -> None:
    content = bytearray(weights.pack(shown(ARCHS["odd width, sinusoidal"], 1)))
    content[-1] ^= 1
    (tmp_path / "page.html").write_text(page.html("damaged", bytes(content)))
    view = chromium.patient(browser.new_context()).new_page()
    view.goto((tmp_path / "page.html").as_uri())
    assert view.inner_text("main") == "The network's file is damaged: it does not match its checksum."
    view.close()


def test_a_source_that_fails_is_said_and_asked_again(browser: Any, served: tuple[str, Path]) -> None:
    address, root = served
    network = shown(ARCHS["learned, class token, gelu"], 2)
    (root / "failing").write_bytes(weights.pack(network))
    view = chromium.patient(browser.new_context()).new_page()
    view.goto(f"{address}/index.html")
    mount = """async () => {
      const { mount } = await import("/viewer/viewer.js");
      const { fetchSource } = await import("/viewer/source.js");
      const source = await fetchSource("/failing");
      const forward = async (...words) => {
        if (window.isBusy) throw new Error("The server is busy.");
        return source.forward(...words);
      };
      await mount(document.getElementById("viewer"), { source: { ...source, forward } });
    }"""
    view.evaluate(mount)
    view.wait_for_selector(".verdict")
    view.evaluate("window.isBusy = true")
    view.click(".thumbnails button >> nth=1")
    view.wait_for_selector("[role=alert]:not([hidden])")
    assert view.inner_text("[role=alert]") == "The server is busy."
    view.evaluate("window.isBusy = false")
    view.check("text=Leave the positions out")
    view.wait_for_selector(".comparison")
    assert view.locator("[role=alert]").is_hidden()
    best = chances(network, 1).max()
    assert f", {100 * best:.1f} %." in view.inner_text(".comparison"), (
        "the original is the picture that is shown"
    )
    view.close()
