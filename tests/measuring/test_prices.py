"""The price list: quantities in closed form, prices recovered from made-up times, stored per machine."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.arch.test_cost_arrays import LIKES, drawn
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.arch.cost_arrays import costs
from vitruvius.core import files
from vitruvius.measuring import calibrate, prices
from vitruvius.measuring.calibrate import Timed
from vitruvius.measuring.prices import PriceList, location

ARCH = Arch(image=8, patch=4, width=8, depth=2, heads=2, mlp=(16, 24), head_dim=4)
TRUE = dict(zip(prices.QUANTITIES, (0.1, 0.04, 2e-8, 5e-8, 1e-7, 1e-4, 3e-6, 2e-6, 4e-6), strict=True))


def made(**changes: Any) -> PriceList:
    fields = {
        "machine": prices.fingerprint(),
        "device": "cpu",
        "threads": 1,
        "is_busy": False,
        "networks": 30,
        "batch": (1,),
        "prices": TRUE,
        "error": 0.05,
        "date": "2026-11-16",
    }
    return PriceList(**{**fields, **changes})


def timed(number: int = 12) -> list[Timed]:
    """Networks with times that the true prices give."""
    found = made()
    archs = [named.arch for named in calibrate.networks(number)]
    return [Timed(arch, batch, prices.predict(found, arch, batch)) for arch in archs for batch in (1, 32)]


@pytest.mark.parametrize("fixed", LIKES)
@pytest.mark.parametrize("batch", [1, 32])
def test_many_networks_are_predicted_at_once_as_one_by_one(fixed: dict[str, object], batch: int) -> None:
    networks, archs = drawn(fixed)
    expected = [prices.predict(made(), arch, batch) for arch in archs]
    found_n = prices.predict_n(made(), networks, costs(networks), batch)
    np.testing.assert_allclose(found_n, expected, rtol=1e-12, atol=0)


def test_quantities_are_those_counted_layer_by_layer() -> None:
    batch, tokens, width = 3, 5, 8
    found = dict(zip(prices.QUANTITIES, prices.quantities(ARCH, batch), strict=True))
    attention = sum(2 * heads * tokens * tokens * 4 for heads in (2, 2))
    assert not cost.folds("softmax", tokens, width, 4)
    projections = 4 * width * tokens * width * 2 + 2 * tokens * width * (16 + 24)
    linear = 4 * 16 * width + projections + width * 10
    assert found == {
        "call": 1,
        "layers": 2,
        "linear_macs": batch * linear,
        "attention_macs": batch * attention,
        "weights": cost.cost(ARCH).params,
        "heads": batch * 4,
        "norm_elements": batch * tokens * width * 5,
        "mlp_elements": batch * tokens * (16 + 24),
        "pairs": batch * 4 * tokens**2,
    }


@pytest.mark.parametrize("head_dim", [4, 64])
def test_multiply_adds_of_linear_maps_and_attention_are_all_there_are(head_dim: int) -> None:
    arch = Arch(head_dim=head_dim)
    assert cost.folds("softmax", arch.tokens, arch.width, head_dim) == (head_dim == 64)
    found = dict(zip(prices.QUANTITIES, prices.quantities(arch, 7), strict=True))
    whole = 7 * cost.cost(arch).macs + cost.cost(arch).pass_macs
    assert found["linear_macs"] + found["attention_macs"] == whole
    assert found["linear_macs"] > 0


def test_exact_times_give_the_true_prices_back_and_no_error() -> None:
    found, error = calibrate.fit(timed())
    assert found == pytest.approx(TRUE, rel=1e-6)
    assert error < 1e-8


def test_the_fit_minimises_relative_errors_over_prices_that_are_not_negative() -> None:
    random = np.random.default_rng(0)
    noisy = [one._replace(ms=one.ms * math.exp(random.normal(0, 0.3))) for one in timed()]
    found, error = calibrate.fit(noisy)
    rows = np.array([prices.quantities(one.arch, one.batch) for one in noisy]) / [[one.ms] for one in noisy]
    scale = np.linalg.norm(rows, axis=0)

    def loss(price: Any) -> tuple[float, Any]:
        residual = rows / scale @ price - 1
        return float(residual @ residual), 2 * (rows / scale).T @ residual

    bounds = [(0, None)] * len(scale)
    other = minimize(loss, np.full(len(scale), 0.1), jac=True, bounds=bounds, options={"maxiter": 10_000})
    assert loss(np.array(list(found.values())) * scale)[0] <= other.fun * (1 + 1e-6)
    assert min(found.values()) >= 0
    assert 0.05 < error < 0.6


def test_a_network_is_predicted_without_having_been_seen() -> None:
    """One arch with absurd times must not be explained by its other batch size."""
    honest = timed()
    odd = honest[-1].arch
    spoilt = [one._replace(ms=one.ms * 50) if one.arch == odd else one for one in honest]
    rows = calibrate._relative_quantities(spoilt)
    is_odd = np.array([one.arch == odd for one in spoilt])
    left_out = np.abs(rows[is_odd] @ calibrate._solve(rows[~is_odd]) - 1)
    assert left_out == pytest.approx([0.98, 0.98])


def test_calibration_networks_are_distinct_spread_and_always_the_same() -> None:
    found = [named.arch for named in calibrate.networks()]
    assert len(set(found)) == calibrate.NETWORKS
    assert found == [named.arch for named in calibrate.networks()]
    assert not set(found) & {named.arch for named in calibrate.networks(20, seed=1)}
    macs = [cost.cost(arch).macs for arch in found]
    assert macs == sorted(macs)
    assert macs[0] < 1e5 < 5e7 < macs[-1]
    assert {arch.tokens > cost.PAIRWISE_TOKENS for arch in found} == {True, False}
    assert {cost.cost(arch).pass_macs > 0 for arch in found} == {True, False}


def test_without_a_price_list_nothing_is_predicted() -> None:
    assert prices.predicted_ms(ARCH) is None
    assert prices.prediction_error() is None


def test_the_cache_folder_holds_a_file_per_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert location().parent == tmp_path / "vitruvius" / "prices"
    here = location()
    prices._machine.cache_clear()
    monkeypatch.setattr(prices, "fingerprint", lambda: {"processor": "another"})
    assert location() != here
    prices._machine.cache_clear()


def test_a_stored_price_list_predicts() -> None:
    prices.keep(made())
    by_hand = sum(price * n for price, n in zip(TRUE.values(), prices.quantities(ARCH, 4), strict=True))
    assert prices.predicted_ms(ARCH, 4) == pytest.approx(by_hand)
    assert prices.predicted_ms(ARCH.with_fields(kernel="linear")) is None
    assert prices.prediction_error() == 0.05
    prices.keep(made(error=0.5))
    assert prices.prediction_error() == 0.5


@pytest.mark.parametrize(
    "change",
    [
        {"machine": {"processor": "another"}},
        {"prices": {"call": 1.0}},
        {"error": -1},
        {"threads": "two"},
    ],
)
def test_prices_of_another_machine_and_damaged_ones_are_not_used(change: Any) -> None:
    path = prices.keep(made())
    files.write_json(path, {**files.read_object(path), **change})
    assert prices.predicted_ms(ARCH) is None
    path.write_text("{")
    assert prices.predicted_ms(ARCH) is None
