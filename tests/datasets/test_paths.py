"""Where files are looked for, and in which order."""

from pathlib import Path

import pytest

from vitruvius.core import cache
from vitruvius.datasets import _paths


def test_a_data_folder_is_the_only_place_if_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITRUVIUS_DATA", str(tmp_path / "shared"))
    found = _paths.folders("set", ("SET/raw",), ("/known",), data_dir="~/mine")
    assert found == [tmp_path / "home/mine/SET/raw", tmp_path / "home/mine"]


def test_the_order_is_environment_known_places_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITRUVIUS_DATA", str(tmp_path / "shared"))
    found = _paths.folders("set", ("SET/raw", "set"), ("~/known",))
    names = ["shared/SET/raw", "shared/set", "home/known", "cache/vitruvius/set"]
    assert found == [tmp_path / name for name in names]
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder("set") == tmp_path / "home/.cache/vitruvius/set"


def test_the_first_complete_folder_is_taken_in_any_spelling(tmp_path: Path) -> None:
    for name in ("one/a.gz", "two/a", "two/b.gz", "three/a", "three/b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    folders = [tmp_path / name for name in ("zero", "one", "two", "three")]
    spellings = [("a.gz", "a"), ("b.gz", "b")]
    assert _paths.find(folders, spellings) == [tmp_path / "two/a", tmp_path / "two/b.gz"]
    assert _paths.find(folders[:2], spellings) is None


@pytest.mark.parametrize(("value", "is_offline"), [("1", True), ("true", True), ("0", False), ("", False)])
@pytest.mark.parametrize("name", ["VITRUVIUS_OFFLINE", "HF_HUB_OFFLINE"])
def test_either_switch_forbids_the_network(
    name: str, value: str, is_offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VITRUVIUS_OFFLINE", raising=False)
    assert not _paths.offline()
    monkeypatch.setenv(name, value)
    assert _paths.offline() is is_offline
