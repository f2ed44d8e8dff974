"""Proxies are got by file name, a user's own by file and name; the contract loads no torch."""

import subprocess
import sys
from pathlib import Path

import pytest
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.core.errors import UserError
from vitruvius.proxies import _one_pass


def test_a_users_own_proxy_is_a_function_in_a_file(
    tmp_path: Path, model: nn.Module, x: Tensor, y: Tensor
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from vitruvius.proxies import OnePass\n"
        "def size(once: OnePass) -> float:\n    return float(len(once.x))\n"
    )
    assert proxies.get(f"{file}:size")(proxies.one_pass(model, x, y)) == 5


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UserError, match="no proxy 'snp': did you mean 'snip'"):
        proxies.get("snp")


def test_structural_proxies_exist() -> None:
    assert all(callable(proxies.get(name)) for name in proxies.STRUCTURAL)


def test_the_contract_names_the_shared_passes() -> None:
    assert proxies.OnePass is _one_pass.OnePass
    with pytest.raises(AttributeError, match="OnePas"):
        _ = proxies.OnePas  # type: ignore[attr-defined]


def test_the_contract_imports_no_torch() -> None:
    code = "import sys, vitruvius.proxies; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
