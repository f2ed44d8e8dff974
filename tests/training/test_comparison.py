"""The sentence that compares a network with the baselines, and the reason it gives."""

import pytest

from vitruvius.training import comparison
from vitruvius.training.recipe import Augment
from vitruvius.training.results import Baseline, Baselines

KNOWN = Baselines(
    found=(
        Baseline(name="linear probe", val_accuracy=0.8, test_accuracy=0.82, l2=0.1),
        Baseline(name="nearest neighbours", val_accuracy=0.9, test_accuracy=0.88),
    ),
    images=1000,
    side=8,
)


def training(accuracy: float, **more: object) -> comparison.Training:
    facts = {
        "train_accuracy": 0.7,
        "images": 1000,
        "classes": 10,
        "steps": 9000,
        "side": 28,
        "augment": Augment(),
        "judged": 10_000,
        "arch": "mnist",
    }
    return comparison.Training(accuracy, **{**facts, **more})  # type: ignore[arg-type]


def test_a_better_network_is_said_to_be_better_than_the_best() -> None:
    found = comparison.sentence("test", KNOWN, training(0.9))
    assert found.startswith("better by 2.0% than linear probe 82.00%, nearest neighbours 88.00%")
    assert "chance" not in found
    assert comparison.sentence("test", KNOWN, training(0.9, judged=180)).endswith("chance on 180 images")


def test_a_difference_that_may_be_chance_has_no_reason() -> None:
    equal = comparison.sentence("val", KNOWN, training(0.9))
    assert equal.endswith("on the validation images: the same accuracy")
    worse = comparison.sentence("test", KNOWN, training(0.86, judged=180))
    assert worse.startswith("level with linear probe")
    assert worse.endswith("worse by 2.0% than the better of them, which may be chance on 180 images")


def test_a_baseline_that_saw_fewer_images_is_known_less_exactly() -> None:
    fewer = KNOWN.model_copy(update={"most_judged": 2000})
    assert "chance" not in comparison.sentence("test", KNOWN, training(0.892))
    assert comparison.sentence("test", fewer, training(0.892)).endswith("chance on 2,000 images")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"train_accuracy": 0.99}, "too few images (100 of each class on average)"),
        ({"augment": Augment(shift=4)}, "the augmentation may be too strong"),
        ({"augment": Augment(flip=True)}, "the augmentation may be too strong"),
        ({"augment": Augment(shift=2), "steps": 500}, "too few steps (500); --epochs gives more"),
        ({"steps": 500}, "too few steps (500)"),
        ({"steps": 500, "train_accuracy": 0.87}, "too few steps (500)"),  # below the baseline: not by heart
        ({}, "the network may be too small, or the learning rate wrong; try --arch auto and another --lr"),
        ({"arch": "auto"}, "try a larger network and another --lr"),
    ],
)
def test_the_reason_of_a_defeat(facts: dict[str, object], reason: str) -> None:
    found = comparison.sentence("test", KNOWN, training(0.8, **facts))
    assert found.startswith("not better than linear probe")
    assert reason in found


def test_where_all_are_right_nothing_is_to_be_gained() -> None:
    perfect = KNOWN.model_copy(
        update={"found": (Baseline(name="linear probe", val_accuracy=1.0, test_accuracy=1.0),)}
    )
    assert "nothing to gain" in comparison.sentence("test", perfect, training(1.0))


def test_without_baselines_nothing_is_said() -> None:
    assert comparison.sentence("test", KNOWN.model_copy(update={"found": ()}), training(1.0)) == ""
