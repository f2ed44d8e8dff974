"""Formulas as MathML, safe to put into a page."""

from html import escape, unescape
from xml.etree.ElementTree import Element, tostring


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
    _make_safe(element)
    _bracket(element)
    return tostring(element, encoding="unicode")


def _make_safe(element: Element) -> None:
    r"""Texts become texts and links go: the converter passes the words of `\text` and `\href` on as markup."""
    for part in element.iter():
        part.text = unescape(part.text) if part.text else part.text
        part.attrib.pop("href", None)


def _bracket(element: Element) -> None:
    """Square brackets around a matrix become a class that the page draws: few machines have fonts that stretch."""
    for parent in element.iter():
        children = list(parent)
        for left, table, right in zip(children, children[1:], children[2:], strict=False):
            if (left.text, table.tag, right.text) == ("[", "mtable", "]"):
                table.set("class", "brackets")
                parent.remove(left)
                parent.remove(right)
