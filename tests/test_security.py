"""The source has no pickle and no torch.load, and runs text as code in the stated places only."""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "vitruvius"
RUNS_CODE = {
    "doctor/script.py": {"compile", "exec"},
    "lessons/zero_grad.py": {"exec"},
    "exporting/program.py": {"torch.export.load"},
}
"""The doctor runs the user's script, the lesson the loop that it shows, `export` what it has just written."""
MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load"}


def findings(source: str) -> set[str]:
    """Return what a file uses that could run a stranger's code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").split(".")[0]} & MODULES
            found |= {
                f"{node.module}.{alias.name}" for alias in node.names if _loads(node.module, alias.name)
            }
        elif isinstance(node, ast.Call):
            name = _dotted(node.func).removeprefix("builtins.")
            module, _, last = name.rpartition(".")
            found |= {name} if name in CALLS or _loads(module, last) else set()
            found |= {word.arg for word in node.keywords if word.arg in ("allow_pickle", "shell")}
    return found


def _dotted(node: ast.expr) -> str:
    """Return `a.b.c` of a function that is called by its name; of any other only the last name."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _loads(module: str | None, name: str) -> bool:
    """Whether this is a function of torch that unpickles: torch.load, torch.jit.load, torch.hub.load."""
    is_torch = (module or "").split(".")[0] == "torch"
    return is_torch and name in ("load", "load_state_dict_from_url", "load_url")


def test_nothing_in_the_package_runs_a_strangers_code() -> None:
    used = {str(path.relative_to(PACKAGE)): findings(path.read_text()) for path in PACKAGE.rglob("*.py")}
    assert {name: found for name, found in used.items() if found} == RUNS_CODE


def test_planted_uses_are_found() -> None:
    source = "import pickle\nfrom dill import x\ntorch.load(p)\neval('1')\nnp.load(p, allow_pickle=False)"
    assert findings(source) == {"pickle", "dill", "torch.load", "eval", "allow_pickle"}
    source = (
        "from torch import load\nbuiltins.exec(x)\n__import__('pickle')\nos.system(x)\nrun(x, shell=True)"
    )
    assert findings(source) == {"torch.load", "exec", "__import__", "os.system", "shell"}
    assert findings("torch.jit.load(p)\nre.compile(x)\nsource.load(p)\ntorch.compile(m)") == {
        "torch.jit.load"
    }


def unexplained(source: str) -> list[str]:
    """Return the exceptions from bandit's rules that name no rule, or give no reason."""
    lines = [line.strip() for line in source.splitlines() if "# nosec" in line]
    return [line for line in lines if not re.search(r"# nosec B\d{3} # \w+ \w+", line)]


def test_each_exception_from_bandits_rules_names_its_rule_and_its_reason() -> None:
    assert [line for path in PACKAGE.rglob("*.py") for line in unexplained(path.read_text())] == []


def test_planted_exceptions_without_a_reason_are_found() -> None:
    planted = ["a()  # nosec", "a()  # nosec B603", "a()  # nosec # it is fine"]
    assert unexplained("\n".join([*planted, "a()  # nosec B603 # our own program"])) == planted
