"""Principal components against numpy, and trained linear autoencoders against their closed forms."""

import math

import numpy as np
import pytest
import torch

from vitruvius.nn.autoencoder import Autoencoder, build
from vitruvius.objectives import Batch
from vitruvius.objectives.reconstruct import reconstruct
from vitruvius.pretraining import pca
from vitruvius.pretraining.grid import Cell
from vitruvius.training.batches import Batches
from vitruvius.training.recipe import Augment

CELL = Cell("reconstruct", 2, 0)


def data(samples: int = 300) -> torch.Tensor:
    """Five features of falling variance, rotated, far from the origin."""
    source = torch.Generator().manual_seed(0)
    z = torch.randn(samples, 5, generator=source, dtype=torch.float64) * torch.tensor(
        [3.0, 2.0, 1.0, 0.5, 0.2]
    )
    rotation = torch.linalg.qr(torch.randn(5, 5, generator=source, dtype=torch.float64))[0]
    return z @ rotation + 4


def trained(x: torch.Tensor, latent: int, l2: float = 0.0, steps: int = 600) -> Autoencoder:
    """A linear autoencoder from a fixed seed, trained to its optimum by L-BFGS."""
    model = build(5, (latent,), "identity", seed=0).double()
    optimiser = torch.optim.LBFGS(
        model.parameters(),
        max_iter=steps,
        tolerance_grad=1e-10,
        tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = reconstruct(model, Batch(x, None), torch.Generator(), l2=l2).value
        loss.backward()
        return loss

    optimiser.step(closure)
    return model


def batches_of(x: torch.Tensor) -> Batches:
    return Batches(x, None, dtype=torch.float64)


def test_components_are_those_of_numpy() -> None:
    x = data()
    found = pca.fit([x[:100], x[100:]])
    values, vectors = np.linalg.eigh(np.cov(x.T.numpy(), bias=True))
    np.testing.assert_allclose(found.values_R, values[::-1], rtol=1e-9)
    np.testing.assert_allclose(abs(found.vectors_DR.T.numpy() @ vectors[:, ::-1]), np.eye(5), atol=1e-7)
    assert pca.variance([x[:7], x[7:]]) == pytest.approx(values.sum())


def test_what_components_leave_out_is_their_error() -> None:
    x = data()
    found = pca.fit([x])
    for count in range(6):
        kept = found.project(x, count) @ found.vectors_DR[:, :count].T + found.mean_D
        error = float((x - kept).square().sum(1).mean())
        assert found.left_out(count) == pytest.approx(error, abs=1e-9)
        assert found.error([x[:50], x[50:]], count) == pytest.approx(error, abs=1e-9)


def test_of_fewer_samples_than_features_the_components_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = data(samples=4)
    whole = pca.fit([x])
    monkeypatch.setattr(pca, "LARGEST", 4)
    few = pca.fit([x[:3], x[3:]])
    assert len(few.values_R) == 3  # four centred samples span three directions
    np.testing.assert_allclose(few.values_R, whole.values_R[:3], rtol=1e-9)
    np.testing.assert_allclose(abs(few.vectors_DR.T @ whole.vectors_DR[:, :3]), np.eye(3), atol=1e-7)
    fresh = data(samples=20)
    assert few.error([fresh], 3) == pytest.approx(whole.error([fresh], 3))
    assert pca.too_large(x) == ""
    assert "PCA of 20 samples of 5 entries is left out" in pca.too_large(fresh)


def test_a_narrow_layer_is_judged_by_what_it_lets_through() -> None:
    x = data()
    narrow = build(5, (1, 3), "identity", seed=0).double()
    found = pca.certify(CELL._replace(latent=3), narrow, (batches_of(x), batches_of(x)), pca.fit([x]), 0.0)
    assert found.optimum == pytest.approx(pca.fit([x]).left_out(1))
    assert len(found.angles) == 1


@pytest.mark.parametrize("x", [data(3), torch.full((3, 5), 4.0, dtype=torch.float64)])
def test_fewer_samples_than_directions_leave_every_number_finite(x: torch.Tensor) -> None:
    principal = pca.fit([x])._replace(values_R=torch.tensor([3.0, 1.0, 0.0, 0.0, 0.0]).double() * x.std())
    model = build(5, (4,), "identity", seed=0).double()
    found = pca.certify(CELL._replace(latent=4), model, (batches_of(x), batches_of(x)), principal, 0.0)
    assert found.eigengap is None
    assert math.isfinite(found.gap)


def test_shifted_images_are_not_judged_by_the_pca_of_unshifted_ones() -> None:
    x = data()
    shifted = Batches(x, None, dtype=torch.float64, augment=Augment(shift=1))
    assert (
        pca.certify(CELL, trained(x, 2, steps=5), (shifted, batches_of(x)), pca.fit([x]), 0.0).converged
        is None
    )


@pytest.mark.parametrize("latent", [1, 2, 3])
def test_a_trained_linear_autoencoder_reaches_pca(latent: int) -> None:
    x = data()
    found = pca.certify(
        CELL._replace(latent=latent),
        trained(x, latent),
        (batches_of(x), batches_of(x[:50])),
        pca.fit([x]),
        0.0,
    )
    assert abs(found.gap) < 1e-6
    assert found.converged is True
    assert len(found.angles) == latent
    assert max(found.angles) < 0.1
    assert found.val_loss == pytest.approx(found.val_optimum, rel=1e-3)


def test_an_untrained_one_does_not_and_is_said_not_to() -> None:
    x = data()
    model = build(5, (2,), "identity", 0).double()
    found = pca.certify(CELL, model, (batches_of(x), batches_of(x[:0])), pca.fit([x]), 0.0)
    assert found.converged is False
    assert found.gap > 0.5
    assert max(found.angles) > 10
    assert found.val_loss is None
    denoised = pca.certify(
        Cell("denoise", 2, 0), model, (batches_of(x), batches_of(x[:0])), pca.fit([x]), 0.0
    )
    assert denoised.converged is None


@pytest.mark.parametrize("l2", [0.05, 0.5, 3.0])
def test_a_penalised_one_reaches_its_closed_form(l2: float) -> None:
    """Directions whose variance is below the penalty are given up: at 3.0 the second one nearly is."""
    x = data()
    found = pca.certify(
        CELL, trained(x, 2, l2), (batches_of(x), batches_of(x[:0])), pca.fit([x]), l2
    ).penalised
    assert found is not None
    values = np.linalg.eigvalsh(np.cov(x.T.numpy(), bias=True))[::-1]
    kept = [max(0.0, 1 - l2 / value) for value in values[:2]]
    assert found.closed_form == pytest.approx([math.sqrt(p) for p in kept])
    by_hand = (
        sum(value * (1 - p) ** 2 + 2 * l2 * p for value, p in zip(values, kept, strict=False))
        + values[2:].sum()
    )
    assert found.optimum == pytest.approx(by_hand)
    assert found.objective == pytest.approx(found.optimum, rel=1e-6)
    assert found.encoder == pytest.approx(found.closed_form, abs=2e-3)
    assert found.decoder == pytest.approx(found.closed_form, abs=2e-3)


def test_a_latent_as_wide_as_the_data_has_no_angles_and_an_optimum_of_0() -> None:
    x = data()
    found = pca.certify(
        CELL._replace(latent=7), trained(x, 7, steps=60), (batches_of(x), batches_of(x)), pca.fit([x]), 0.0
    )
    assert found.optimum == 0
    assert found.angles == ()
    assert found.eigengap is None
    assert found.converged is True
