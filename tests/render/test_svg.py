"""Figures as inline SVG: well-formed, in the colour of the text, with ids of their own."""

import re
from xml.etree import ElementTree

from vitruvius.core.blocks import Figure, Heatmap
from vitruvius.render import canvas, svg


def test_a_drawing_is_well_formed_and_loads_nothing(figure: Figure) -> None:
    drawing = svg.drawing(figure, "m-")
    root = ElementTree.fromstring(drawing.replace("xlink:href", "href"))
    targets = [value for part in root.iter() for key, value in part.attrib.items() if key.endswith("href")]
    assert all(target.startswith(("#m-", "data:image/png")) for target in targets)
    assert "<script" not in drawing
    assert canvas.INK not in drawing
    assert "currentColor" in drawing


def test_ids_carry_the_mark_and_references_follow_them(heatmap: Heatmap) -> None:
    ids = [set(re.findall(r'\bid="([^"]*)"', svg.drawing(heatmap, mark))) for mark in ("f1-", "f2-")]
    assert not ids[0] & ids[1]
    used = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', svg.drawing(heatmap, "f1-"))
    assert {a or b for a, b in used} <= ids[0]


def test_a_title_cannot_leave_its_attribute(heatmap: Heatmap) -> None:
    drawing = svg.drawing(heatmap.model_copy(update={"title": '"><script>alert(1)</script>'}))
    assert "<script" not in drawing
