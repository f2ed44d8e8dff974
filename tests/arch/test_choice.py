"""The choice of a network: errors that name what would fit, and the document that lists the fields."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from vitruvius.arch.arch import Arch
from vitruvius.arch.choice import ArchChoice
from vitruvius.core.errors import UserError

DOCUMENT = Path(__file__).parents[2] / "docs" / "networks.md"


class Images(NamedTuple):
    """What a data set says about its images."""

    name: str
    shape: tuple[int, ...]
    classes: tuple[str, ...] = ("a", "b")
    images: int = 100


@pytest.mark.parametrize(
    ("side", "patch", "cure"),
    [(32, 7, "4 and 8 do"), (9, 4, "3 and 9 do"), (29, 7, "1 and 29 do"), (8, 16, "8 does")],
)
def test_a_patch_that_does_not_divide_the_image_is_answered_by_those_that_do(
    side: int, patch: int, cure: str
) -> None:
    message = f"patch {patch} does not divide image {side}: {cure}; --arch auto chooses"
    with pytest.raises(UserError, match=re.escape(message)):
        ArchChoice(set=(f"patch={patch}",)).resolve(Images("mine", (3, side, side)))
    for word in re.findall(r"\d+", cure):
        assert ArchChoice(set=(f"patch={word}",)).resolve(Images("mine", (3, side, side))).patch == int(word)


def test_the_document_lists_every_field_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", DOCUMENT.read_text(), re.MULTILINE)
    defaults = {name: getattr(Arch(), name) for name in Arch.model_fields}
    assert {name: json.loads(default) for name, default in rows} == {**defaults, "stem": list(Arch().stem)}
    assert [name for name, _ in rows] == list(Arch.model_fields)


def test_the_examples_of_the_document_are_read(tmp_path: Path) -> None:
    from vitruvius.arch import tables

    one, table = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    (tmp_path / "one.json").write_text(one)
    assert ArchChoice(arch=str(tmp_path / "one.json")).resolve(Images("mine", (1, 28, 28))).depth == 4
    path = tmp_path / "table.json"
    path.write_text(table)
    assert [name for name, _ in tables.networks(path)] == ["small", "large"]
    assert tables.accuracies(path, "accuracy") == [0.87, 0.9]
    assert tables.measured_on(path, "accuracy") == "fashion_mnist"
