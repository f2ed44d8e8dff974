"""Imports point one way: the arrows of docs/architecture.md, read from the source, types included."""

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "vitruvius"
FAMILIES = {"datasets", "objectives", "optimisers", "proxies", "checks"}
BELOW_FAMILIES = {"core", "arch", "kernels", "nn"}
BELOW_SUBJECTS = BELOW_FAMILIES | FAMILIES | {"render"}
SUBJECTS = {
    "inspecting",
    "training",
    "ranking",
    "pretraining",
    "doctor",
    "exporting",
    "measuring",
    "searching",
}
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
    "inspecting": BELOW_SUBJECTS,
    "doctor": BELOW_SUBJECTS,
    "ranking": BELOW_SUBJECTS | {"training", "measuring"},
    "pretraining": BELOW_SUBJECTS | {"training"},
    "exporting": BELOW_SUBJECTS | {"training"},
    "measuring": BELOW_SUBJECTS | {"training", "exporting"},
    "searching": BELOW_SUBJECTS | {"training", "ranking", "exporting", "measuring"},
    "lessons": BELOW_LESSONS,
    "teaching": BELOW_LESSONS | {"lessons"},
    "web": BELOW_VERBS,
    "verbs": BELOW_VERBS | {"web"},
    "cli": {"core", "render", "verbs"},
    "__main__": {"cli"},
    "__init__": BELOW_VERBS | {"verbs", "web"},  # the public names, imported when first used
}
LIGHT_UNITS = ("core", "arch", "render", "verbs", "cli", "__init__", "__main__")
NOT_SHIPPED = ("test", "browser", "check", "slow")
"""Extras that no user needs."""
STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)  # an expression imports nothing
HEAVY = {"torch", "scipy", "matplotlib", "plotly", "sympy", "PIL", "safetensors", "numpy"}


class Import(NamedTuple):
    """One import statement's target: `module` or `module.name`."""

    name: str
    in_function: bool
    for_types: bool


@cache
def imports(source: str) -> list[Import]:
    """Every import of a file, in functions and for types too."""
    found: list[Import] = []

    def visit(node: ast.AST, in_function: bool, for_types: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, in_function, for_types) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found.extend(Import(name, in_function, for_types) for name in names)
        in_function = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for_types = for_types or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, STATEMENTS):
                visit(child, in_function, for_types)

    visit(ast.parse(source), False, False)
    return found


@cache
def module_path(name: str) -> Path | None:
    """The file of the package that an imported name `vitruvius.a.b` is or is defined in."""
    parts = name.split(".")
    if parts[0] != "vitruvius":
        return None
    for length in range(len(parts), 0, -1):
        path = PACKAGE.joinpath(*parts[1:length])
        if path.with_suffix(".py").is_file() and length > 1:
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    return None


def unit_of(path: Path) -> str:
    """The folder of the package that a file lies in, or its own name without a folder."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def wrong_arrows(unit: str, source: str) -> list[str]:
    """The imports of a file in `unit` that point the wrong way."""
    targets = {name: module_path(name) for name, *_ in imports(source)}
    units = {name: unit_of(path) for name, path in targets.items() if path is not None}
    return [name for name, target in units.items() if target != unit and target not in MAY_IMPORT[unit]]


def heavy_imports(source: str) -> list[str]:
    """Heavy packages that are imported as soon as the file is."""
    eager = (name for name, in_function, for_types in imports(source) if not in_function and not for_types)
    return [name for name in eager if name.split(".")[0] in HEAVY]


def foreign_private_imports(folder: str, source: str) -> list[str]:
    """The imports of `_private` modules of other folders than the file's own, such as "verbs/doctor"."""
    found = []
    for name, *_ in imports(source):
        path = module_path(name)
        if path is None or not path.stem.startswith("_") or path.stem.startswith("__"):
            continue
        if path.parent != PACKAGE / folder:
            found.append(name)
    return found


def cycle(sources: dict[str, str]) -> list[str]:
    """Files that import one another, by path; imports inside functions and for types count too."""
    graph = {}
    for path, source in sources.items():
        targets = (module_path(name) for name, *_ in imports(source))
        graph[path] = {str(target.relative_to(PACKAGE)) for target in targets if target} - {path}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def declared_packages() -> set[str]:
    """The distributions that pyproject.toml names, optional extras for tests and checks left out."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    extras = {
        name: lines for name, lines in project["optional-dependencies"].items() if name not in NOT_SHIPPED
    }
    lines = [*project["dependencies"], *(line for extra in extras.values() for line in extra)]
    return {normalised(re.split(r"[\[<>=~! ]", line)[0]) for line in lines}


def normalised(distribution: str) -> str:
    """The name of a distribution as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


@cache
def distributions_of_packages() -> Mapping[str, list[str]]:
    """The distributions that hold each importable package, of those that are installed."""
    return packages_distributions()


def undeclared_imports(source: str) -> list[str]:
    """The imports of packages that pyproject.toml does not name."""
    known = distributions_of_packages()
    found = []
    for package in dict.fromkeys(name.split(".")[0] for name, *_ in imports(source)):
        distributions = {normalised(name) for name in known.get(package, [package])}
        if package not in sys.stdlib_module_names | {"vitruvius"} and not distributions & declared_packages():
            found.append(package)
    return found


SOURCES = sorted(path for path in PACKAGE.rglob("*.py"))


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
    targets = [name.split(".") for name, *_ in imports(source)]
    return [".".join(t) for t in targets if t[:2] == ["vitruvius", family] and len(t) > 2 and t[2] in names]


def test_members_of_a_family_never_import_one_another() -> None:
    for family in (*FAMILIES, "lessons"):
        for path in (PACKAGE / family).glob("*.py"):
            assert siblings(family, path.stem, path.read_text()) == [], path.name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_modules_are_imported_inside_their_own_folder_only(path: Path) -> None:
    assert foreign_private_imports(str(path.parent.relative_to(PACKAGE)), path.read_text()) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_of_a_subject_only_the_report_imports_render(path: Path) -> None:
    if unit_of(path) in SUBJECTS and path.name != "report.py":
        assert not [name for name, *_ in imports(path.read_text()) if name.startswith("vitruvius.render")]


def test_no_files_import_one_another() -> None:
    assert cycle({str(path.relative_to(PACKAGE)): path.read_text() for path in SOURCES}) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_imported_package_is_a_declared_dependency(path: Path) -> None:
    assert undeclared_imports(path.read_text()) == []


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
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vitruvius.{} import {}"
    assert wrong_arrows("arch", typed.format("nn.vit", "ViT")) == ["vitruvius.nn.vit.ViT"]
    private = "from vitruvius.kernels import _blocked, softmax"
    assert foreign_private_imports("nn", private) == ["vitruvius.kernels._blocked"]
    assert foreign_private_imports("kernels", private) == []
    one, other = "from vitruvius.arch import cost", typed.format("arch.arch", "Arch")
    assert set(cycle({"arch/arch.py": one, "arch/cost.py": other})) == {"arch/arch.py", "arch/cost.py"}
    assert cycle({"arch/arch.py": f"def f():\n    {one}", "arch/cost.py": other})
    assert undeclared_imports("import yaml, torch\nfrom PIL import Image\nimport os.path") == ["yaml"]
