"""Imports point one way: the arrows of docs/architecture.md, read from the source."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "vitruvius"
FAMILIES = {"datasets", "objectives", "optimisers", "proxies", "checks"}
BELOW_FAMILIES = {"core", "arch", "kernels", "nn"}
BELOW_SUBJECTS = BELOW_FAMILIES | FAMILIES | {"render"}
SUBJECTS = {"training", "ranking", "pretraining", "doctor"}
BELOW_LESSONS = BELOW_SUBJECTS | SUBJECTS
BELOW_VERBS = BELOW_LESSONS | {"lessons", "teaching"}
MAY_IMPORT = {
    "core": set(),
    "arch": {"core"},
    "render": {"core"},
    "kernels": {"core", "arch"},
    "nn": {"core", "arch", "kernels"},
    **dict.fromkeys(FAMILIES, BELOW_FAMILIES),
    "training": BELOW_SUBJECTS,
    "doctor": BELOW_SUBJECTS,
    "ranking": BELOW_SUBJECTS | {"training"},
    "pretraining": BELOW_SUBJECTS | {"training"},
    "lessons": BELOW_LESSONS,
    "teaching": BELOW_LESSONS | {"lessons"},
    "verbs": BELOW_VERBS,
    "cli": {"core", "render", "verbs"},
    "__main__": {"cli"},
    "__init__": BELOW_VERBS | {"verbs"},  # the public names, imported when first used
}
LIGHT_UNITS = ("core", "arch", "render", "verbs", "cli", "__init__", "__main__")
HEAVY = {"torch", "scipy", "matplotlib", "plotly", "sympy", "PIL", "safetensors", "numpy"}


def imports(source: str) -> list[tuple[str, bool]]:
    """Every imported module with whether it is imported when the file is (not in a function, not for types only)."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, eager: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found.extend((f"{module}.{alias.name}", eager) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
                isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            )
            visit(child, eager and not lazy)

    visit(ast.parse(source), True)
    return found


def wrong_arrows(unit: str, source: str) -> list[str]:
    """The imports of a file in `unit` that point the wrong way."""
    wrong = []
    for name, _ in imports(source):
        parts = name.split(".")
        if parts[0] == "vitruvius" and len(parts) > 1:
            target = (
                parts[1]
                if (PACKAGE / parts[1]).is_dir() or (PACKAGE / f"{parts[1]}.py").is_file()
                else "__init__"
            )
            if target != unit and target not in MAY_IMPORT[unit]:
                wrong.append(name)
    return wrong


def heavy_imports(source: str) -> list[str]:
    """Heavy packages that are imported as soon as the file is."""
    return [name for name, eager in imports(source) if eager and name.split(".")[0] in HEAVY]


SOURCES = sorted(path for path in PACKAGE.rglob("*.py"))


def unit_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    assert wrong_arrows(unit_of(path), path.read_text()) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_light_files_import_nothing_heavy(path: Path) -> None:
    light = unit_of(path) in LIGHT_UNITS or path.name in ("__init__.py", "results.py")
    if light:
        assert heavy_imports(path.read_text()) == []


def siblings(family: str, member: str, source: str) -> list[str]:
    """The members of its own family that a file imports."""
    names = {path.stem for path in (PACKAGE / family).glob("*.py") if not path.stem.startswith("_")} - {
        member
    }
    targets = [name.split(".") for name, _ in imports(source)]
    return [".".join(t) for t in targets if t[:2] == ["vitruvius", family] and len(t) > 2 and t[2] in names]


def test_members_of_a_family_never_import_one_another() -> None:
    for family in (*FAMILIES, "lessons"):
        for path in (PACKAGE / family).glob("*.py"):
            assert siblings(family, path.stem, path.read_text()) == [], path.name


def test_planted_faults_are_found() -> None:
    assert wrong_arrows("core", "from vitruvius.nn.vit import ViT") == ["vitruvius.nn.vit.ViT"]
    assert wrong_arrows("proxies", "def f():\n    import vitruvius.datasets.mnist") == [
        "vitruvius.datasets.mnist"
    ]
    assert siblings("proxies", "snip", "from vitruvius.proxies import grad_norm") == [
        "vitruvius.proxies.grad_norm"
    ]
    assert heavy_imports("import torch.nn") == ["torch.nn"]
    assert heavy_imports("def f():\n    import torch") == []
    assert heavy_imports("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch") == []
