"""A compiled objective gives the numbers of the one it was made from, for each network its own."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import ViT
from vitruvius.objectives import Batch, Loss
from vitruvius.objectives.classify import classify
from vitruvius.training import compiling, onednn

CPU = torch.device("cpu")
Compiled = list[tuple[Any, dict[str, Any]]]


def network(**changed: Any) -> ViT:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "image": 8,
        "patch": 4,
        "width": 8,
        "heads": 2,
        "head_dim": 4,
        "depth": 1,
        "mlp": 8,
    }
    return ViT(Arch(**sizes | changed)).double().train()


def batch() -> Batch:
    source = torch.Generator().manual_seed(0)
    x = torch.randn(6, 1, 8, 8, generator=source, dtype=torch.float64)
    return Batch(x, torch.tensor([1, 7, 0, 0, 3, 9]))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiled]:
    """What torch.compile is given; its graphs are run as they were traced, which takes no C++ compiler."""
    found: Compiled = []
    compile_: Callable[..., Any] = torch.compile

    def traced(function: Any, options: dict[str, Any] | None = None, dynamic: bool | None = None) -> Any:
        found.append((function, options or {}))
        kept = {name: value for name, value in (options or {}).items() if name == "guard_filter_fn"}
        return compile_(function, backend="eager", options=kept, dynamic=dynamic)

    monkeypatch.setattr(torch, "compile", traced)
    torch.compiler.reset()
    yield found
    torch.compiler.reset()


@pytest.mark.parametrize(
    "options", [{}, {"label_smoothing": 0.1}, {"class_weights": torch.ones(10).double()}]
)
def test_network_and_loss_are_one_graph_with_the_same_numbers(
    seen: Compiled, options: dict[str, Any]
) -> None:
    measure: Any = partial(classify, **options) if options else classify
    model, source = network(), torch.Generator()
    counters = torch._dynamo.utils.counters
    counters.clear()
    compiled = compiling.compiled(model, measure, CPU)
    for _ in range(3):
        found, expected = (one(model, batch(), source) for one in (compiled, measure))
        assert torch.allclose(found.value, expected.value, rtol=1e-12, atol=0)
        assert found.correct == expected.correct
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]
    ((_, asked),) = seen
    assert asked["cpp_wrapper"]


def test_networks_that_are_trained_one_after_the_other_have_graphs_of_their_own(seen: Compiled) -> None:
    networks = [network(), network(width=16, dropout=0.9), network(depth=2)]
    source = torch.Generator()
    for _ in range(2):
        for model in networks:
            compiled = compiling.compiled(model, classify, CPU)
            torch.manual_seed(1)
            found = compiled(model, batch(), source).value
            torch.manual_seed(1)
            assert torch.allclose(found, classify(model, batch(), source).value, rtol=1e-12, atol=0)


def test_more_networks_are_compiled_than_torch_keeps_graphs_of_one_function(seen: Compiled) -> None:
    counters = torch._dynamo.utils.counters
    counters.clear()
    limit = torch._dynamo.config.recompile_limit
    for _ in range(limit + 2):
        model = network()
        compiling.compiled(model, classify, CPU)(model, batch(), torch.Generator())
    assert counters["stats"]["unique_graphs"] == limit + 2


@pytest.mark.parametrize("whole", [True, False], ids=["with its loss", "the network alone"])
def test_a_network_is_compiled_for_its_own_batches_after_another_had_larger_ones(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    sizes: list[Any] = []

    def backend(graph: Any, inputs: list[Any], **options: Any) -> Any:
        sizes.extend(size for each in inputs if isinstance(each, Tensor) for size in each.shape)
        sizes.extend(each for each in inputs if not isinstance(each, Tensor))
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    torch.compiler.reset()
    for count in (6, 4, 5):
        measure = compiling.compiled(network(), classify if whole else by_hand, CPU)
        x, y = batch().x[:count], (batch().y if whole else None)
        measure(network(), Batch(x, None if y is None else y[:count]), torch.Generator())
    torch.compiler.reset()
    assert all(isinstance(size, int) for size in sizes)
    assert {6, 4, 5} <= set(sizes)


def by_hand(model: nn.Module, batch: Batch, generator: torch.Generator | None) -> Loss:
    """The objective of a user."""
    return Loss(model(batch.x).square().mean())


def taught(x: Tensor) -> Tensor:
    return torch.zeros(len(x), 10, dtype=x.dtype)


@pytest.mark.parametrize("measure", [by_hand, partial(classify, teacher=taught)])
def test_of_other_objectives_and_teachers_the_network_alone_is_compiled(seen: Compiled, measure: Any) -> None:
    model, source = network(), torch.Generator()
    compiled = compiling.compiled(model, measure, CPU)
    assert seen == [(model, onednn.compiler_options())]
    expected = measure(model, batch(), source).value
    assert torch.allclose(compiled(model, batch(), source).value, expected, rtol=1e-12, atol=0)


def test_on_a_gpu_the_network_alone_is_compiled(seen: Compiled) -> None:
    model = network()
    compiling.compiled(model, classify, torch.device("cuda"))
    assert seen == [(model, {})]


@pytest.mark.slow
def test_compiled_gradients_are_those_of_autograd() -> None:
    model, source, found = network(depth=2), torch.Generator(), dict[bool, list[Tensor]]()
    for compiles in (False, True):
        measure = compiling.compiled(model, classify, CPU) if compiles else classify
        loss = measure(model, batch(), source)
        loss.value.backward()
        found[compiles] = [loss.value.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]
        model.zero_grad()
    for one, other in zip(found[False], found[True], strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)
