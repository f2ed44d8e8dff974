"""A run is finished only while the files it was made from are the same."""

from pathlib import Path

import pytest

from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.ranking import session
from vitruvius.ranking.settings import Config


def inputs(data: str) -> dict[str, str]:
    return session.inputs(Config(data=data))


def test_the_hashes_of_inputs_change_with_a_file_of_data_or_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.py").write_text("one = 1")
    before = inputs("./data.py:one")
    assert inputs("./data.py:one") == before
    Path("data.py").write_text("one = 2")
    assert inputs("./data.py:one") != before
    Path("photos/cat").mkdir(parents=True)
    empty = [inputs(data) for data in ("folder:photos", "folder:photos@16")]
    Path("photos/cat/1.png").write_text("x")
    after = [inputs(data) for data in ("folder:photos", "folder:photos@16")]
    assert all(a != b for a, b in zip(empty, after, strict=True))


def test_a_name_is_continued_with_the_same_settings_only(tmp_path: Path) -> None:
    flags = Flags(name="a", runs=str(tmp_path))
    assert session.continue_named(Config(), flags) == flags
    folder = tmp_path / "rank" / "a"
    folder.mkdir(parents=True)
    recorded = Config().model_dump(mode="json")
    files.write_json(folder / "config.json", {key: recorded[key] for key in recorded if key != "validation"})
    for config in (Config(), Config(spread="processes", workers=2)):
        assert session.continue_named(config, flags) == Flags(resume=str(folder), runs=str(tmp_path))
    with pytest.raises(UserError, match="batch was 64, now 8"):
        session.continue_named(Config(batch=8), flags)
