"""The laws of every proxy, on a small ViT, and for each law a faulty proxy that it must catch."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import plugins
from vitruvius.nn.attention import MultiHeadAttention, in_full
from vitruvius.nn.vit import ViT, build
from vitruvius.proxies import OnePass, Proxy

Law = Callable[[Proxy], None]
NAMES = list(plugins.members("proxies"))

pytestmark = pytest.mark.usefixtures("few_draws")


def network() -> ViT:
    """Build a ViT in mixed modes with dropout, partly frozen, with old gradients and a buffer."""
    arch = Arch(
        image=8, classes=3, patch=4, width=8, depth=2, heads=2, mlp=12, positions="sinusoidal", dropout=0.3
    )
    model = build(arch, seed=0).train()
    model.layers[0].eval()
    model.head.requires_grad_(False)
    model.patch_map.weight.grad = torch.ones_like(model.patch_map.weight)
    return model


def minibatch() -> tuple[Tensor, Tensor]:
    return torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(1)), torch.tensor(
        [0, 1, 2, 2, 1, 0]
    )


def score(proxy: Proxy, model: nn.Module, seed: int = 0) -> float:
    return proxy(proxies.one_pass(model, *minibatch(), seed=seed))


def start_generators(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def is_a_finite_float(proxy: Proxy) -> None:
    value = score(proxy, network())
    assert type(value) is float
    assert math.isfinite(value)


def is_repeatable(proxy: Proxy) -> None:
    """Whatever the global generators, and whatever the proxy computed before."""
    values = set()
    for start in range(3):
        start_generators(start)
        values.add(score(proxy, network(), seed=7))
    assert len(values) == 1


def sees_evaluation_mode(proxy: Proxy) -> None:
    assert score(proxy, network().train()) == score(proxy, network().eval())


def leaves_shared_parts_alone(proxy: Proxy) -> None:
    """All others score the same before and after it on one OnePass."""
    once = proxies.one_pass(network(), *minibatch())
    before = {name: proxies.get(name)(once) for name in NAMES}
    proxy(once)
    assert {name: proxies.get(name)(once) for name in NAMES} == before


def leaves(state: Callable[[nn.Module], Any]) -> Law:
    """The law that some state is as it was."""

    def law(proxy: Proxy) -> None:
        model = network()
        start_generators(99)  # where no proxy leaves them by accident
        before = state(model)
        score(proxy, model)
        assert state(model) == before

    law.__name__ = f"leaves_{state.__name__}"
    return law


def weights(model: nn.Module) -> list[Any]:
    return [(name, id(parameter), parameter.tolist()) for name, parameter in model.named_parameters()]


def buffers(model: nn.Module) -> list[Any]:
    return [(name, id(buffer), buffer.tolist()) for name, buffer in model.named_buffers()]


def old_gradients(model: nn.Module) -> list[Any]:
    return [None if p.grad is None else (id(p.grad), p.grad.tolist()) for p in model.parameters()]


def modes(model: nn.Module) -> list[bool]:
    return [module.training for module in model.modules()]


def flags(model: nn.Module) -> list[bool]:
    return [parameter.requires_grad for parameter in model.parameters()]


def generators(model: nn.Module) -> tuple[Any, ...]:
    return torch.get_rng_state().tolist(), str(np.random.get_state()), random.getstate()


def hooks(model: nn.Module) -> list[Any]:
    of_modules = [
        [dict(v) for k, v in vars(module).items() if k.endswith("_hooks")] for module in model.modules()
    ]
    of_all = [
        dict(v)
        for k, v in vars(nn.modules.module).items()
        if k.startswith("_global") and k.endswith("_hooks")
    ]
    return [of_modules, of_all, [parameter._backward_hooks for parameter in model.parameters()]]


STATES = (weights, buffers, old_gradients, modes, flags, generators, hooks)
LAWS: list[Law] = [
    is_a_finite_float,
    is_repeatable,
    sees_evaluation_mode,
    leaves_shared_parts_alone,
    *(leaves(state) for state in STATES),
]


@pytest.fixture(autouse=True)
def _generators_are_restored() -> Any:
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    yield
    torch.set_rng_state(before[0])
    np.random.set_state(before[1])
    random.setstate(before[2])


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_every_proxy_obeys(name: str, law: Law) -> None:
    law(proxies.get(name))


def _planted(fault: Callable[[OnePass], Any]) -> Proxy:
    """A proxy that scores 1.0, and does something else besides."""

    def proxy(once: OnePass) -> float:
        fault(once)
        return 1.0

    return proxy


def _change_a_weight(once: OnePass) -> None:
    once.model.get_parameter("head.bias").data[0] += 1


def _change_a_buffer(once: OnePass) -> None:
    once.model.get_buffer("positions")[0, 0, 0] += 1


def _run_backward(once: OnePass) -> None:
    once.model(once.x).sum().backward()


def _train_frozen_parameters(once: OnePass) -> None:
    once.model.requires_grad_(True)


def _leave_a_hook(once: OnePass) -> None:
    once.model.register_forward_hook(lambda module, inputs, output: None)


def _leave_a_global_hook(once: OnePass) -> None:
    handle = nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    LEFT_BEHIND.append(handle)


LEFT_BEHIND: list[Any] = []
FAULTS: list[tuple[str, Proxy]] = [
    ("is_a_finite_float", lambda once: math.nan),
    ("is_a_finite_float", lambda once: torch.ones(())),  # type: ignore[list-item, return-value]
    ("is_repeatable", lambda once: torch.rand(()).item()),
    ("is_repeatable", lambda once: random.random()),
    ("is_repeatable", lambda once: np.random.rand()),
    ("sees_evaluation_mode", lambda once: once.model(once.x).sum().item()),
    ("leaves_shared_parts_alone", _planted(lambda once: once.gradients["head.bias"].mul_(2))),
    ("leaves_shared_parts_alone", _planted(lambda once: once.flow.weights["head.weight"].zero_())),
    ("leaves_weights", _planted(_change_a_weight)),
    ("leaves_buffers", _planted(_change_a_buffer)),
    ("leaves_old_gradients", _planted(_run_backward)),
    ("leaves_modes", _planted(lambda once: once.model.eval())),
    ("leaves_flags", _planted(_train_frozen_parameters)),
    ("leaves_generators", _planted(lambda once: torch.rand(1))),
    ("leaves_generators", _planted(lambda once: np.random.rand())),
    ("leaves_generators", _planted(lambda once: random.random())),
    ("leaves_hooks", _planted(_leave_a_hook)),
    ("leaves_hooks", _planted(_leave_a_global_hook)),
]


@pytest.mark.parametrize(("law", "proxy"), FAULTS)
def test_every_law_catches_a_planted_fault(law: str, proxy: Proxy) -> None:
    (broken,) = [known for known in LAWS if known.__name__ == law]
    try:
        with pytest.raises(AssertionError):
            broken(proxy)
    finally:
        while LEFT_BEHIND:
            LEFT_BEHIND.pop().remove()


def test_every_law_has_a_planted_fault() -> None:
    assert {law for law, _ in FAULTS} == {law.__name__ for law in LAWS}


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_products_in_wide_heads_changes_no_score(name: str) -> None:
    sizes = {"image": 8, "classes": 3, "patch": 4, "width": 8, "depth": 2, "heads": 2, "mlp": 12}
    model = build(Arch(**sizes, head_dim=8, qkv_bias=True), seed=0).double()
    assert cost.cost(model.arch).pass_macs
    x, y = minibatch()
    folded = proxies.get(name)(proxies.one_pass(model, x.double(), y))
    with in_full(model):
        plain = proxies.get(name)(proxies.one_pass(model, x.double(), y))
    assert folded == pytest.approx(plain, rel=1e-9)


def test_recorded_linear_maps_are_those_of_the_parameters() -> None:
    model = build(Arch(image=8, classes=3, patch=4, width=8, depth=2, heads=2, head_dim=8), seed=0)
    once = proxies.one_pass(model, *minibatch())
    weights = {id(call.weight) for call in once.activations.linear}
    assert {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)} == weights
    assert all(
        part.may_fold and part.may_skip for part in model.modules() if isinstance(part, MultiHeadAttention)
    )
