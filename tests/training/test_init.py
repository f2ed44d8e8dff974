"""What a training starts from is read with its type: odd files beside the weights are refused by name."""

import json
from pathlib import Path

import pytest

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, get
from vitruvius.training import init
from vitruvius.training.recipe import ClassifierSettings


@pytest.fixture(scope="module")
def data() -> Dataset:
    return get("noise:1x8x8", validation=10, seed=0)


@pytest.mark.parametrize("content", [None, [], 1.5, {"split_seed": "x"}, {"data": 3}])
def test_a_config_of_another_type_is_refused_by_its_path(
    tmp_path: Path, data: Dataset, content: object
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"config\.json"):
        list(init._seen_test_images(tmp_path, ClassifierSettings(), data))


@pytest.mark.parametrize("config", [{}, {"init": 7}, {"init": "no such run"}])
def test_a_run_that_says_little_about_itself_warns_of_nothing(
    tmp_path: Path, data: Dataset, config: dict[str, object]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "manifest.json").write_text("{}")
    assert list(init._seen_test_images(tmp_path, ClassifierSettings(), data)) == []
