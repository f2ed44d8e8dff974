"""The viewer's modules are plain, small, and name lessons that exist; as one script they are the same."""

import base64
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from vitruvius.core import plugins
from vitruvius.web import modules, page, trained, weights

MODULES = sorted(modules.FOLDER.glob("*.js"))
DIGITS = Path(__file__).parents[2] / "docs" / "digits.html"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_uses_the_two_forms_that_can_be_put_together(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.startswith("/**"), "a module says first what it is"
    rest = modules.EXPORT.sub("", modules.IMPORT.sub("", modules.COMMENT.sub("", source)))
    assert not re.findall(r"^\s*(?:import|export)\b|\bimport\(", rest, re.M)
    imported = {target for _, target in modules.IMPORT.findall(source)}
    assert not re.findall(rf"^(?:const|let|function) (?:{'|'.join(imported)})\b", rest, re.M) or not imported
    assert "</script" not in source
    assert "innerHTML" not in source, "names of classes are text, never markup"
    assert "https://" not in source
    assert len(source.splitlines()) <= 300


def test_lessons_that_are_named_exist() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    named = set(re.findall(r'lesson: "(\w+)"', text)) | set(re.findall(r'lessonLink\("(\w+)"', text))
    assert len(named) >= 8
    assert named <= set(plugins.members("lessons"))


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_modules_are_one_script(tmp_path: Path) -> None:
    script = modules.script("console.log(typeof viewer.mount, layers.erf(0.5).toFixed(10));")
    assert "import {" not in script
    (tmp_path / "all.js").write_text(script, encoding="utf-8")
    words = ["node", str(tmp_path / "all.js")]
    found = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout
    assert found == "function 0.5204998778\n"


def test_the_viewer_is_light() -> None:
    size = sum(path.stat().st_size for path in modules.FOLDER.iterdir())
    assert size < 400_000


def test_the_script_does_not_depend_on_the_order_of_sets() -> None:
    code = "import zlib; from vitruvius.web import modules; print(zlib.crc32(modules.script('').encode()))"
    found = set()
    for seed in ("1", "2"):
        home = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(plugins.PACKAGE.parent)}
        words = [sys.executable, "-c", code]
        found.add(subprocess.run(words, check=True, capture_output=True, text=True, env=home).stdout)
    assert len(found) == 1


@pytest.mark.slow  # it fails whenever the viewer changes, until the page is made anew
def test_the_page_among_the_documents_is_as_it_is_written_now() -> None:
    now = page.html(trained.shipped().about.name, trained.SHIPPED.read_bytes())
    is_same = DIGITS.read_text(encoding="utf-8") == now
    assert is_same, "make docs/digits.html anew, as vitruvius/web/static/networks/README.md says"


def test_the_page_among_the_documents_holds_the_shipped_network() -> None:
    text = DIGITS.read_text(encoding="utf-8")
    held = weights.unpack(base64.b64decode(re.findall('id="network">([^<]+)<', text)[0]), "digits.html")
    network = trained.shipped()
    assert held.about == network.about
    assert all(map(torch.equal, held.net.state_dict().values(), network.net.state_dict().values()))


def test_the_shipped_network_has_its_card() -> None:
    shown = trained.shipped()
    assert trained.SHIPPED.stat().st_size < 600_000
    card = " ".join((trained.SHIPPED.parent / "README.md").read_text(encoding="utf-8").split())
    accuracy = re.findall(r"([\d.]+)% of 10,000 test images", shown.about.text)[0]
    assert f"{accuracy} % are classified correctly" in card
    for word in shown.about.command.split()[2:]:
        assert word in card


def test_the_site_does_not_style_the_parts_of_the_viewer() -> None:
    """A class that both style sheets name would look different on a page of its own."""
    sheets = (modules.FOLDER / "viewer.css", modules.FOLDER.parent / "site" / "site.css")
    viewer, site = (set(re.findall(r"\.([a-z][\w-]+)", path.read_text(encoding="utf-8"))) for path in sheets)
    assert {"verdict-bar", "patch"} <= viewer
    assert viewer & site <= {"viewer", "verdict-bar", "button", "error", "hidden", "hint"}
