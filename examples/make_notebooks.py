"""Make the notebooks of this folder from the scripts beside them, and run them.

python examples/make_notebooks.py               all of them
python examples/make_notebooks.py 1 5           these
A script's cells begin with `# %%`; a cell of text begins with `# %% [markdown]`."""

import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LONGEST = 180
"""Seconds that one notebook may take."""
SHORT = 80
"""Letters of the plain text of a result that shows itself as a page."""
LARGEST = 400_000
"""Bytes that one notebook may have with its outputs."""


def scripts() -> list[Path]:
    """The scripts in order."""
    return sorted(FOLDER.glob("[0-9]_*.py"))


def cells(source: str) -> list[tuple[str, str]]:
    """The cells of a script, (markdown or code, text); what stands before the first is for its readers.

    >>> cells("# %% [markdown]\\n# Two\\n\\n# %%\\nprint(2)\\n")
    [('markdown', 'Two'), ('code', 'print(2)')]
    """
    found = []
    for part in re.split(r"^# %%", source, flags=re.M)[1:]:
        kind, _, body = part.partition("\n")
        if kind.strip() == "[markdown]":
            found.append(("markdown", re.sub(r"^# ?", "", body.strip(), flags=re.M)))
        else:
            found.append(("code", body.strip()))
    return found


def executed(script: Path, folder: Path) -> Any:
    """A script as a notebook that was run in a folder."""
    import nbformat
    from nbclient import NotebookClient

    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    made = [make[kind](text) for kind, text in cells(script.read_text(encoding="utf-8"))]
    for place, cell in enumerate(made):
        cell["id"] = f"cell-{place}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel})
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=LONGEST, coalesce_streams=True, resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it was run
        if cell.cell_type == "code":
            # Progress and warnings belong to the run, not to the document.
            cell.outputs = [_small(one) for one in cell.outputs if one.get("name") != "stderr"]
    return notebook


def _small(output: Any) -> Any:
    """An output whose plain text is cut short where there is a page for it."""
    shown = output.get("data", {})
    if "text/html" in shown and len(shown.get("text/plain", "")) > SHORT:
        shown["text/plain"] = shown["text/plain"][:SHORT] + " ..."
    return output


def main(chosen: list[str]) -> None:
    """Write the chosen notebooks, or all of them."""
    import nbformat

    for script in scripts():
        if chosen and script.name[0] not in chosen:
            continue
        written = nbformat.writes(executed(script, FOLDER))
        if len(written) > LARGEST:
            raise SystemExit(f"{script.name}: {len(written):,} bytes with its outputs, at most {LARGEST:,}")
        script.with_suffix(".ipynb").write_text(written + "\n", encoding="utf-8")
        print(f"{script.stem}: {len(written):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
