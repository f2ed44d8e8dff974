"""Where and how a training computes: what 'auto' stands for."""

import pytest
import torch

from vitruvius.core.errors import UserError
from vitruvius.training import device


@pytest.mark.parametrize(
    ("choice", "macs", "cxx", "expected"),
    [
        ("auto", device.COMPILE_PAYS_AFTER, "g++", True),
        ("auto", device.COMPILE_PAYS_AFTER - 1, "g++", False),
        ("auto", device.COMPILE_PAYS_AFTER, None, False),
        ("on", 0, None, True),
        ("off", device.COMPILE_PAYS_AFTER, "g++", False),
    ],
)
def test_auto_compiles_where_it_pays_back_and_a_compiler_is_found(
    choice: str, macs: float, cxx: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "compiler", lambda: cxx)
    assert device.should_compile(choice, macs) is expected


def test_the_reference_run_is_compiled_and_a_short_one_is_not() -> None:
    from vitruvius.arch import cost, tables

    macs = cost.cost(tables.arch("mnist")).macs * 55_000
    assert macs < device.COMPILE_PAYS_AFTER < 10 * macs


def test_precision_follows_the_device_unless_given() -> None:
    assert device.choose_precision("auto", torch.device("cpu")) == "float32"
    assert device.choose_precision("float64", torch.device("cpu")) == "float64"


def test_a_missing_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="has no GPU"):
        device.choose_device("cuda")
