"""Content-Security-Policies: which scripts and styles a browser heeds on a page of ours, each by its hash.

A name that brings markup along, were it ever written unescaped, could then neither run nor restyle anything.
"""

import base64
import hashlib
from collections.abc import Iterable


def hashed(content: str) -> str:
    """How a policy names an inline script or style: by its hash, so that no other is heeded."""
    digest = hashlib.sha256(as_parsed(content).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def as_parsed(content: str) -> str:
    """A script or a style as a browser reads it: with plain line breaks."""
    return content.replace("\r\n", "\n").replace("\r", "\n")


PLOTLY_STYLES = f"{hashed('')} 'unsafe-hashes' {hashed('font-size:70%')}"
"""What plotly writes into a page: sheets that are empty until its script adds rules, and small exponents.

`unsafe-hashes` lets hashes stand for style attributes too; the two that are named can do no harm.
"""


def of_page(style: str, scripts: Iterable[str] = (), *, with_plotly: bool = False) -> str:
    """The policy of a page that fetches nothing, with its one `<style>` and its scripts."""
    styles = f"{hashed(style)} {PLOTLY_STYLES}" if with_plotly else hashed(style)
    allowed = " ".join(map(hashed, scripts))
    parts = ["default-src 'none'", f"style-src {styles}", "img-src data: blob:"]
    parts += [f"script-src {allowed}"] if allowed else []
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])
