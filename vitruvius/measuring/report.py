"""The files of a measurement: measure.csv and latency.png, made from the result alone."""

from pathlib import Path

from vitruvius.core import files
from vitruvius.core.blocks import Panels, Scatter
from vitruvius.measuring.results import Measurement, Result, where
from vitruvius.render import figures


def write(folder: Path, result: Result) -> None:
    """Write the table and, if anything was measured, the picture."""
    files.write(folder / "measure.csv", files.csv_text([row.model_dump() for row in result.rows]))
    if any(row.median_ms for row in result.rows):
        figures.write_png(panels(result), folder / "latency.png")


def panels(result: Result) -> Panels:
    """Plot the time per image against multiply-adds and against parameters, on log axes."""
    rows = [row for row in result.rows if row.median_ms]
    return Panels(
        title=f"Time per image, {where(result.machine.device, result.machine.threads)}",
        figures=(
            _scatter("against multiply-adds", "multiply-adds per image", [row.macs for row in rows], rows),
            _scatter("against parameters", "parameters", [row.params for row in rows], rows),
        ),
    )


def _scatter(title: str, label: str, x: list[int], rows: list[Measurement]) -> Scatter:
    return Scatter(
        title=title,
        x=tuple(map(float, x)),
        y=tuple((row.median_ms or 0.0) / row.batch for row in rows),
        names=tuple(row.name for row in rows),
        groups=tuple(f"{row.runtime}, batch {row.batch}" for row in rows),
        x_label=label,
        y_label="milliseconds per image",
        log_x=True,
        log_y=True,
    )
