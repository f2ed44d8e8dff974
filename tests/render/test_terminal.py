"""Blocks on a terminal."""

import io

from rich.console import Console

from vitruvius.core.blocks import Block, Formula, Table, Text
from vitruvius.render import terminal

FORMULA = Formula(latex=r"\frac{8}{9} \leq \sqrt{3}")


def shown(encoding: str, *blocks: Block) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    terminal.show(blocks, Console(file=file, width=60))
    file.flush()
    return file.buffer.getvalue().decode(encoding)


def test_a_formula_is_readable_on_a_terminal() -> None:
    assert shown("utf-8", FORMULA) == "    8/9 ≤ √3\n"


def test_a_terminal_without_the_characters_gets_the_latex() -> None:
    assert shown("ascii", FORMULA) == "    \\frac{8}{9} \\leq \\sqrt{3}\n"


def test_a_document_of_several_lines_is_not_folded() -> None:
    document = "a" * 50 + " " + "b" * 50 + "\nend"
    assert shown("utf-8", Text(text=document)) == f"{document}\n"
    assert shown("utf-8", Text(text=document[:101])).count("\n") == 2


def test_escapes_and_markup_in_names_are_shown_not_obeyed() -> None:
    name = "\x1b[31m[bold]red[/bold]\x9b\u202e"
    file = io.StringIO()
    table = Table(title=name, columns=(name,), rows=((name,),), note=name)
    terminal.show([Text(text=name), table], Console(file=file, width=200, force_terminal=False))
    shown = file.getvalue()
    assert shown.count(r"\x1b[31m[bold]red[/bold]\x9b\u202e") == 5
    assert not set(shown) & {"\x1b", "\x9b", "\u202e"}
