"""Pictures listed in a table: `csv:FILE`, or `csv:FILE@64`, with a column for the path and one for the label.

The first line names the columns: `path` (or `file`, `filename`, `image`) and `label` (or `class`,
`category`), in any order; other columns are ignored. Paths are relative to the folder of the file and must
not lead out of it. A column `part` (or `split`, `set`) with train, val and test divides the pictures; else
the seed does. Separators are commas, semicolons or tabs; the text is UTF-8.
"""

import io
from collections.abc import Iterator
from csv import Error, reader
from pathlib import Path, PurePosixPath
from typing import Any

from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.core.records import Progress
from vitruvius.datasets import Dataset, _images, _listing, _paths, _pictures
from vitruvius.datasets._listing import PARTS, Found, Picture

READS_PICTURES = True
FILE_LIMIT = 2**29
ROW_LIMIT = 20_000_000
COLUMNS = {
    "path": ("path", "file", "filename", "file_name", "image"),
    "label": ("label", "class", "category"),
    "part": ("part", "split", "set"),
}


def csv(file: str, *, data_dir: str | None = None, **options: Any) -> Dataset:
    """Load the pictures of a table (relative to `data_dir` if given), divided like those of a folder."""
    return _pictures.dataset(find(file, data_dir), _pictures.Options(**options))


def decode(file: str, *, data_dir: str | None = None, **options: Any) -> Iterator[Progress]:
    """Decode the pictures into the cache, if they are many."""
    return _pictures.decoding(find(file, data_dir), _pictures.Options(**options))


def find(file: str, data_dir: str | None = None) -> Found:
    """List the pictures of a table."""
    name, side = _listing.split_side(file, "csv")
    path = (_paths.expand_home(data_dir or ".") / _paths.expand_home(name)).resolve()
    where = f"csv {path}"
    rows = _rows(path, where)
    columns = _columns(next(rows, (1, []))[1], where)
    parts: dict[str, list[Picture]] = {}
    seen: dict[str, int] = {}
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        here = f"{where}: line {line}"
        cells = {field: row[column].strip() for field, column in columns.items() if column < len(row)}
        if cells.keys() != columns.keys() or not cells["path"]:
            raise UserError(
                f"{here}: {len(row)} cells, a path{' and a label' * ('label' in columns)} is needed"
            )
        if cells["path"] in seen:
            raise UserError(f"{here}: {cells['path']} is also in line {seen[cells['path']]}")
        seen[cells["path"]] = line
        picture = Picture(cells["path"], cells.get("label", ""), _inside(path.parent, cells["path"], here))
        parts.setdefault(_part(cells, here), []).append(picture)
    if not parts:
        raise UserError(f"{where}: lists no pictures")
    _refuse_gaps(parts, "label" in columns, where)
    return Found(f"csv:{name}", where, parts, side)


def _rows(path: Path, where: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not empty as lists of cells, each with its number."""
    content = files.read(path, FILE_LIMIT, follow=True)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: byte {error.start}: not UTF-8") from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    table = reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for count, row in enumerate(table):
            if count > ROW_LIMIT:
                raise UserError(f"{where}: at most {ROW_LIMIT:,} lines are read")
            yield table.line_num, row
    except Error as error:
        raise UserError(f"{where}: line {table.line_num}: {error}") from None


def _columns(header: list[str], where: str) -> dict[str, int]:
    """Return the positions of the columns that are read."""
    names = [name.strip().lower() for name in header]
    found: dict[str, int] = {}
    for field, spellings in COLUMNS.items():
        positions = [names.index(name) for name in spellings if name in names]
        if len(positions) > 1 or any(names.count(name) > 1 for name in spellings):
            raise UserError(f"{where}: line 1: several columns for the {field}")
        if positions:
            found[field] = positions[0]
    if "path" not in found:
        shown = ", ".join(header[:10]) or "nothing"
        raise UserError(f"{where}: line 1 must name the columns, as in path,label; it has {shown}")
    return found


def _part(cells: dict[str, str], here: str) -> str:
    if "part" not in cells:
        return "all"
    part = PARTS.get(cells["part"].lower())
    if part is None:
        raise UserError(f"{here}: part '{cells['part']}': train, val and test are possible")
    return part


def _inside(root: Path, name: str, here: str) -> Path:
    """Return the path of a picture; refuse one that leads out of the folder of the table."""
    if "\0" in name:
        raise UserError(f"{here}: a path cannot hold a zero byte")
    path = root / PurePosixPath(name.replace("\\", "/"))
    if not path.resolve().is_relative_to(root):
        raise UserError(f"{here}: {name} lies outside {root}")
    if path.suffix.lower() not in _images.SUFFIXES:
        kinds = " ".join(_images.SUFFIXES)
        raise UserError(f"{here}: {name} is no picture by its ending; read are {kinds}")
    return path


def _refuse_gaps(parts: dict[str, list[Picture]], labelled: bool, where: str) -> None:
    """Refuse pictures without a label among others with one, and parts that cannot be trained on."""
    pictures = [picture for part in parts.values() for picture in part]
    empty = [picture.name for picture in pictures if not picture.kind]
    if labelled and empty:
        raise UserError(f"{where}: no label for {_listing.some(empty)}")
    if "all" not in parts:
        if "train" not in parts:
            raise UserError(f"{where}: no picture has the part train")
        _listing.refuse_strange(where, parts)
