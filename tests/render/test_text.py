"""Blocks as plain text and Markdown."""

import pytest

from vitruvius.core.blocks import Block, Formula, Heatmap, Table, Text
from vitruvius.render import text

BLOCKS: list[Block] = [
    Text(text="Part 1", style="title"),
    Text(text="50 % of a_b"),
    Formula(latex=r"\frac{8}{9} \leq \sqrt{3}"),
    Table(columns=("part", "count"), rows=(("a|b", 1234), ("c", None))),
    Heatmap(title="Weights", values=((1.0,),)),
]


def test_plain_text_has_no_escape_sequences_and_names_no_picture() -> None:
    written = text.plain(BLOCKS)
    assert "    8/9 ≤ √3\n" in written
    assert "\x1b" not in written
    assert "Weights" not in written


def test_markdown_names_the_picture_of_each_figure() -> None:
    written = text.markdown(BLOCKS, ["weights-1.png"])
    assert "## Part 1" in written
    assert "$$\n\\frac{8}{9}" in written
    assert "| a\\|b | 1,234 |" in written
    assert written.endswith("![Weights](weights-1.png)\n")
    assert "![" not in text.markdown(BLOCKS)


def test_json_has_no_nan() -> None:
    assert text.as_json({"a": "é"}) == '{\n  "a": "é"\n}'
    with pytest.raises(ValueError):
        text.as_json(float("nan"))


def test_names_are_inert_in_markdown() -> None:
    name = "<script>alert(1)</script> ![x](http://y) a|b\nc"
    shown = text.markdown([Table(columns=("name",), rows=((name,),)), Text(text=name, style="title")])
    assert "<script" not in shown
    assert "</script" not in shown
    assert "](" not in shown
    assert "a\\|b c |" in shown
