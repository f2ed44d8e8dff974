"""Recipes by name: settings that belong together, and how `--recipe auto` chooses one of them. No torch.

docs/recipes.md shows the same table. A setting that a person has given is never changed by a recipe.
"""

import math
from typing import Any, NamedTuple, TypeVar

from vitruvius import datasets
from vitruvius.training import auto
from vitruvius.training.auto import AUGMENTATION, Facts
from vitruvius.training.recipe import ClassifierSettings

S = TypeVar("S", bound=ClassifierSettings)
MANY_IMAGES = 100_000
"""Training images from which on `auto` takes the recipe for large sets."""

RECIPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "small-data": {
        "epochs": 100,
        "label_smoothing": 0.1,
        "drop_path": 0.1,
        "ema": 0.99,
        "mixup": 0.2,
        "crop": 0.2,
    },
    "deit": {
        "epochs": 300,
        "batch": 256,
        "lr": 2.5e-4,
        "label_smoothing": 0.1,
        "drop_path": 0.1,
        "ema": 0.9999,
        "mixup": 0.8,
        "cutmix": 1.0,
        "randaugment": 9.0,
        "erase": 0.25,
        "repeat": 3,
        "crop": 0.5,
        "flip": True,
    },
    "finetune": {
        "epochs": 20,
        "lr": 5e-4,
        "warmup": 100,
        "layer_decay": 0.75,
        "label_smoothing": 0.1,
        "drop_path": 0.1,
        "ema": 0.99,
        "crop": 0.2,
    },
}
"""What each recipe sets; all else keeps its default, which is what `plain` trains with."""


class Chosen(NamedTuple):
    """The settings of a recipe, its name, and why it was chosen."""

    name: str
    fields: dict[str, Any]
    reasons: tuple[str, ...]


def resolve(settings: S, facts: Facts) -> tuple[S, tuple[str, ...]]:
    """Return the settings with those of the recipe filled in, and in words what was chosen and why.

    What was given stays. A recorded config has given everything, so that a resumed run stays as it was.
    """
    given = settings.model_fields_set
    chosen = choose(settings, facts)
    taken = given | ({"epochs"} if "steps" in given else set())
    free = {field: value for field, value in chosen.fields.items() if field not in taken}
    filled = settings.model_copy(update={**free, "recipe": chosen.name})
    fields = type(settings).model_fields
    other = {field: value for field, value in free.items() if value != fields[field].default}
    if not other:
        return filled, chosen.reasons
    shown = ", ".join(f"{field} {_shown(value)}" for field, value in other.items())
    return filled, (*chosen.reasons, f"recipe {chosen.name}: {shown}")


def choose(settings: ClassifierSettings, facts: Facts) -> Chosen:
    """Return the recipe that was asked for; auto decides by `--init` and the number of training images."""
    name = settings.recipe or ("auto" if datasets.own_pictures(settings.data) else "plain")
    if name != "auto":
        return Chosen(name, {**_defaults(settings), **RECIPES[name]}, ())
    name = "finetune" if settings.init else "small-data" if facts.images < MANY_IMAGES else "deit"
    batch = RECIPES[name].get("batch", settings.batch)
    given = settings.model_fields_set
    rules = auto.choose(facts, settings.batch if "batch" in given else batch)
    found, told = rules.settings(), rules.reasons[2:]
    if given & {"epochs", "steps"}:  # the warm-up fits the length that was asked for
        steps = settings.total_steps(facts.images)
        found["warmup"] = min(auto.LONGEST_WARMUP, math.ceil(auto.WARMUP_FRACTION * steps))
        told = told[:1]
    told = told[1:] if given & set(AUGMENTATION) else told
    if settings.init:
        by_data = {field: found[field] for field in AUGMENTATION}
        why = f"recipe finetune, because --init {settings.init} is trained already"
        return Chosen(name, {**RECIPES[name], **by_data}, (why, *told[:1]))
    why = f"recipe {name}, because there are {facts.images:,} training images"
    return Chosen(name, {**RECIPES[name], **found}, (why, *told))


def _defaults(settings: ClassifierSettings) -> dict[str, Any]:
    """Return the defaults of what the data would decide: a recipe that is named decides it itself."""
    fields = type(settings).model_fields
    return {name: fields[name].default for name in (*AUGMENTATION, "epochs", "warmup")}


def _shown(value: float | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"
