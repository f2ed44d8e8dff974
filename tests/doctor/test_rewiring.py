"""Loss functions that were taken before the watching began: each is seen once, and given back as it was."""

import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitruvius.checks import Criterion
from vitruvius.doctor import diagnose
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

LOSSES = {"ce": F.cross_entropy}
PARTIAL = functools.partial(F.cross_entropy, label_smoothing=0.1)
IN_A_TUPLE = (F.cross_entropy, 1.0)


def by_default(scores: Tensor, target: Tensor, loss: Callable[..., Tensor] = F.cross_entropy) -> Tensor:
    return loss(scores, target)


class Holds:
    criterion = staticmethod(F.cross_entropy)

    def __init__(self) -> None:
        self.loss = F.cross_entropy


def in_a_closure() -> Callable[[Tensor, Tensor], Tensor]:
    loss = F.cross_entropy
    return lambda scores, target: loss(scores, target)


HELD: dict[str, Callable[..., Any]] = {
    "dictionary": LOSSES["ce"],
    "default": by_default,
    "partial": PARTIAL,
    "tuple": IN_A_TUPLE[0],
    "attribute": Holds().loss,
    "static": Holds.criterion,
    "closure": in_a_closure(),
    "module": nn.CrossEntropyLoss(),
}


@pytest.mark.parametrize("way", HELD)
def test_a_loss_that_is_held_in_any_way_is_seen_once(way: str) -> None:
    scores, target = torch.randn(4, 3), torch.zeros(4, dtype=torch.long)
    alone, watcher = HELD[way](scores, target), Watcher()
    with installed(watcher):
        watched = HELD[way](scores, target)
    HELD[way](scores, target)
    assert torch.equal(alone, watched)
    assert [event.name for event in watcher.trace.of(Criterion)] == ["cross_entropy"]


def test_a_bug_is_found_with_a_loss_from_a_dictionary() -> None:
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Softmax(1)), torch.randn(8, 3)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    with diagnose.watch() as report:
        for _ in range(4):
            optimiser.zero_grad()
            LOSSES["ce"](net(x), x.argmax(1)).backward()
            optimiser.step()
    assert "double_softmax" in {finding.bug for finding in report.findings}


def test_watchers_inside_one_another_both_see_a_call() -> None:
    code, outer, inner = F.mse_loss.__code__, Watcher(), Watcher()
    with installed(outer):
        with installed(inner):
            F.mse_loss(torch.ones(2), torch.zeros(2))
        F.mse_loss(torch.ones(2), torch.zeros(2))
    assert [len(watcher.trace.of(Criterion)) for watcher in (outer, inner)] == [2, 1]
    assert F.mse_loss.__code__ is code
    assert not [name for name in vars(F) if name.startswith("_watched")]


def test_a_watcher_between_two_windows_leaves_the_code_of_one_inside_it() -> None:
    code, outer, inner = F.mse_loss.__code__, Watcher(), Watcher()
    with installed(outer):
        with installed(inner):
            outer.switch(False, False, False)
            F.mse_loss(torch.ones(2), torch.zeros(2))
        outer.switch(False, False, False)
        assert F.mse_loss.__code__ is code
        with installed(inner):
            outer.switch(True, True, True)
            F.mse_loss(torch.ones(2), torch.zeros(2))
        outer.switch(True, True, True)
        F.mse_loss(torch.ones(2), torch.zeros(2))
    assert [len(watcher.trace.of(Criterion)) for watcher in (outer, inner)] == [2, 2]
    assert F.mse_loss.__code__ is code


def test_the_function_keeps_its_identity_and_its_signature() -> None:
    own, signature = F.cross_entropy, inspect.signature(F.cross_entropy)
    with installed(Watcher()):
        assert F.cross_entropy is own
        assert inspect.signature(F.cross_entropy) == signature
        assert pickle.loads(pickle.dumps(own)) is own
    assert inspect.signature(F.cross_entropy) == signature
    assert "__signature__" not in vars(F.cross_entropy)


def test_a_subclass_that_calls_what_it_is_handed_is_seen_once() -> None:
    handed: list[Any] = []

    class Noting(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            handed.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    watcher, x = Watcher(), torch.ones(3).as_subclass(Noting)
    with installed(watcher):
        F.mse_loss(x, torch.zeros(3))
    assert F.mse_loss in handed
    assert len(watcher.trace.of(Criterion)) == 1


def test_a_loss_is_scripted_with_its_own_code() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.mse_loss(x, 2 * x)

    with installed(Watcher()):
        scripted = torch.jit.script(Net())
        assert float(scripted(torch.ones(3))) == 1.0
