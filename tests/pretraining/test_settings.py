"""Settings of a pretraining: defaults that depend on the model, and contradictions refused in a sentence."""

from typing import Any

import pytest

from vitruvius.core.errors import UserError
from vitruvius.pretraining.settings import Pretraining


def test_what_is_not_given_depends_on_the_model() -> None:
    linear, mlp, vit = (Pretraining(model=model) for model in ("linear", "mlp", "vit"))
    assert (linear.lr, mlp.lr, vit.lr) == (5e-4, 1e-3, 1e-3)
    assert (linear.hidden, mlp.hidden) == ((), (256,))
    assert (linear.repeats, mlp.repeats, vit.repeats) == (3, 3, 1)
    assert (linear.schedule, vit.schedule, vit.warmup) == ("constant", "cosine", 500)
    assert (linear.mask, linear.counted, vit.mask, vit.counted) == (0.25, "all", 0.75, "masked")
    assert (mlp.objective, vit.objective) == (("reconstruct", "denoise", "mask"), ("mask",))


def test_what_is_given_is_kept() -> None:
    config = Pretraining(model="mlp", hidden=(), lr=5e-4)
    assert (config.hidden, config.lr) == ((), 5e-4)


def test_a_recorded_config_without_the_newer_settings_is_read() -> None:
    recorded = Pretraining(model="vit", lr=0.01).model_dump(mode="json")
    for name in ("optimiser", "accumulate", "clip", "crop", "flip"):
        del recorded[name]
    assert Pretraining(**recorded) == Pretraining(model="vit", lr=0.01)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "vit", "repeats": 2}, "a ViT is pretrained alone"),
        ({"model": "vit", "hidden": (9,)}, "hidden belongs to linear and mlp models, model is vit"),
        ({"clip": 1.0}, "clip belongs to a ViT, model is linear"),
        ({"objective": ()}, "objective: name at least one"),
        ({"latent": (5, 5)}, "latent 5,5: name each one once"),
        ({"precision": "bfloat16"}, "precision must be 'float32' or 'float64'"),
    ],
)
def test_contradictions_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Pretraining(**fields)
