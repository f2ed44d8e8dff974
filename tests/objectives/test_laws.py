"""Laws that every objective obeys, run over the folder; each is also run against a member that breaks it.

The model is one square linear map, so that its output is as well four class scores as a reconstruction of
four numbers.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Generator, nn
from torch.nn.functional import mse_loss

from vitruvius import objectives
from vitruvius.core import plugins
from vitruvius.objectives import Batch, Loss

Objective = Callable[..., Loss]


def square(seed: int = 0) -> nn.Linear:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Linear(4, 4)


def samples(count: int = 24) -> Batch:
    """Four classes that a linear map can tell apart, and that it can reconstruct."""
    y = torch.arange(count) % 4
    x = 2 * nn.functional.one_hot(y, 4).float() + 0.1 * torch.randn(count, 4, generator=source(1))
    return Batch(x, y)


def source(seed: int = 0) -> Generator:
    return torch.Generator().manual_seed(seed)


def is_a_finite_scalar_with_gradients(objective: Objective) -> None:
    model = square()
    value = objective(model, samples(), source()).value
    assert value.shape == ()
    assert torch.isfinite(value)
    value.backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
    assert any(p.grad.abs().max() > 0 for p in model.parameters() if p.grad is not None)


def parts_add_up_to_the_whole(objective: Objective) -> None:
    model, (x, y, *_) = square(), samples()
    assert y is not None
    whole = objective(model, Batch(x, y), None).value
    parts = [(len(part), objective(model, Batch(part, labels), None).value) for part, labels in _cut(x, y, 7)]
    assert whole.item() == pytest.approx(
        sum(count * value.item() for count, value in parts) / len(x), rel=1e-5
    )


def is_the_same_for_the_same_generator(objective: Objective) -> None:
    model, batch = square(), samples()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = objective(model, batch, source(5)).value
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(objective(model, batch, source(5)).value, first)


def evaluates_the_input_as_it_is(objective: Objective) -> None:
    """Without a generator the model sees the very samples, and nothing else."""
    batch, seen = samples(), []
    model = square()
    model.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].clone()))
    objective(model, batch, None)
    assert len(seen) == 1
    assert torch.equal(seen[0], samples().x)


def leaves_the_batch_alone(objective: Objective) -> None:
    batch = samples()
    objective(square(), batch, source())
    assert torch.equal(batch.x, samples().x)


def falls_on_a_toy_set(objective: Objective) -> None:
    model, batch = square(), samples()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    first = objective(model, batch, None).value.item()
    for step in range(60):
        optimiser.zero_grad()
        objective(model, batch, source(step)).value.backward()
        optimiser.step()
    assert objective(model, batch, None).value.item() < 0.5 * first


LAWS: list[Callable[[Objective], None]] = [
    is_a_finite_scalar_with_gradients,
    parts_add_up_to_the_whole,
    is_the_same_for_the_same_generator,
    evaluates_the_input_as_it_is,
    leaves_the_batch_alone,
    falls_on_a_toy_set,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("member", plugins.members("objectives"))
def test_law(member: str, law: Callable[[Objective], None]) -> None:
    law(objectives.get(member))


def healthy(model: nn.Module, batch: Batch, generator: Generator | None, **options: Any) -> Loss:
    return Loss(mse_loss(model(batch.x), batch.x))


def per_sample(model: nn.Module, batch: Batch, generator: Generator | None, **options: Any) -> Loss:
    return Loss((model(batch.x) - batch.x).square().sum(1))


def summed(model: nn.Module, batch: Batch, generator: Generator | None, **options: Any) -> Loss:
    return Loss(mse_loss(model(batch.x), batch.x, reduction="sum"))


def drawn_from_the_global_generator(
    model: nn.Module, batch: Batch, generator: Generator | None, **options: Any
) -> Loss:
    return Loss(mse_loss(model(batch.x + torch.randn_like(batch.x)), batch.x))


def noisy_in_evaluation(model: nn.Module, batch: Batch, generator: Generator | None, **options: Any) -> Loss:
    noise = torch.randn(batch.x.shape, generator=generator or source())
    return Loss(mse_loss(model(batch.x + noise), batch.x))


def in_place(model: nn.Module, batch: Batch, generator: Generator | None, **options: Any) -> Loss:
    clean = batch.x.clone()
    return Loss(mse_loss(model(batch.x.mul_(0.5)), clean))


def unmoved(model: nn.Module, batch: Batch, generator: Generator | None, **options: Any) -> Loss:
    return Loss(1 + 0 * model(batch.x).sum())


FAULTS: dict[Callable[[Objective], None], Objective] = {
    is_a_finite_scalar_with_gradients: per_sample,
    parts_add_up_to_the_whole: summed,
    is_the_same_for_the_same_generator: drawn_from_the_global_generator,
    evaluates_the_input_as_it_is: noisy_in_evaluation,
    leaves_the_batch_alone: in_place,
    falls_on_a_toy_set: unmoved,
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_accepts_a_healthy_member_and_catches_a_faulty_one(law: Callable[[Objective], None]) -> None:
    law(healthy)
    with pytest.raises(AssertionError):
        law(FAULTS[law])


def _cut(x: torch.Tensor, y: torch.Tensor, place: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(x[:place], y[:place]), (x[place:], y[place:])]
