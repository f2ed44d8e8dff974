"""How data sets are asked for by name."""

from pathlib import Path

import pytest

from vitruvius import datasets
from vitruvius.core import plugins
from vitruvius.core.errors import UserError


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("mnits", "no dataset 'mnits': did you mean 'mnist'?"),
        ("mnist:10", "dataset 'mnist:10': too many positional arguments; it is written mnist"),
        ("folder", "dataset 'folder': missing a required argument: 'path'; it is written folder:PATH"),
        ("_idx", "no dataset '_idx'"),
    ],
)
def test_names_that_do_not_fit_are_refused(name: str, complaint: str) -> None:
    with pytest.raises(UserError) as refusal:
        datasets.get(name)
    assert str(refusal.value).startswith(complaint)


def test_negative_seed_is_refused() -> None:
    with pytest.raises(UserError, match="seed -1"):
        datasets.get("noise", seed=-1)


def test_own_data_set_is_taken_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from vitruvius.datasets.noise import noise\n"
        "def small(*, data_dir=None, validation=None, seed=0):\n"
        "    return noise('1x4x4', validation=validation, seed=seed)\n"
        "def narrow():\n"
        "    pass\n"
        "def empty(**options):\n"
        "    ...\n"
        "def broken(**options):\n"
        "    return options['leaves']\n"
    )
    assert datasets.get(f"{path}:small", validation=3).shape == (1, 4, 4)
    with pytest.raises(UserError, match="narrow': got an unexpected keyword argument 'data_dir'"):
        datasets.get(f"{path}:narrow")
    with pytest.raises(UserError, match=r"empty': it returns NoneType, not a Dataset"):
        datasets.get(f"{path}:empty")
    with pytest.raises(UserError, match=r"broken': KeyError: 'leaves'"):
        datasets.get(f"{path}:broken")
    path.write_text("import sys\nsys.exit(3)")
    plugins._load_file.cache_clear()
    with pytest.raises(UserError, match=r"could not be loaded: SystemExit: 3"):
        datasets.get(f"{path}:small")


def test_a_folder_may_have_py_in_its_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        datasets.get(f"folder:{tmp_path}/my.pyramids")


def test_class_counts_are_empty_without_labels() -> None:
    data = datasets.get("noise:1x2x2/3")
    assert sum(data.class_counts().values()) == 512
    nameless = datasets.Split(data.train.x, None)
    assert datasets.Dataset("x", nameless, nameless, nameless, ()).class_counts() == {}
