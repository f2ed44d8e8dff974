"""Laws that every optimiser obeys, run over the folder; three steps of each equal its closed form."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from vitruvius import optimisers
from vitruvius.arch.arch import Arch
from vitruvius.core import plugins
from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.nn.vit import build
from vitruvius.training import checkpoint

MEMBERS = list(plugins.members("optimisers"))
LR, DECAY = 0.01, 0.05


def linear() -> nn.Linear:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Linear(3, 2).double()


def step(model: nn.Linear, optimiser: torch.optim.Optimizer) -> float:
    """One step towards a linear map; returns the loss before it."""
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(1)).double()
    target = x @ torch.arange(6.0).double().view(3, 2) / 3 + 1
    loss = (model(x) - target).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()


@pytest.mark.parametrize("name", MEMBERS)
def test_the_loss_falls_on_a_toy_set(name: str) -> None:
    model = linear()
    optimiser = optimisers.build(name, model, LR, 0.0)
    losses = [step(model, optimiser) for _ in range(100)]
    assert losses[-1] < 0.5 * losses[0]


def adamw(w: Tensor, gradients: list[Tensor], decay: float) -> Tensor:
    m = v = torch.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - LR * decay * w
        w = w - LR * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return w


def sgd(w: Tensor, gradients: list[Tensor], decay: float) -> Tensor:
    m = torch.zeros_like(w)
    for gradient in gradients:
        g = gradient + decay * w
        m = 0.9 * m + g
        w = w - LR * (g + 0.9 * m)
    return w


def lion(w: Tensor, gradients: list[Tensor], decay: float) -> Tensor:
    m = torch.zeros_like(w)
    for g in gradients:
        w = w - LR * (torch.sign(0.9 * m + 0.1 * g) + decay * w)
        m = 0.99 * m + 0.01 * g
    return w


CLOSED_FORMS: dict[str, Callable[[Tensor, list[Tensor], float], Tensor]] = {
    "adamw": adamw,
    "sgd": sgd,
    "lion": lion,
}


@pytest.mark.parametrize("name", MEMBERS)
def test_three_steps_equal_their_closed_form_in_float64(name: str) -> None:
    model = linear()
    optimiser = optimisers.build(name, model, LR, DECAY)
    first = [p.detach().clone() for p in model.parameters()]
    gradients: list[list[Tensor]] = [[], []]
    for _ in range(3):
        step(model, optimiser)
        for seen, p in zip(gradients, model.parameters(), strict=True):
            assert p.grad is not None
            seen.append(p.grad.clone())
    for p, w, seen, decay in zip(model.parameters(), first, gradients, (DECAY, 0.0), strict=True):
        expected = CLOSED_FORMS[name](w, seen, decay)
        torch.testing.assert_close(p.detach(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_state_saves_and_loads_to_the_bit_as_plain_tensors(name: str) -> None:
    model = linear()
    optimiser = optimisers.build(name, model, LR, DECAY)
    for _ in range(5):
        step(model, optimiser)
    content = save(checkpoint._optimiser_tensors(optimiser))
    copy = linear()
    copy.load_state_dict(model.state_dict())
    resumed = optimisers.build(name, copy, LR, DECAY)
    checkpoint._fill_optimiser(resumed, load(content))
    for _ in range(5):
        assert step(model, optimiser) == step(copy, resumed)
    assert torch.equal(model.weight, copy.weight)


@pytest.mark.parametrize("name", MEMBERS)
def test_only_the_matrices_of_linear_maps_decay(name: str) -> None:
    model = build(Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8), seed=0)
    decaying, others = optimisers.build(name, model, LR, DECAY).param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert {names[id(parameter)] for parameter in decaying["params"]} == {
        "patch_map.weight",
        "layers.0.attention.qkv.weight",
        "layers.0.attention.out.weight",
        "layers.0.mlp.0.weight",
        "layers.0.mlp.3.weight",
        "head.weight",
    }
    assert (decaying["weight_decay"], others["weight_decay"]) == (DECAY, 0.0)
    assert len(decaying["params"]) + len(others["params"]) == len(names)


OWN = """
import torch
def plain(groups, lr):
    return torch.optim.SGD(groups, lr=lr)
def nothing(groups, lr):
    return None
def broken(groups, lr):
    return torch.optim.SGD(groups, lr=-1)
class Counting(torch.optim.SGD):
    def step(self, closure=None):
        super().step()
        self.state[self.param_groups[0]["params"][0]] = {"steps": 1}
def counting(groups, lr):
    return Counting(groups, lr=lr)
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own_optimisers.py").write_text(OWN)
    return str(tmp_path / "own_optimisers.py")


def test_a_users_own_optimiser_is_named_by_file(own: str) -> None:
    assert isinstance(optimisers.build(f"{own}:plain", linear(), LR, DECAY), torch.optim.SGD)


@pytest.mark.parametrize(("name", "message"), [("nothing", "returns NoneType"), ("broken", "learning rate")])
def test_a_fault_of_a_users_own_optimiser_is_a_sentence(own: str, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        optimisers.build(f"{own}:{name}", linear(), LR, DECAY)


def test_state_that_a_checkpoint_cannot_hold_is_named(own: str) -> None:
    model = linear()
    optimiser = optimisers.build(f"{own}:counting", model, LR, DECAY)
    step(model, optimiser)
    with pytest.raises(WorkFailed, match=r"Counting: its state 0\.steps is 1"):
        checkpoint._optimiser_tensors(optimiser)


def test_an_unknown_optimiser_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="no optimiser 'lionn': did you mean 'lion'"):
        optimisers.get("lionn")
