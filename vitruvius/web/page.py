"""A trained network as one HTML file that can be mailed: the viewer, its style, the weights, nothing else.

The page opens from disk and fetches nothing: its Content-Security-Policy allows its own script, by its hash.
"""

import base64
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.errors import UserError, reason
from vitruvius.core.records import Progress
from vitruvius.exporting import results, verify
from vitruvius.exporting.results import Result, Written
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source
from vitruvius.render import policy
from vitruvius.web import modules, trained, weights

if TYPE_CHECKING:
    from jinja2 import Environment

LIMIT = 20_000_000
"""Bytes of the largest page that is written: mail servers refuse more."""
START = """
const bytes = Uint8Array.from(atob(document.getElementById("network").textContent), (c) => c.charCodeAt(0));
try {
  viewer.mount(document.getElementById("viewer"), { source: source.browserSource(bytes.buffer) });
} catch (error) {
  document.getElementById("viewer").textContent = error.message;
}
"""
STYLE = """
body { margin: 0; background: #fff; color: #1b1f24; color-scheme: light dark; }
body { font: 1rem/1.55 system-ui, sans-serif; }
header { max-width: 72rem; margin: 0 auto; padding: 1rem 1rem 0; box-sizing: border-box; }
@media (min-width: 48rem) { header { padding-inline: 1.5rem; } }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .4rem 0; }
@media (prefers-color-scheme: dark) { body { background: #0f141a; color: #e6edf3; } }
"""


def refuse_early(settings: ExportSettings, arch: Arch) -> None:
    """Refuse what a page cannot compute, or whose weights alone are too large, before data are read."""
    if arch.stem:
        cure = "vitruvius serve shows it, and --format onnx runs it elsewhere"
        raise UserError(f"--format page: a page does not compute a stem of convolutions: {cure}")
    half = 2 if settings.precision == "float16" else 1
    _refuse_large(cost.cost(arch).weight_bytes // half * 4 // 3, settings)


def write(source: Source, settings: ExportSettings, out: Path) -> Generator[Progress, None, Result]:
    """Write the page of a run, and run what it holds on the run's images."""
    shown = trained.of_source(source)
    precision: weights.Precision = "float16" if settings.precision == "float16" else "float32"
    content = weights.pack(shown, precision)
    text = html(shown.about.name, content)
    _refuse_large(len(text.encode()), settings)
    found = yield from verify.compare(source, weights.unpack(content, str(out)).net, settings)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {out}: cannot make its folder: {reason(error)}") from error
    files.write(out, text)
    return Result(
        model=str(source.folder),
        format=settings.format,
        precision=settings.precision,
        batch=None,
        out=str(out),
        files=(Written(name=out.name, size=len(text.encode()), sha256=files.sha256(out)),),
        verification=found,
        notes=source.notes,
        failures=results.failures(settings.precision, found),
    )


def html(name: str, content: bytes) -> str:
    """Return the page of a network's file."""
    style = STYLE + (modules.FOLDER / "viewer.css").read_text(encoding="utf-8")
    script = modules.script(START)
    allowed = f"script-src {policy.hashed(script)}; style-src {policy.hashed(style)}; img-src data: blob:"
    parts = {
        "style": style,
        "script": script,
        "policy": f"default-src 'none'; {allowed}",
        "network": base64.b64encode(content).decode(),
    }
    return _templates().get_template("mailable.html").render(title=f"Look inside {name}", **parts)


def _refuse_large(size: int, settings: ExportSettings) -> None:
    if size > LIMIT:
        cure = "" if settings.precision == "float16" else "; --precision float16 halves it"
        sizes = f"{size / 1e6:.1f} MB, at most {LIMIT / 1e6:.0f} MB are mailed"
        raise UserError(f"--format page: the page would have {sizes}{cure}")


def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader

    return Environment(loader=PackageLoader("vitruvius.web"), autoescape=True, keep_trailing_newline=True)
