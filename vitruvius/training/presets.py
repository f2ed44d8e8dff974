"""Recipes by name: settings that belong together, and how `--recipe auto` chooses one of them. No torch.

docs/recipes.md shows the same table. A setting that a person has given is never changed by a recipe.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

from vitruvius.training import auto
from vitruvius.training.auto import Facts
from vitruvius.training.recipe import ClassifierSettings

S = TypeVar("S", bound=ClassifierSettings)
OWN_IMAGES = ("folder", "csv", "shards")
"""The data sets that are a person's own: their default recipe is auto, that of all others plain."""
MANY_IMAGES = 100_000
"""Training images from which on `auto` takes the recipe for large sets."""
BY_THE_DATA = ("shift", "crop", "flip")
"""The augmentation that `auto` takes from the rules about the data."""

PRESETS: dict[str, dict[str, Any]] = {
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


class Data(Protocol):
    """The facts about data that decide a recipe; a `Dataset` has them."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def images(self) -> int: ...


class Chosen(NamedTuple):
    """The settings of a recipe, its name, and why it was chosen."""

    name: str
    fields: dict[str, Any]
    reasons: tuple[str, ...]


def resolve(settings: S, data: Data) -> tuple[S, tuple[str, ...]]:
    """Return the settings with those of the recipe filled in, and in words what was chosen and why.

    What was given stays. A recorded config has given everything, so that a resumed run stays as it was.
    """
    given = settings.model_fields_set
    chosen = choose(settings, data)
    taken = given | ({"epochs"} if "steps" in given else set())
    free = {field: value for field, value in chosen.fields.items() if field not in taken}
    filled = settings.model_copy(update={**free, "recipe": chosen.name})
    if not free:
        return filled, chosen.reasons
    shown = ", ".join(f"{field} {_shown(value)}" for field, value in free.items())
    return filled, (*chosen.reasons, f"recipe {chosen.name}: {shown}")


def choose(settings: ClassifierSettings, data: Data) -> Chosen:
    """Return the recipe that was asked for; auto decides by `--init` and the number of training images."""
    name = settings.recipe or ("auto" if settings.data.partition(":")[0] in OWN_IMAGES else "plain")
    if name != "auto":
        return Chosen(name, PRESETS[name], ())
    channels, side = data.shape[0], data.shape[-1]
    facts = Facts(images=data.images, classes=len(data.classes), side=side, channels=channels)
    name = "finetune" if settings.init else "small-data" if data.images < MANY_IMAGES else "deit"
    batch = (
        settings.batch if "batch" in settings.model_fields_set else PRESETS[name].get("batch", settings.batch)
    )
    rules = auto.choose(facts, batch)
    found = rules.settings()
    by_data = {field: found[field] for field in BY_THE_DATA}
    if settings.init:
        why = f"recipe finetune, because --init {settings.init} is trained already"
        return Chosen(name, {**PRESETS[name], **by_data}, (why, rules.reasons[2]))
    why = f"recipe {name}, because there are {data.images:,} training images"
    lengths = {field: found[field] for field in ("epochs", "warmup")}
    return Chosen(name, {**PRESETS[name], **by_data, **lengths}, (why, *rules.reasons[2:]))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return (
        f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )
