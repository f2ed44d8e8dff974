"""Names and texts of others are inert in every kind of report: shown, never obeyed.

The law holds over all kinds of blocks, found by their types: each is drawn with a hostile text in every field
that holds text, and again with a harmless one. Both must have the same structure.
"""

import io
import re
import types
import typing
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any, Literal

import pytest
from markdown_it import MarkdownIt
from pylatexenc.latexwalker import LatexEnvironmentNode, LatexMacroNode, LatexWalker
from rich.console import Console

from vitruvius.core import blocks
from vitruvius.core.config import Strict
from vitruvius.render import figures, latex, page, terminal, text
from vitruvius.web import markup

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(1)>"\' onload="x" </style></title></svg>--> ]]> '
    "![p](javascript:x) [l](http://evil) [l][m] [m]: http://evil <http://evil> `</code>` ```\n~~~ $$ | "
    "\n# h\n> q\nunder\n===\nunder\n---\n"
    "\\input{x} \\end{verbatim}\\end{document} $\\frac{ %{{ 7*7 }} \x1b[31m\x9b\u202e\x00 [bold]x[/] "
    "&amp; ^^5c"
)
HARMLESS = "a plain name"
KINDS = [kind for kind in typing.get_args(blocks.Block) if isinstance(kind, type)]
PAGE = "html head meta title style body main section nav h1 h2 h3 p div span ul li a strong pre code wbr"
DRAWN = "table caption thead tbody tr th td figure svg g path defs use clippath rect image text tspan"
ELEMENTS = {*PAGE.split(), *DRAWN.split(), *["math", "mrow", "mi", "mo", "mtext"]}


def filled(kind: Any, word: str, name: str = "") -> Any:
    """A value of a type in which every text is the word; two of everything that is repeated."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        return word
    if kind is bool:
        return True
    if kind in (int, float):
        return 1 if name == "edges" else 2
    if origin is Literal:
        return parts[0]
    if origin is tuple:
        repeated = parts[-1] is Ellipsis
        return tuple(filled(one, word, name) for one in ((parts[0],) * 2 if repeated else parts))
    if origin in (typing.Union, types.UnionType):
        return filled(parts[0], word, name)
    if isinstance(kind, type) and issubclass(kind, Strict):
        return made(kind, word)
    return ((0.0, 1.0), (1.0, 0.0))  # the pixels of a picture


def made(kind: type[Strict], word: str) -> Any:
    """A block of a kind in which every text is the word."""
    special: dict[str, Any] = {
        "latex": "x = \\text{a}",
        "style": "plain",
        "y_range": None,
        "values": (1.0, 2.0) if kind is blocks.Bars else ((1.0, 2.0), (3.0, 4.0)),
        "edges": ((0, 1), (1, 0)),
        "places": ((0.0, 0.0), (1.0, 1.0)),
        "masses": ((0.5, 0.0), (0.0, 0.5)),
        "supply": ((0.0, 0.0), (1.0, 0.0)),
        "demand": ((0.0, 1.0), (1.0, 1.0)),
        "rows": ((word, 1), (word, None)) if kind is blocks.Table else (word, word),
    }
    rest = {name: field.annotation for name, field in kind.model_fields.items() if name not in special}
    known = {name: value for name, value in special.items() if name in kind.model_fields}
    return kind(**known, **{name: filled(one, word, name) for name, one in rest.items()})


def drawn_blocks(word: str) -> list[Any]:
    """One block of each kind, and a text of each style."""
    styles = typing.get_args(blocks.Text.model_fields["style"].annotation)
    return [*(blocks.Text(text=word, style=style) for style in styles), *(made(kind, word) for kind in KINDS)]


class Structure(HTMLParser):
    """The elements of a page, with the names of their attributes and every address."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.is_drawing = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = tuple(name for name, _ in attrs)
        assert tag in ELEMENTS, f"<{tag}> is no element of ours"
        assert not any(name.startswith("on") for name in names), names
        addresses = [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        assert all(one.startswith(("#", "data:image/")) for one in addresses), addresses
        self.is_drawing |= tag == "svg"
        if not self.is_drawing:  # letters are outlines there: other letters, other paths
            self.found.append((tag, *names))

    def handle_endtag(self, tag: str) -> None:
        self.is_drawing &= tag != "svg"
        if not self.is_drawing:
            self.found.append((f"/{tag}",))


def of_html(content: str) -> Any:
    parser = Structure()
    parser.feed(content)
    parser.close()
    return parser.found


def of_markdown(content: str) -> Any:
    def flat(tokens: Any) -> list[tuple[str, Any]]:
        return [
            found
            for token in tokens
            if token.type not in ("softbreak", "text")
            for found in ((token.type, str(token.attrs)), *flat(token.children or ()))
        ]

    shown = MarkdownIt("commonmark", {"html": True}).enable("table").parse(content)
    kinds = flat(shown)
    assert not [kind for kind, _ in kinds if kind.startswith(("html", "link"))], kinds
    assert [
        attributes for kind, attributes in kinds if kind == "image" and "figure.png" not in attributes
    ] == []
    return [kind for kind, _ in kinds if kind not in ("code_inline", "em_open", "em_close")]


def of_latex(content: str) -> Any:
    def flat(nodes: Any) -> list[str]:
        found: list[str] = []
        for node in nodes or ():
            if (
                isinstance(node, LatexMacroNode)
                and not node.macroname.startswith("text")
                and len(node.macroname) > 1
            ):
                found.append(node.macroname)
                found += flat([one for one in (node.nodeargd.argnlist if node.nodeargd else ()) if one])
            elif isinstance(node, LatexEnvironmentNode):
                found += [node.environmentname, *flat(node.nodelist)]
            elif hasattr(node, "nodelist"):
                found += flat(node.nodelist)
        return found

    nodes, _, _ = LatexWalker(content, tolerant_parsing=False).get_latex_nodes()
    return flat(nodes)


def of_terminal(content: str) -> Any:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", content)
    return "bold" in content if "[bold]" not in content else False


PICTURES = ["figure.png"] * 20
REPORTS: dict[str, tuple[Callable[[str], str], Callable[[str], Any]]] = {
    "page": (lambda word: page.page(word, drawn_blocks(word)), of_html),
    "book": (lambda word: page.book(word, {word: {word: drawn_blocks(word)}}), of_html),
    "fragment": (lambda word: page.fragment(drawn_blocks(word)), of_html),
    "web": (lambda word: str(markup.blocks(drawn_blocks(word))), of_html),
    "markdown": (lambda word: text.markdown(drawn_blocks(word), PICTURES), of_markdown),
    "latex": (lambda word: latex.document(word, drawn_blocks(word), PICTURES), of_latex),
    "plain": (lambda word: text.plain(drawn_blocks(word)), of_terminal),
}


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    """Draw each figure once for all kinds of pages: the prefix of its ids changes nothing here."""
    with pytest.MonkeyPatch.context() as patched:
        draw, known = figures.svg, dict[str, str]()

        def svg(block: Any, prefix: str) -> str:
            return known.get(str(block)) or known.setdefault(str(block), draw(block, prefix))

        patched.setattr(figures, "svg", svg)
        yield


@pytest.mark.parametrize("report", REPORTS)
def test_hostile_names_leave_the_structure_of_a_report_as_harmless_ones_do(report: str) -> None:
    write, structure = REPORTS[report]
    assert structure(write(HOSTILE)) == structure(write(HARMLESS))


def test_a_terminal_obeys_no_escape_of_a_name() -> None:
    out = io.StringIO()
    terminal.show(drawn_blocks(HOSTILE), Console(file=out, width=80, force_terminal=True))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue().replace("\x1b[31m", "OBEYED"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert "[bold]x[/]" in re.sub(r"\s+", "", shown.replace("\n", ""))


@pytest.mark.parametrize(
    ("structure", "planted"),
    [
        (of_html, "<p><img src=x onerror=y></p>"),
        (of_html, "<p><b>x</b></p>"),
        (of_html, '<p><a href="javascript:x">x</a></p>'),
        (of_markdown, "a <b>x</b>"),
        (of_markdown, "[x](http://evil)"),
        (of_markdown, "![x](http://evil)"),
        (of_terminal, "\x1b[31m"),
    ],
)
def test_planted_markup_is_found(structure: Callable[[str], Any], planted: str) -> None:
    with pytest.raises(AssertionError):
        structure(planted)
