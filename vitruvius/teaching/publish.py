"""Write exercise sheets and their key into a folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, get_args

from vitruvius.core import files, records
from vitruvius.core.blocks import Block, Figure, Text
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.render import text
from vitruvius.teaching import report, sheets
from vitruvius.teaching.key import Key
from vitruvius.teaching.solution import Solution


class Sheets(records.Result):
    """What was made."""

    is_data: ClassVar[bool] = True
    folder: str
    lessons: tuple[str, ...]
    variants: int
    format: str
    seed: int

    def view(self) -> Iterator[Block]:
        asked, is_one = ", ".join(self.lessons), self.variants == 1
        sheets = f"{counted(self.variants, 'sheet')} on {asked} {'is' if is_one else 'are'}"
        beside = "it" if is_one else "them"
        yield Text(text=f"{sheets} in {self.folder}/sheets, the key is beside {beside}.")


def refuse_to_overwrite(folder: Path) -> None:
    """A key that sheets were handed out with is not replaced."""
    if (folder / "key.json").exists():
        raise UserError(
            f"--out {folder}: it holds a key.json already, whose sheets may be out: choose another"
        )


def write(folder: Path, format: str, key: Key, solved: Sequence[Mapping[str, Solution]]) -> Iterator[int]:
    """Write all sheets, then the key; yields how many sheets are done."""
    for name in ("sheets", "key"):
        report.make_folder(folder / name, folder)
    for variant, solutions in zip(key.variants, solved, strict=True):
        number = variant.variant
        drawn = {name: exercise.drawn for name, exercise in variant.exercises.items()}
        stem = folder / "sheets" / f"variant-{number:02d}"
        if format == "notebook":
            content = sheets.notebook(number, solutions, drawn, _without_figures)
            files.write(stem.with_suffix(".ipynb"), content)
        else:
            _write(stem, format, f"Exercises, variant {number}", sheets.sheet(number, solutions, drawn))
        files.write_json(stem.with_suffix(".json"), sheets.blank(number, solutions))
        files.write(stem.with_suffix(".csv"), sheets.blank_csv(number, solutions))
        worked = folder / "key" / f"variant-{number:02d}"
        chosen = "html" if format == "notebook" else format
        _write(worked, chosen, f"Key, variant {number}", sheets.solved(solutions, drawn))
        yield number
    files.write_json(folder / "key.json", key.model_dump(mode="json"))


def _write(stem: Path, format: str, title: str, blocks: Iterator[Block]) -> None:
    """One document; its figures are inside an HTML page and beside the others."""
    content = list(blocks)
    pictures = [] if format == "html" else report.draw(content, stem)
    files.write(stem.with_suffix(report.ENDINGS[format]), report.written(format, title, content, pictures))


def _without_figures(blocks: Any) -> str:
    return text.markdown([block for block in blocks if not isinstance(block, get_args(Figure))])
