"""Autoencoders are priced before they are built."""

import pytest

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn import masked
from vitruvius.pretraining import autoencoders
from vitruvius.pretraining.settings import Pretraining

ARCH = Arch(image=8, channels=1, patch=4, width=8, depth=1, heads=2, mlp=8, pooling="mean")


def test_the_decoder_of_a_masked_autoencoder_is_priced_before_it_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(masked, "build", lambda *_: pytest.fail("it was built"))
    monkeypatch.setattr(cost, "memory_bytes", lambda: 2**34)
    cost.refuse_if_too_big(ARCH, 64)  # the encoder alone fits
    huge = Pretraining(model="vit", decoder_width=2**14, decoder_depth=128)
    with pytest.raises(UserError, match="parameters does not fit.*--decoder-width"):
        autoencoders.vit(huge, ARCH)


def test_the_price_is_that_of_both_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = masked.decoder_for(ARCH, 16, 2)
    need = sum(cost.cost(one).training_bytes(32) for one in (ARCH, decoder))
    monkeypatch.setattr(cost, "memory_bytes", lambda: int(need / 0.9) + 2)
    masked.refuse_if_too_big(ARCH, decoder, 32)
    monkeypatch.setattr(cost, "memory_bytes", lambda: int(need / 0.9) - 2)
    with pytest.raises(UserError, match="training it with batch 32 needs about"):
        masked.refuse_if_too_big(ARCH, decoder, 32)
