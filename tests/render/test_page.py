"""Pages: everything escaped, nothing from the network."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from vitruvius.core.blocks import Block, Figure, Formula, Heatmap, Lines, Scatter, Table, Text
from vitruvius.render import page as html
from vitruvius.render import policy
from vitruvius.render.interactive import script as interactive_script

EVIL = '<script>alert("x")</script> & more'


@pytest.fixture
def blocks(lines: Lines, heatmap: Heatmap) -> list[Block]:
    """One block of every kind."""
    return [
        Text(text="Part", style="title"),
        Text(text="A sentence."),
        Text(text="Beware", style="warning"),
        Formula(latex=r"a = \frac{1}{2}"),
        Table(
            title="Costs",
            columns=("part", "count"),
            rows=(("q", 1234567), ("k", 0.123456)),
            note="no softmax",
        ),
        lines,
        heatmap,
        Scatter(title="Nets", x=(1, 2), y=(2, 1), names=("one", "two"), x_label="proxy", y_label="accuracy"),
    ]


class Tags(HTMLParser):
    """Collects tags, and complains about ones that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_shows_every_block(blocks: list[Block]) -> None:
    page = html.page("Everything", blocks)
    tags = [tag for tag, _ in Tags(page).seen]
    assert (tags.count("h1"), tags.count("h2"), tags.count("math"), tags.count("table")) == (1, 1, 2, 1)
    assert tags.count("figure") == tags.count("svg") == 3
    assert '<p class="warning">Beware</p>' in page
    assert '<td class="number">1,234,567</td>' in page


@pytest.mark.parametrize("interactive", [False, True])
def test_a_page_needs_nothing_from_elsewhere(interactive: bool, blocks: list[Block]) -> None:
    page = html.page("Everything", blocks, interactive=interactive)
    for tag, attributes in Tags(page).seen:
        assert tag not in ("link", "iframe", "img")
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert "default-src 'none'" in page
    assert ("<script" in page) == interactive


def test_text_is_never_markup(lines: Lines) -> None:
    evil: list[Block] = [
        Text(text=EVIL),
        Text(text=EVIL, style="title"),
        Table(columns=(EVIL,), rows=((EVIL,),), title=EVIL, note=EVIL),
        Formula(latex=rf"\text{{{EVIL}}}"),
        lines.model_copy(update={"title": EVIL, "x_label": EVIL}),
    ]
    assert "<script" not in html.page(EVIL, evil)
    assert "<script" not in html.book(EVIL, {EVIL: {EVIL: evil}})
    assert "<script" not in html.fragment(evil)


def test_interactive_names_cannot_end_the_script() -> None:
    points = Scatter(title=EVIL, x=(1,), y=(2,), names=(EVIL,), x_label="", y_label="")
    page = html.page("Points", [points], interactive=True)
    assert page.count("alert(") == page.count('alert(\\"x\\")')
    assert f"{EVIL}" not in page


def test_only_points_and_curves_are_interactive_and_the_library_comes_once(blocks: list[Block]) -> None:
    page = html.page("Everything", blocks, interactive=True)
    assert len(re.findall(r'<div id="plot\d+"', page)) == 2
    assert page.count("plotly.js v") == 1


def test_a_book_has_a_table_of_contents_and_no_id_twice(blocks: list[Block]) -> None:
    parts = {"Attention": {"multihead": blocks, "attention cost": blocks}, "Training": {"dropout": blocks}}
    seen = Tags(html.book("Lessons", parts)).seen
    targets = {attributes["href"] for tag, attributes in seen if tag == "a"}
    assert targets == {"#multihead", "#attention-cost", "#dropout"}
    ids = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert targets <= {f"#{name}" for name in ids}


def test_a_formula_may_break_at_quads_and_before_relations() -> None:
    page = html.page("", [Formula(latex=r"a = b = c, \quad f(x = 1)")])
    written = page[page.index('<div class="formula" tabindex="0">') :]
    assert written.count("<span>") == 2
    assert written.count("<math") == 4
    assert written.count("<wbr>") == 2


def test_a_script_finds_its_data_which_cannot_end_it() -> None:
    page = html.page("Ranks", [], script="const here = 1 < 2;", data={EVIL: [1, None]})
    assert "<script>\nconst here = 1 < 2;\n</script>" in page
    assert len(sources(page, "script-src")) == 1
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    assert json.loads(found[1]) == {EVIL: [1, None]}


def test_a_page_allows_its_own_scripts_by_their_hashes_and_no_others(blocks: list[Block]) -> None:
    page = html.page("Everything", blocks, interactive=True, script="const here = 1;", data={"a": 1})
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts}
    assert len(scripts) == 4  # plotly, two plots and ours
    assert set(sources(page, "script-src")) == {f"'sha256-{one}'" for one in hashes}


def written(page: str) -> str:
    """A page without the content of its scripts."""
    return re.sub(r"(<script[^>]*>).*?(?=</script>)", r"\1", page, flags=re.DOTALL)


def sources(page: str, kind: str) -> list[str]:
    """What the policy of a page says of a kind of content."""
    return re.findall(rf"{kind} ([^;\"]*)", page)[0].split()


@pytest.mark.parametrize("interactive", [False, True])
def test_a_page_allows_its_own_style_by_its_hash_and_no_other(interactive: bool, blocks: list[Block]) -> None:
    page = html.page("Everything", blocks, interactive=interactive)
    (style,) = re.findall(r"<style>(.*?)</style>", written(page), re.DOTALL)
    own, *others = sources(page, "style-src")
    assert own == f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
    assert " ".join(others) == (policy.PLOTLY_STYLES if interactive else "")
    assert "unsafe-inline" not in policy.PLOTLY_STYLES


@pytest.mark.parametrize("interactive", [False, True])
def test_no_element_of_a_page_has_a_style_attribute(interactive: bool, figures: list[Figure]) -> None:
    blocks: list[Block] = [*figures, Formula(latex=r"\begin{pmatrix} 1 & \color{red} 2 \end{pmatrix}")]
    page = html.page("Figures", blocks, interactive=interactive)
    assert not [tag for tag, attributes in Tags(written(page)).seen if "style" in attributes]


def test_plotly_writes_no_styles_of_maps_which_the_policy_would_refuse() -> None:
    script = interactive_script()
    assert 'createElement("style")' in script
    assert ".maplibregl-map{" not in script


def test_without_a_script_the_page_allows_none() -> None:
    assert "script-src" not in html.page("", [])


def test_a_fragment_carries_its_style_and_touches_nothing_outside(blocks: list[Block]) -> None:
    fragment = html.fragment(blocks)
    assert fragment.startswith('<div class="vitruvius">')
    assert fragment.rstrip().endswith("</div>")
    tags = [tag for tag, _ in Tags(fragment).seen]
    assert not {"html", "body", "script", "link", "h1"} & set(tags)
    style = fragment[fragment.index("<style>") + 7 : fragment.index("</style>")]
    outermost = {line for line in style.splitlines() if re.match(r"\S.*\{", line)}
    assert outermost == {".vitruvius {", "@media (prefers-color-scheme: dark) {"}


def test_two_fragments_share_no_id(lines: Lines, heatmap: Heatmap) -> None:
    ids = [set(re.findall(r'\bid="([^"]*)"', html.fragment([figure]))) for figure in (lines, heatmap)]
    assert all(ids)
    assert not ids[0] & ids[1]
