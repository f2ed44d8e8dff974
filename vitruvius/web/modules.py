"""The viewer's JavaScript modules as one script: a page opened from disk may not import files.

Every module becomes a function that returns its exports, in the order of the imports. Two forms are read, and
a test keeps the modules to them: `import { a, b } from "./file.js";` and `export function`, `const`, `class`.
"""

import re
from graphlib import TopologicalSorter
from pathlib import Path

FOLDER = Path(__file__).parent / "static" / "viewer"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z]+)\.js";\n', re.M)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.M)
COMMENT = re.compile(r"^[ \t]*/\*\*.*?\*/\n", re.M | re.S)


def script(start: str) -> str:
    """Return one script of all modules, and then `start`, which finds each of them by its name."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.js"))}
    # Lists, not sets: the same modules give the same script, and so the same hash in the page's policy.
    graph = {name: [target for _, target in IMPORT.findall(text)] for name, text in sources.items()}
    order = TopologicalSorter(graph).static_order()
    return "".join((*(_function(name, sources[name]) for name in order), start))


def _function(name: str, source: str) -> str:
    """Return a module as a function that is called once."""
    body = IMPORT.sub(r"const {\1} = \2;\n", COMMENT.sub("", source))
    exports = ", ".join(export for _, export in EXPORT.findall(body))
    plain = EXPORT.sub(r"\1 \2", body)
    return f"const {name} = (() => {{\n{plain}return {{ {exports} }};\n}})();\n"
