"""Configs: strict, frozen, and with errors in sentences."""

from typing import Annotated, Literal

import pytest
from pydantic import BeforeValidator

from vitruvius.core.config import Config, Ints, Names, changed, settings
from vitruvius.core.errors import UserError


def positive(value: object) -> float:
    """Refuse what is no positive number, and repeat it."""
    if not isinstance(value, float) or value <= 0:
        raise ValueError(f"{value} is no positive number")
    return value


class Toy(Config):
    epochs: int = 10
    kind: Literal["plain", "residual"] = "plain"
    latent: Ints = (5, 20)
    proxies: Names = ()
    scale: Annotated[float, BeforeValidator(positive)] = 1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epochs": "ten"}, "epochs needs a whole number, got 'ten'"),
        ({"epochs": 1.5}, "epochs needs a whole number"),
        ({"kind": "plan"}, "kind must be 'plain' or 'residual', got 'plan'"),
        ({"epoch": 3}, "no field in Toy 'epoch': did you mean 'epochs'?"),
        ({"latent": "5,x"}, "needs a whole number, got 'x'"),
        ({"scale": "\ud800"}, "half of a surrogate pair is no character"),
    ],
)
def test_a_bad_value_is_a_sentence(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Toy(**fields)
    assert message in str(caught.value)


def test_lists_are_written_with_commas_or_spaces() -> None:
    assert Toy(latent="5,100").latent == (5, 100)
    assert Toy(proxies=["a,b", "c"]).proxies == ("a", "b", "c")


def test_a_config_survives_json() -> None:
    toy = Toy(epochs=3, latent=(1, 2))
    assert Toy(**toy.model_dump(mode="json")) == toy


def test_settings_need_an_equals_sign() -> None:
    with pytest.raises(UserError, match="field=value"):
        settings(("depth",))


def test_changed_names_the_fields_that_differ() -> None:
    assert changed({"a": 1, "b": 2}, {"a": 1, "b": 3}) == ["b"]
