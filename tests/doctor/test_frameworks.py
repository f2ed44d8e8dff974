"""The callbacks of docs/doctor.md name the user's line, not the framework's."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "doctor.md"
LIGHTNING = """
class Callback: pass
class Trainer:
    def __init__(self, callbacks):
        self.callbacks = callbacks
    def fit(self, module, batches):
        for callback in self.callbacks:
            callback.setup(self, module, "fit")
        optimizer = module.configure_optimizers()
        for batch in batches:
            ZERO
            module.training_step(batch).backward()
            optimizer.step()
        for callback in self.callbacks:
            callback.teardown(self, module, "fit")
"""
TRANSFORMERS = """
class TrainerCallback: pass
class Trainer:
    def __init__(self, callbacks):
        self.callbacks = callbacks
    def fit(self, module, batches):
        optimizer = module.configure_optimizers()
        for callback in self.callbacks:
            callback.on_train_begin(None, None, None, model=module)
        for batch in batches:
            ZERO
            module.training_step(batch).backward()
            optimizer.step()
        for callback in self.callbacks:
            callback.on_train_end(None, None, None, model=module)
"""
SCRIPT = """
import torch
class Module(torch.nn.Linear):
    def training_step(self, x):
        return (self(x) - x.sum(1, keepdim=True)).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)
doctor = Doctor()
Trainer(callbacks=[doctor]).fit(Module(3, 1), [torch.randn(8, 3) for _ in range(6)])  # here
"""
STAND_INS = {"lightning.pytorch": LIGHTNING, "transformers": TRANSFORMERS}


def callback(framework: str) -> str:
    """The program in the document that imports a framework."""
    programs = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return next(program for program in programs if program.startswith(f"import {framework}"))


def stand_in(name: str, source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A framework of a few lines, run from a folder that is no installed library."""
    module = ModuleType(name)
    file = folder / f"{name}.py"
    file.write_text(source)
    module.__package__ = name
    exec(compile(source, str(file), "exec"), module.__dict__)
    parent = ModuleType(name.partition(".")[0]) if "." in name else module
    if parent is not module:
        setattr(parent, name.partition(".")[2], module)
    monkeypatch.setitem(sys.modules, parent.__name__, parent)
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.mark.parametrize("zero", ["pass", "optimizer.zero_grad()"])
@pytest.mark.parametrize("name", STAND_INS)
def test_a_callback_names_the_line_of_the_user(
    name: str, zero: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    framework = stand_in(name, STAND_INS[name].replace("ZERO", zero), tmp_path, monkeypatch)
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    main: dict[str, Any] = {"__name__": "__main__", "Trainer": framework.Trainer}
    exec(compile(callback(name), str(tmp_path / "callback.py"), "exec"), main)
    exec(compile(SCRIPT, str(script), "exec"), main)
    line = next(number for number, text in enumerate(SCRIPT.splitlines(), 1) if "# here" in text)
    errors = [found for found in main["doctor"].report.findings if found.severity == "error"]
    expected = [("zero_grad", f"{script}:{line}")] if zero == "pass" else []
    assert [(found.bug, found.where) for found in errors] == expected
    assert (f"{script}:{line}: zero_grad: call optimizer.zero_grad()" in capsys.readouterr().out) == (
        zero == "pass"
    )


@pytest.mark.parametrize("name", STAND_INS)
def test_a_callback_has_ten_lines(name: str) -> None:
    assert len(callback(name).partition("class ")[2].replace("\n\n", "\n").splitlines()) <= 10
