"""Averaged weights: the closed form in float64, and that the model gets its own weights back to the bit."""

import torch
from torch import nn

from vitruvius.training.average import Average


def test_the_average_is_the_closed_form_of_all_weights() -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 2).double()
    average, decay = Average(model, 0.9), 0.9
    seen = [model.weight.detach().clone()]
    for step in range(1, 120):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 3, dtype=torch.float64))
        average.update(model, step)
        seen.append(model.weight.detach().clone())
    expected, left = torch.zeros(2, 3, dtype=torch.float64), 1.0
    for step in range(119, -1, -1):  # each weight counts its share times all decays behind it
        kept = min(decay, (1 + step) / (10 + step)) if step else 0.0
        expected += left * (1 - kept) * seen[step]
        left *= kept
    torch.testing.assert_close(average.weights["weight"], expected, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(expected, seen[-1])


def test_the_model_has_the_average_inside_and_its_own_bits_behind() -> None:
    model = nn.Linear(3, 2)
    average = Average(model, 0.5)
    with torch.no_grad():
        model.weight.add_(1.0)
    own = model.weight.detach().clone()
    average.update(model, 1)
    with average.applied(model):
        assert torch.equal(model.weight, average.weights["weight"])
        assert not torch.equal(model.weight, own)
    assert torch.equal(model.weight, own)
    other = Average(nn.Linear(3, 2), 0.5)
    other.load(average.weights)
    assert torch.equal(other.weights["bias"], average.weights["bias"])
