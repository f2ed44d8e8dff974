"""Formulas as MathML, safe to put into a page."""

from html import escape, unescape
from xml.etree.ElementTree import Element, tostring  # nosec B405 # written only, never parsed

from vitruvius.render.formula import structure


def parts(latex: str) -> list[list[str]]:
    """A formula as MathML elements: its parts between quads, each in the pieces that its relations begin."""
    return [list(map(formula, structure.before_relations(part))) for part in structure.between_quads(latex)]


def formula(latex: str) -> str:
    r"""A formula as a MathML element; what the converter cannot read is shown as it is written.

    >>> formula(r"\frac{8}{9}").count("mfrac")
    2
    >>> formula(r"\frac{8}{")
    '<code>\\frac{8}{</code>'
    """
    from latex2mathml.converter import convert_to_element
    from latex2mathml.exceptions import NoAvailableTokensError

    try:
        # `aligned` is what LaTeX wants inside a formula, `split` is its name for the converter.
        element = convert_to_element(latex.replace("{aligned}", "{split}"), display="block")
    except (NoAvailableTokensError, ValueError, KeyError, IndexError):
        return f"<code>{escape(latex)}</code>"
    # In display style, yet a word of the line, so that the browser can break lines between formulas.
    element.set("display", "inline")
    element.set("displaystyle", "true")
    _make_safe(element)
    _bracket(element)
    return tostring(element, encoding="unicode")


def _make_safe(element: Element) -> None:
    r"""Unescape texts and remove links: the converter passes words of `\text` and `\href` on as markup."""
    for part in element.iter():
        part.text = unescape(part.text) if part.text else part.text
        part.attrib.pop("href", None)


def _bracket(element: Element) -> None:
    """Replace the brackets around a matrix by a class that the style sheet draws: few fonts stretch them."""
    for parent in element.iter():
        children = list(parent)
        for left, table, right in zip(children, children[1:], children[2:], strict=False):
            if (left.text, table.tag, right.text) == ("[", "mtable", "]"):
                table.set("class", "brackets")
                parent.remove(left)
                parent.remove(right)
