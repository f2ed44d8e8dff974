"""Text of others, such as names of files and classes, made harmless for a terminal."""

import re

_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


def visible(text: str) -> str:
    r"""Return a text in which control characters are shown as escapes instead of obeyed.

    Line breaks and tabs stay; characters that reverse the direction of writing and lone surrogates do not.

    >>> visible("\x1b[31mred\x1b[0m \u202e")
    '\\x1b[31mred\\x1b[0m \\u202e'
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
