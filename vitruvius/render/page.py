"""Blocks as one self-contained HTML page: formulas in MathML, figures as inline SVG, nothing from the network."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from vitruvius.core.blocks import Block, Formula, Lines, Scatter, Table, Text
from vitruvius.render import interactive as plots
from vitruvius.render import mathml, svg
from vitruvius.render import text as render

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #57606a; --line: #d0d7de; --wash: #f6f8fa;
  --accent: #0a5fa8; --good: #176f2c; --warning: #8a5300; --error: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0f141a; --soft: #9aa4af; --line: #343b44;
  --wash: #171d25; --accent: #6cb6ff; --good: #56d364; --warning: #e3b341; --error: #ff8b82; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.6;
  font: 1.03rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1.5rem; }
h2 { font-size: 1.4rem; margin: 2.6rem 0 .8rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .5rem; }
p { margin: .7rem 0; white-space: pre-wrap; overflow-wrap: break-word; }
.note { color: var(--soft); } .good { color: var(--good); } .warning { color: var(--warning); }
.error { color: var(--error); font-weight: 600; } .good, .error { margin: .3rem 0; }
.formula { overflow-x: auto; margin: .8rem 0; padding: .7rem 1rem; background: var(--wash); border-radius: 8px; }
math { font-size: 1.12rem; } math[display=block] { margin: .25rem 0; width: max-content; }
mtd[columnalign=left] { text-align: left; } mtd[columnalign=right] { text-align: right; }
mtable[columnspacing^="0em"] mtd { padding-inline: 0; }
mtable.brackets { --edge: linear-gradient(currentColor, currentColor); margin: .1em .2em; padding: .12em .25em;
  border: solid currentColor; border-width: 0 1.5px; background: var(--edge) 0 0, var(--edge) 0 100%,
  var(--edge) 100% 0, var(--edge) 100% 100%; background-size: .32em 1.5px; background-repeat: no-repeat; }
.table { overflow-x: auto; margin: 1.1rem 0; }
table { border-collapse: collapse; font-size: .95rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .2rem 0 .4rem; }
th, td { padding: .32rem .8rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { padding-left: .1rem; }
.number { text-align: right; white-space: nowrap; }
figure { margin: 1.2rem 0; overflow-x: auto; } svg[role=img] { width: 100%; height: auto; display: block; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
nav { font-size: .93rem; line-height: 1.45; } nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav strong { display: block; margin: 0 0 .25rem; color: var(--soft); font-size: .82rem; text-transform: uppercase;
  letter-spacing: .04em; }
@media (min-width: 78rem) { nav + main { margin-left: 19rem; }
  nav { position: fixed; inset: 0 auto 0 0; width: 17rem; overflow-y: auto; padding: 2rem 1.25rem;
    border-right: 1px solid var(--line); } }
@media (max-width: 77.99rem) { nav { max-width: 54rem; margin: 0 auto; padding: 1.5rem 1.25rem 0; columns: 2; }
  nav div { break-inside: avoid; } }
@media print { nav { display: none; } nav + main { margin: 0 auto; } .formula { background: none; } }
"""


def fragment(blocks: Iterable[Block]) -> str:
    """Render blocks as HTML for a notebook, without the page around them."""
    return "\n".join(_body(blocks, "h3", itertools.count(1), False))


def page(title: str, blocks: Iterable[Block], interactive: bool = False) -> str:
    """One page; `interactive` makes points and curves answer to the pointer, at the price of plotly's 4 MB."""
    body = "\n".join(_body(blocks, "h2", itertools.count(1), interactive))
    return _document(title, f"<main>\n<h1>{escape(title)}</h1>\n{body}\n</main>", interactive)


def book(title: str, parts: Mapping[str, Mapping[str, Iterable[Block]]]) -> str:
    """One page of many: the chapters of each part by name, with a table of contents beside them."""
    numbers = itertools.count(1)
    contents, body = [], []
    for part, chapters in parts.items():
        links = "".join(f'<li><a href="#{_anchor(name)}">{escape(name)}</a></li>' for name in chapters)
        contents.append(f"<div><strong>{escape(part)}</strong><ul>{links}</ul></div>")
        for name, blocks in chapters.items():
            written = "\n".join(_body(blocks, "h3", numbers, False))
            body.append(f'<section id="{_anchor(name)}">\n<h2>{escape(name)}</h2>\n{written}\n</section>')
    nav = f"<nav>{''.join(contents)}</nav>"
    return _document(title, "\n".join([nav, f"<main>\n<h1>{escape(title)}</h1>", *body, "</main>"]), False)


def _document(title: str, body: str, interactive: bool) -> str:
    # The policy makes 'self-contained' a promise: a browser would refuse to fetch anything.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:"
    policy += "; script-src 'unsafe-inline'" if interactive else ""
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        plots.script() if interactive else "",
    ]
    return "\n".join(
        ["<!doctype html>", '<html lang="en">', "<head>", *filter(None, head), "</head>", "<body>"]
    ) + (f"\n{body}\n</body>\n</html>\n")


def _body(blocks: Iterable[Block], heading: str, numbers: Iterator[int], interactive: bool) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Text):
            yield _text(block, heading) if block.text else ""
        elif isinstance(block, Formula):
            yield f'<div class="formula">{"".join(map(mathml.formula, render.formula_parts(block)))}</div>'
        elif isinstance(block, Table):
            yield _table(block)
        elif interactive and isinstance(block, Lines | Scatter):
            yield f"<figure>{plots.plot(block, f'plot{next(numbers)}')}</figure>"
        else:
            yield f"<figure>{svg.drawing(block, f'f{next(numbers)}-')}</figure>"


def _text(block: Text, heading: str) -> str:
    text = escape(block.text)
    if block.style == "title":
        return f"<{heading}>{text}</{heading}>"
    return f"<p>{text}</p>" if block.style == "plain" else f'<p class="{block.style}">{text}</p>'


def _table(table: Table) -> str:
    numeric = [render.is_numeric(table, index) for index in range(len(table.columns))]

    def line(tag: str, cells: Iterable[str]) -> str:
        marks = (' class="number"' if right else "" for right in numeric)
        return "".join(
            f"<{tag}{mark}>{escape(text)}</{tag}>" for mark, text in zip(marks, cells, strict=True)
        )

    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    rows = "\n".join(f"<tr>{line('td', map(render.cell, row))}</tr>" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    grid = f"<table>{caption}<thead><tr>{line('th', table.columns)}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"
    return f'<div class="table">{grid}</div>{note}'


def _anchor(name: str) -> str:
    """A name as a place in the page.

    >>> _anchor("Earth mover's distance")
    'earth-mover-s-distance'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
