"""What proxies share is computed once, on a network that is given back as it was."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import ViT


class Tally(torch.autograd.Function):
    """The identity, counting how often it is passed in each direction."""

    forwards = 0
    backwards = 0

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        Tally.forwards += 1
        return scores.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        Tally.backwards += 1
        return gradients[0]


class Counted(nn.Module):
    """A network that counts its passes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        Tally.forwards = Tally.backwards = 0

    def forward(self, x: Tensor) -> Tensor:
        return Tally.apply(self.model(x))


@pytest.mark.parametrize(
    ("names", "forwards", "backwards"),
    [
        (["grad_norm", "snip"], 1, 1),
        (["snip", "fisher", "naswot", "az_expressivity", "grad_norm"], 1, 1),
        (["naswot", "az_expressivity"], 1, 0),
        (["synflow", "logsynflow_abs", "dss"], 1, 1),
        (["zico"], 2, 2),
        (["jacob_cov"], 1, 1),
        (["ntk"], 5, 5),
        (["zen"], 32, 0),
        (["head_confidence", "key_confidence"], 1, 0),
        (["params", "depth", "width_sum"], 0, 0),
    ],
)
def test_proxies_cost_so_many_passes(
    model: ViT, x: Tensor, y: Tensor, names: list[str], forwards: int, backwards: int
) -> None:
    once = proxies.one_pass(Counted(model), x, y)
    for name in names:
        proxies.get(name)(once)
    assert (Tally.forwards, Tally.backwards) == (forwards, backwards)


def test_the_loss_is_the_mean_cross_entropy(model: ViT, x: Tensor, y: Tensor) -> None:
    expected = -sum(model(x).log_softmax(1)[image, label] for image, label in enumerate(y.tolist())) / 5
    assert torch.allclose(proxies.one_pass(model, x, y).loss, expected)


def test_a_parameter_that_takes_no_part_has_gradient_zero(model: ViT, x: Tensor, y: Tensor) -> None:
    model.register_parameter("idle", nn.Parameter(torch.ones(2, dtype=torch.float64)))
    assert proxies.one_pass(model, x, y).gradients["idle"].tolist() == [0, 0]


def test_it_works_where_gradients_are_off(model: ViT, x: Tensor, y: Tensor) -> None:
    expected = proxies.get("grad_norm")(proxies.one_pass(model, x, y))
    with torch.no_grad():
        assert proxies.get("grad_norm")(proxies.one_pass(model, x, y)) == expected


class Restless(nn.Module):
    """A network that draws numbers and changes its buffers even in evaluation mode; it may fail."""

    mean: Tensor
    count: Tensor

    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)
        self.fails = fails
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.mean += x.flatten(1).mean(0)
        self.count = self.count + 1
        if self.fails:
            raise ZeroDivisionError
        return self.head(x.flatten(1) + torch.randn(4))


def test_a_network_that_changes_its_buffers_gets_them_back() -> None:
    model = Restless()
    kept = dict(model.named_buffers())
    proxies.get("grad_norm")(proxies.one_pass(model, torch.ones(2, 1, 2, 2), torch.tensor([0, 1])))
    assert all(buffer is kept[name] and not buffer.any() for name, buffer in model.named_buffers())


def test_a_network_that_draws_numbers_is_repeatable_for_a_seed() -> None:
    model = Restless()
    passes = [
        proxies.one_pass(model, torch.ones(2, 1, 2, 2), torch.tensor([0, 1]), seed) for seed in (0, 0, 1)
    ]
    first, again, other = (once.loss.item() for once in passes)
    assert first == again != other


def test_a_network_that_fails_is_given_back_too() -> None:
    model = Restless(fails=True)
    model.head.requires_grad_(False)
    state = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError):
        proxies.get("grad_norm")(proxies.one_pass(model, torch.ones(2, 1, 2, 2), torch.tensor([0, 1])))
    assert model.training
    assert not model.mean.any()
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("model", "labels", "message"),
    [
        (nn.Identity(), [0, 1], r"\(2, classes\) scores; this one gives shape \(2, 1, 2, 2\)"),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(4, 2)),
            [0, 2],
            "labels go up to 2, the network has classes 0 to 1",
        ),
        (nn.Flatten(), [0, 1], "no parameter takes part"),
    ],
)
def test_a_network_that_cannot_be_scored_is_told_why(
    model: nn.Module, labels: list[int], message: str
) -> None:
    once = proxies.one_pass(model, torch.ones(2, 1, 2, 2), torch.tensor(labels))
    with pytest.raises(UserError, match=message):
        proxies.get("grad_norm")(once)


def test_a_fresh_copy_is_free_to_change(model: ViT, x: Tensor, y: Tensor) -> None:
    before = model.head.weight.tolist()
    once = proxies.one_pass(model.train(), x, y)
    copy = once.fresh_copy()
    copy.get_parameter("head.weight").data.zero_()
    assert not copy.training
    assert model.training
    assert model.head.weight.tolist() == before
