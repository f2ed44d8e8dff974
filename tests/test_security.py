"""The source has no pickle and no torch.load, and runs text as code in the stated places only."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "vitruvius"
RUNS_CODE = {"doctor/script.py", "lessons/zero_grad.py"}
"""The doctor runs the user's script; the lesson runs the loop that it shows."""
MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib"}


def findings(source: str) -> set[str]:
    """Return what a file uses that could run a stranger's code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").split(".")[0]} & MODULES
        elif isinstance(node, ast.Call):
            found |= {ast.unparse(node.func)} & {"eval", "exec", "torch.load", "yaml.load"}
            found |= {word.arg for word in node.keywords if word.arg == "allow_pickle"}
    return found


def test_nothing_in_the_package_runs_a_strangers_code() -> None:
    used = {str(path.relative_to(PACKAGE)): findings(path.read_text()) for path in PACKAGE.rglob("*.py")}
    assert {name for name, found in used.items() if found} == RUNS_CODE
    assert all(used[name] == {"exec"} for name in RUNS_CODE)


def test_planted_uses_are_found() -> None:
    source = "import pickle\nfrom dill import x\ntorch.load(p)\neval('1')\nnp.load(p, allow_pickle=False)"
    assert findings(source) == {"pickle", "dill", "torch.load", "eval", "allow_pickle"}
