"""Make the static site: the documents, and pages for every verb, lesson, proxy and check from the code.

python docs/make_site.py [FOLDER]      default: site

Every page works from disk: links are relative, formulas are MathML, pictures stand beside the pages or in
them, nothing is loaded from the network. A link that leads nowhere ends the making with its name."""

import html
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt

from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.options import Option, options
from vitruvius.render import mathml, page, policy
from vitruvius.teaching import report, work
from vitruvius.teaching.results import Worked

ROOT = Path(__file__).resolve().parent.parent
FORMULA = re.compile(r"\$([^$\n](?:[^$]*?[^$\s])?)\$")
GUIDES = {
    "docs/images.md": "Practitioner: your own images",
    "docs/ranking.md": "Researcher: what scores are worth",
    "docs/teaching.md": "Student and teacher",
    "docs/doctor.md": "Engineer: the doctor",
}
REFERENCE = ("verbs", "networks", "recipes", "coursework", "serving", "reliability", "gpu", "deploying")
INSIDE = ("extending", "architecture", "measured")


class Page(NamedTuple):
    """One page of the site."""

    name: str
    title: str
    body: str
    group: str = ""
    """The heading it stands under beside every page; none if it is only linked to."""


def main(folder: Path) -> None:
    """Make all pages, then check every link."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [*_documents(folder), *_verbs(), *_members("proxies"), *_members("checks"), *_lessons()]
    groups = dict.fromkeys(one.group for one in pages if one.group)
    beside = {group: [one for one in pages if one.group == group] for group in groups}
    template = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template(
        "site.html"
    )
    style = page.style() + (Path(__file__).parent / "site.css").read_text(encoding="utf-8")
    shown = {"beside": beside, "style": style, "allowed": policy.hashed(style)}
    for one in pages:
        written = template.render(page=one, **shown)
        (folder / f"{one.name}.html").write_text(written, encoding="utf-8")
    broken = list(broken_links(folder))
    if broken:
        raise SystemExit("links that lead nowhere:\n" + "\n".join(broken))
    print(f"{len(pages)} pages in {folder}: open {folder / 'index.html'}")


def _documents(folder: Path) -> Iterator[Page]:
    """The Markdown documents, those first that stand beside every page, then whatever they link to."""
    known = {"README.md": ("Start", "Start"), **{path: (name, "Guides") for path, name in GUIDES.items()}}
    known |= {f"docs/{name}.md": ("", "Reference") for name in REFERENCE}
    known |= {f"docs/{name}.md": ("", "Inside") for name in INSIDE}
    waiting, done = list(known), set[str]()
    while waiting:
        path = waiting.pop(0)
        if path in done:
            continue
        done.add(path)
        text = (ROOT / path).read_text(encoding="utf-8")
        title, group = known.get(path, ("", ""))
        heading = re.search(r"^# (.+)$", text, re.M)
        body, linked = _converted(text, path, folder)
        waiting += linked
        yield Page(_page_name(path), title or (heading[1] if heading else path), body, group)


def _converted(text: str, path: str, folder: Path) -> tuple[str, list[str]]:
    """A document as HTML whose links lead to pages; other files that it links to are copied beside them."""
    linked = []
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    body = re.sub(r"<(h[1-6])>(.*?)</\1>", _with_anchor, body)
    body = re.sub(r'<(t[dh]) style="text-align:(\w+)">', r'<\1 class="\2">', body)

    def led(found: re.Match[str]) -> str:
        attribute, target, anchor = found[1], html.unescape(found[2]), found[3] or ""
        if re.match(r"[a-z]+:", target) or not target:
            return found[0]
        place = ((ROOT / path).parent / target).resolve()
        if not place.is_relative_to(ROOT) or not place.is_file():
            raise SystemExit(f"{path}: the link {target} leads to no file")
        inside = str(place.relative_to(ROOT))
        if place.suffix == ".md":
            linked.append(inside)
            return f'{attribute}="{_page_name(inside)}.html{anchor}"'
        shutil.copyfile(place, folder / place.name)
        return f'{attribute}="{place.name}{anchor}"'

    return re.sub(r'(href|src)="([^"#]*)(#[^"]*)?"', led, body), linked


def _with_anchor(found: re.Match[str]) -> str:
    words = re.sub(r"<[^>]+>", "", html.unescape(found[2])).lower()
    anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
    return f'<{found[1]} id="{anchor}">{found[2]}</{found[1]}>'


def _page_name(path: str) -> str:
    """The name of a document's page.

    >>> _page_name("README.md"), _page_name("docs/verbs.md"), _page_name("benchmarks/doctor/README.md")
    ('index', 'verbs', 'benchmarks-doctor-readme')
    """
    return (
        "index"
        if path == "README.md"
        else path.removeprefix("docs/").removesuffix(".md").replace("/", "-").lower()
    )


def _verbs() -> Iterator[Page]:
    """Every verb with its options by group, from its Config."""
    for member in _verb_members():
        label = f"{member.family} {member.name}".removeprefix("verbs").strip("/ ")
        blocks: list[Block] = [Text(text=part) for part in _prose(member.path)]
        blocks.append(Text(text="\n".join(plugins.examples(member.path)), style="code"))
        known = options(plugins.module(member.family, member.name).Config)
        for group in dict.fromkeys(option.group for option in known):
            rows = tuple(_option_row(option) for option in known if option.group == group)
            blocks.append(Table(title=group, columns=("option", "what it does", "default"), rows=rows))
        title = f"vitruvius {label}"
        yield Page(f"verb-{label.replace(' ', '-')}", title, _shown(title, blocks), "Commands")


def _option_row(option: Option) -> tuple[str, str, str]:
    name = option.field.upper() if option.is_positional else option.name
    return name, option.help, _default(option.default)


def _verb_members() -> Iterator[plugins.Member]:
    for member in plugins.members("verbs").values():
        if member.path.name == "__init__.py":
            yield from plugins.members(f"verbs/{member.name}").values()
        else:
            yield member


def _default(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _prose(source: Path) -> list[str]:
    parts = plugins.docstring(source).strip().split("\n\n")
    return [" ".join(part.split()) for part in parts if not part.startswith("vitruvius ")]


def _members(family: str) -> Iterator[Page]:
    """One page for a family: every member with its formula and its paper, from its docstring."""
    parts = [f"<h1>{family.capitalize()}</h1>"]
    for member in plugins.members(family).values():
        parts.append(f'<h2 id="{member.name}"><code>{member.name}</code></h2>')
        parts += [f"<p>{_with_formulas(part)}</p>" for part in _prose(member.path)]
    yield Page(family, f"All {family}", "\n".join(parts), "Reference")


def _with_formulas(text: str) -> str:
    """Text as HTML with its formulas as MathML."""
    pieces = FORMULA.split(text)
    return "".join(
        mathml.formula(piece) if place % 2 else html.escape(piece) for place, piece in enumerate(pieces)
    )


def _lessons() -> Iterator[Page]:
    """Every lesson worked on its own numbers, under its subject."""
    order = sorted(plugins.members("lessons"), key=lambda name: lessons.SUBJECTS.index(report.subject(name)))
    for name in order:
        *_, worked = work.work(name, {})
        assert isinstance(worked, Worked)
        title = name.replace("_", " ").capitalize()
        blocks = [Text(text=f"vitruvius explain {name}", style="code"), *worked.blocks]
        yield Page(f"lesson-{name}", title, _shown(title, blocks), f"Lessons: {report.subject(name)}")


def _shown(title: str, blocks: list[Block]) -> str:
    return f"<h1>{html.escape(title)}</h1>\n{page.inner(blocks, 's-')}"


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value and tag in ("a", "img", "link", "script"):
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(folder: Path) -> Iterator[str]:
    """The links of all pages that lead to no file or to no anchor; pages of the network are left alone."""
    found = {}
    for path in sorted(folder.glob("*.html")):
        found[path.name] = parser = _Links()
        parser.feed(path.read_text(encoding="utf-8"))
    for name, parser in found.items():
        for link in parser.links:
            target, _, anchor = link.partition("#")
            target = target or name
            if re.match(r"[a-z]+:", target):
                continue
            missing = not (folder / target).is_file()
            if missing or (anchor and target in found and anchor not in found[target].anchors):
                yield f"{name}: {link}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
