"""The static site: every page is made, every link leads somewhere, nothing is loaded from the network."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from vitruvius.core import plugins
from vitruvius.render import policy

SCRIPT = Path(__file__).parent.parent / "docs" / "make_site.py"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_site", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_documents_become_pages_whose_links_lead_to_pages(maker: ModuleType, tmp_path: Path) -> None:
    pages = {page.name: page for page in maker._documents(tmp_path)}
    assert {"index", "verbs", "ranking", "teaching", "doctor", "images", "architecture", "measured"} <= set(
        pages
    )
    assert 'href="verbs.html' in pages["index"].body
    assert not any(re.search(r'href="[^":]*\.md', page.body) for page in pages.values())
    assert (tmp_path / "ranking.png").is_file()
    assert not [name for name, page in pages.items() if re.search(r"<[^<>]* style=", page.body)]


def test_the_columns_of_a_table_are_aligned_without_style_attributes_which_the_policy_refuses(
    maker: ModuleType, tmp_path: Path
) -> None:
    body, _ = maker._converted("| a | b |\n|---|---:|\n| c | 1 |\n", "README.md", tmp_path)
    assert '<td class="right">1</td>' in body
    assert "style=" not in body


def test_every_option_of_every_verb_is_listed(maker: ModuleType) -> None:
    pages = {page.name: page.body for page in maker._verbs()}
    assert {"verb-train", "verb-rank", "verb-doctor-run", "verb-teach-sheet"} <= set(pages)
    assert "--learning-rate" in pages["verb-train"] or "--lr" in pages["verb-train"]
    assert "--document" in pages["verb-explain"]


@pytest.mark.parametrize("family", ["proxies", "checks"])
def test_every_member_is_listed_and_formulas_are_set(maker: ModuleType, family: str) -> None:
    (page,) = maker._members(family)
    assert all(f'id="{name}"' in page.body for name in plugins.members(family))
    assert "$" not in re.sub(r"<math.*?</math>", "", page.body)
    assert family != "proxies" or "<math" in page.body


def test_a_link_that_leads_nowhere_is_named(maker: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="b.html">b</a><a href="#y">y</a><a href="#x">x</a>'
    )
    assert list(maker.broken_links(tmp_path)) == ["a.html: b.html", "a.html: #y"]


@pytest.mark.slow
def test_the_whole_site_is_made_and_works_from_disk(maker: ModuleType, tmp_path: Path) -> None:
    maker.main(tmp_path)
    names = {path.stem for path in tmp_path.glob("*.html")}
    assert {f"lesson-{name}" for name in plugins.members("lessons")} <= names
    for path in tmp_path.glob("*.html"):
        if path.name != "digits.html":  # a page of its own, with its own promise
            text = path.read_text()
            assert not re.search(r'(src|<link[^>]*href)="https?:', text), path.name
            assert not re.search(r"<[^<>]* style=|unsafe-inline", text), path.name
            (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
            assert f"style-src {policy.hashed(style)};" in text, path.name
