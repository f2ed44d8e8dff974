"""The files of a look at data: a contact sheet of examples per class, a page, and the table of duplicates."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitruvius.core import files
from vitruvius.core.blocks import Block, Pictures, Text
from vitruvius.inspecting.results import Result
from vitruvius.render import figures, page

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset

EXAMPLES, MOST_CLASSES = 6, 20
SIDE = 48  # pixels of an example, at most


def write(folder: Path, result: Result, data: "Dataset") -> None:
    """Write report.html and, where there are pictures or duplicates, contact_sheet.png and duplicates.csv."""
    sheet = contact_sheet(data) if len(data.shape) == 3 and data.shape[0] in (1, 3) else None
    if sheet:
        figures.write_png(sheet, folder / "contact_sheet.png")
    blocks: list[Block] = [Text(text=result.verdict, style="title")]
    blocks += [sheet] if sheet else []
    blocks += [*result.survey.view(), *result.duplicates()]
    files.write(folder / "report.html", page.page(f"What {data.name} holds", blocks))
    if result.comparison.duplicates:
        rows = [pair.model_dump(mode="json") for pair in result.comparison.duplicates]
        files.write(folder / "duplicates.csv", files.csv_text(rows))


def contact_sheet(data: "Dataset") -> Pictures:
    """Show the first training pictures of every class."""
    rows, names = _examples(data)
    pixels = tuple(tuple(_pixels(data.train.x[index]) for index in row) for row in rows)
    more = f" (of {len(data.classes)} classes the first {len(rows)})" if len(rows) < len(data.classes) else ""
    columns = tuple(str(number) for number in range(1, max(map(len, rows)) + 1))
    return Pictures(
        title=f"Training pictures of each class{more}", rows=names, columns=columns, pixels=pixels
    )


def _examples(data: "Dataset") -> tuple[list[list[int]], tuple[str, ...]]:
    """Return the rows of examples of each class, and the names of the classes."""
    if data.train.y is None or not data.classes:
        return [list(range(min(EXAMPLES, len(data.train))))], ("",)
    labels = data.train.y
    found = [(labels == label).nonzero()[:EXAMPLES, 0].tolist() for label in range(len(data.classes))]
    named = [(name, row) for name, row in zip(data.classes, found, strict=True) if row][:MOST_CLASSES]
    return [row for _, row in named], tuple(name for name, _ in named)


def _pixels(image: Any) -> Sequence[Sequence[Any]]:
    """Return an image (C, H, W) as rows of greys or colours in 0..1, averaged to at most SIDE pixels."""
    from torch.nn.functional import adaptive_avg_pool2d

    values = image.float()
    if image.dtype.is_floating_point:  # as it is: from its darkest to its brightest
        values = values - values.min()
        values = 255 * values / values.max().clamp(min=1e-9)
    if max(values.shape[1:]) > SIDE:
        values = adaptive_avg_pool2d(values, SIDE)
    values = values / 255
    return values[0].tolist() if len(values) == 1 else values.permute(1, 2, 0).tolist()
