"""Reconstructing objectives against instances computed by hand and the assignment's published numbers."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.objectives import Batch, Loss
from vitruvius.objectives.denoise import denoise
from vitruvius.objectives.mask import corrupt, mask
from vitruvius.objectives.reconstruct import reconstruct


def halving() -> nn.Linear:
    """The map x -> x / 2 of two numbers."""
    model = nn.Linear(2, 2, bias=False)
    nn.init.eye_(model.weight)
    model.weight.data /= 2
    return model


X = torch.tensor([[2.0, 4.0], [0.0, 6.0]])
BATCH = Batch(X, None)


def test_reconstruct_sums_over_entries_and_averages_over_samples() -> None:
    """Errors (-1, -2) and (0, -3): (1 + 4 + 0 + 9) / 2 = 7; the slope of w11 is 2/2 (-1*2 + 0*0) = -2."""
    model = halving()
    loss = reconstruct(model, BATCH, None).value
    loss.backward()
    assert loss.item() == 7.0
    assert model.weight.grad is not None
    assert model.weight.grad.tolist() == [[-2.0, -4.0], [-4.0, -26.0]]


def test_the_penalty_is_that_of_equation_6_and_belongs_to_training_only() -> None:
    """Squared weights of x -> x / 2: 1/4 + 1/4; its slope is 2 lambda w."""
    model = halving()
    trained = reconstruct(model, BATCH, torch.Generator(), l2=0.3).value
    assert trained.item() == pytest.approx(7 + 0.3 * 0.5)
    trained.backward()
    assert model.weight.grad is not None
    torch.testing.assert_close(model.weight.grad, torch.tensor([[-2.0 + 0.3, -4.0], [-4.0, -26.0 + 0.3]]))
    assert reconstruct(model, BATCH, None, l2=0.3).value.item() == 7.0


def test_biases_are_not_penalised() -> None:
    model = Autoencoder(2, (3,), "identity")
    matrices = model.encoder[0].weight.square().sum() + model.decoder[0].weight.square().sum()  # type: ignore[operator]
    with_it, without = (
        reconstruct(model, BATCH, torch.Generator(), l2=weight).value for weight in (2.0, 0.0)
    )
    torch.testing.assert_close(with_it - without, 2 * matrices)


def test_denoise_compares_with_the_clean_input() -> None:
    model = halving()
    noise = torch.randn(2, 2, generator=torch.Generator().manual_seed(3))
    by_hand = sum(
        ((X[b, d] + 0.7 * noise[b, d]) / 2 - X[b, d]).item() ** 2 for b in range(2) for d in range(2)
    )
    found = denoise(model, BATCH, torch.Generator().manual_seed(3), noise=0.7).value
    assert found.item() == pytest.approx(by_hand / 2, rel=1e-6)


@pytest.mark.parametrize("counted", ["all", "masked", "visible"])
def test_mask_zeroes_entries_and_counts_the_chosen_ones(counted: str) -> None:
    model = halving()
    hidden = torch.rand(2, 2, generator=torch.Generator().manual_seed(4)) < 0.5
    assert 0 < hidden.sum() < 4
    total = 0.0
    for b in range(2):
        for d in range(2):
            answer = 0.0 if hidden[b, d] else X[b, d].item() / 2
            if counted == "all" or hidden[b, d] == (counted == "masked"):
                total += (answer - X[b, d].item()) ** 2
    found = mask(model, BATCH, torch.Generator().manual_seed(4), share=0.5, counted=counted)  # type: ignore[arg-type]
    assert found.value.item() == pytest.approx(total / 2)


def test_about_a_quarter_of_the_entries_is_hidden_and_the_others_stay_as_they_are() -> None:
    x = 1 + torch.rand(200, 500)
    seen = corrupt(x, torch.Generator().manual_seed(0)).x
    hidden = seen == 0
    assert hidden.double().mean().item() == pytest.approx(0.25, abs=5 * math.sqrt(0.25 * 0.75 / x.numel()))
    assert torch.equal(seen[~hidden], x[~hidden])


def fresh() -> Autoencoder:
    torch.manual_seed(2017)
    return Autoencoder(7, (5, 4))


@pytest.fixture(autouse=True)
def _own_randomness() -> object:
    with torch.random.fork_rng(devices=[]):
        yield


def drawn() -> Tensor:
    torch.manual_seed(2022)
    return torch.randn(2, 7)


def test_the_published_autoencoder_its_outputs_loss_and_gradient() -> None:
    model = fresh()
    x = drawn()
    loss = reconstruct(model, Batch(x, None), None).value
    assert loss.item() == pytest.approx(10.69554328918457, rel=1e-6)
    assert model(x).flatten()[7:11].tolist() == pytest.approx(
        [-0.10894767940044403, 0.41764578223228455, 0.21026797592639923, 0.08983835577964783], rel=1e-5
    )
    loss.backward()
    gradient = model.encoder[0].weight.grad
    assert isinstance(gradient, Tensor)
    assert gradient.flatten()[9:13].tolist() == pytest.approx(
        [0.026928527280688286, 0.10433877259492874, -0.023865919560194016, -0.1060301661491394], rel=1e-5
    )


@pytest.mark.parametrize(
    ("objective", "weights"),
    [
        (denoise, [-0.09830013662576675, -0.08394217491149902, 0.1265936940908432, 0.3746601641178131]),
        (mask, [-0.09830013662576675, -0.22797375917434692, 0.004662647843360901, 0.3852387070655823]),
    ],
)
def test_the_published_weights_after_one_step_of_sgd(
    objective: Callable[..., Loss], weights: list[float]
) -> None:
    model = fresh()
    x = drawn()
    objective(model, Batch(x, None), torch.default_generator).value.backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert model.state_dict()["encoder.0.weight"].flatten()[2:6].tolist() == pytest.approx(weights, rel=1e-4)
