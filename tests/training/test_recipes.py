"""Recipes: what is given wins, auto decides by counts and --init, the document has the same table."""

import re
from pathlib import Path
from typing import Any

import pytest

from vitruvius.training import recipes
from vitruvius.training.auto import Facts
from vitruvius.training.recipe import ClassifierSettings

DOCUMENT = Path(__file__).parents[2] / "docs" / "recipes.md"


def images(count: int = 2000, side: int = 32) -> Facts:
    return Facts(images=count, classes=2, side=side, channels=3)


FEW = images()


def resolved(known: Facts = FEW, **fields: Any) -> ClassifierSettings:
    return recipes.resolve(ClassifierSettings(**fields), known)[0]


def test_plain_is_the_default_of_built_in_data_and_changes_nothing() -> None:
    for given in ({}, {"recipe": "plain"}, {"data": "cifar", "mixup": 0.5}):
        settings = ClassifierSettings(**given)
        found, said = recipes.resolve(settings, FEW)
        assert found == settings.model_copy(update={"recipe": "plain"})
        assert not said


def test_a_recipe_fills_in_what_was_not_given_and_says_so() -> None:
    found, said = recipes.resolve(ClassifierSettings(recipe="deit", epochs=3, mixup=0.0), FEW)
    assert (found.epochs, found.mixup) == (3, 0.0)
    assert (found.cutmix, found.repeat, found.randaugment, found.flip) == (1.0, 3, 9.0, True)
    assert "cutmix 1" in said[-1]
    assert "epochs" not in said[-1]
    assert "mixup" not in said[-1]


@pytest.mark.parametrize(
    ("fields", "count", "name"),
    [
        ({"data": "folder:photos"}, 500, "small-data"),
        ({"data": "folder:photos"}, 200_000, "deit"),
        ({"data": "mnist", "recipe": "auto"}, 50_000, "small-data"),
        ({"data": "folder:photos", "recipe": "plain"}, 500, "plain"),
    ],
)
def test_auto_decides_by_the_number_of_images(fields: dict[str, Any], count: int, name: str) -> None:
    found, said = recipes.resolve(ClassifierSettings(**fields), images(count))
    assert found.recipe == name
    assert any(f"{count:,} training images" in text for text in said) == (name != "plain")


def test_auto_fine_tunes_what_is_trained_already(tmp_path: Path) -> None:
    found = resolved(data="folder:photos", init=str(tmp_path / "weights.safetensors"))
    assert found.recipe == "finetune"
    assert found.layer_decay == recipes.RECIPES["finetune"]["layer_decay"]
    assert found.epochs == recipes.RECIPES["finetune"]["epochs"]


def test_small_pictures_are_not_shifted_and_long_trainings_fit_the_count() -> None:
    small = resolved(images(1437, 8), data="folder:digits")
    assert (small.shift, small.crop, small.flip) == (0.0, 0.0, False)
    assert resolved(images(50_000), data="folder:x").epochs < resolved(images(500), data="folder:x").epochs


def test_the_warm_up_fits_the_length_that_was_asked_for() -> None:
    found, said = recipes.resolve(ClassifierSettings(data="folder:x", epochs=6, flip=True), FEW)
    assert (found.epochs, found.warmup, found.flip) == (6, 38, True)  # a tenth of 6 x 63 steps
    assert not any("epochs" in text or "flips" in text for text in said)


def test_a_recorded_config_is_not_changed_again() -> None:
    first = resolved(data="folder:photos")
    recorded = ClassifierSettings(**first.model_dump(mode="json"))
    assert recipes.resolve(recorded, images(7)) == (recorded, ())


def test_a_config_of_a_version_without_recipes_is_read_as_plain() -> None:
    older = ClassifierSettings.read_older({"data": "folder:photos", "seed": 3})
    assert older["recipe"] == "plain"
    assert recipes.resolve(ClassifierSettings(**older), FEW)[0].mixup == 0


def test_the_document_shows_what_every_recipe_sets() -> None:
    table = re.search(r"^\| setting \|(.*?)\n\n", DOCUMENT.read_text(), re.M | re.S)
    assert table is not None
    header, _, *rows = [
        [cell.strip().strip("`") for cell in line.strip("| ").split("|")]
        for line in table[0].strip().splitlines()
    ]
    defaults = ClassifierSettings()
    fields = [row[0].replace("-", "_") for row in rows]
    assert {field for recipe in recipes.RECIPES.values() for field in recipe} == set(fields)
    for column, name in enumerate(header[1:], 1):
        for field, row in zip(fields, rows, strict=True):
            value = recipes.RECIPES[name].get(field, getattr(defaults, field))
            shown = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else f"{value:g}"
            assert row[column] == shown, (name, field)
