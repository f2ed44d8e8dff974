"""oneDNN computes the same products as MKL, to rounding, on processors where it is the faster one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import ViT
from vitruvius.objectives import Batch
from vitruvius.objectives.classify import classify
from vitruvius.training import compiling, device, onednn, side_by_side

CPU = torch.device("cpu")
aten = torch.ops.aten
Replaced = Callable[..., tuple[int, Any]]


def cpuinfo(folder: Path, vendor: str) -> Path:
    path = folder / vendor
    path.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: one\n")
    return path


@pytest.fixture
def amd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A processor with AVX-512 that Intel has not made, whatever computes this."""
    monkeypatch.setattr(onednn, "CPUINFO", cpuinfo(tmp_path, "AuthenticAMD"))
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)


@pytest.fixture
def all_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "LEAST", 0)


def random(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


@pytest.mark.usefixtures("amd")
def test_it_is_faster_on_processors_with_avx512_that_intel_has_not_made() -> None:
    assert onednn.is_faster()


@pytest.mark.usefixtures("amd")
@pytest.mark.parametrize("missing", ["avx512", "mkl", "oneDNN", "other vendor"])
def test_mkl_stays_where_it_is_as_fast_or_the_only_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    if missing == "avx512":
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    elif missing == "mkl":
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    elif missing == "oneDNN":
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    else:
        monkeypatch.setattr(onednn, "CPUINFO", cpuinfo(tmp_path, "GenuineIntel"))
    assert not onednn.is_faster()
    assert onednn.compiler_options() == {}
    with torch.no_grad(), onednn.in_evaluation() as mode:
        assert mode is None


@pytest.mark.usefixtures("amd")
@pytest.mark.filterwarnings("ignore:TF32")
def test_who_turns_onednn_off_in_torch_turns_it_off_here() -> None:
    with torch.backends.mkldnn.flags(enabled=False):
        assert not onednn.is_faster()


@pytest.mark.parametrize(
    ("name", "faster"), [("Intel64 Family 6, GenuineIntel", False), ("AMD64, AuthenticAMD", True)]
)
@pytest.mark.usefixtures("amd")
def test_without_cpuinfo_the_platform_names_the_vendor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, faster: bool
) -> None:
    monkeypatch.setattr(onednn, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr("platform.processor", lambda: name)
    onednn._vendor.cache_clear()
    assert onednn.is_faster() is faster


@pytest.mark.parametrize("faster", [True, False])
def test_what_multiplies_is_part_of_what_the_bits_depend_on(
    monkeypatch: pytest.MonkeyPatch, faster: bool
) -> None:
    monkeypatch.setattr(onednn, "is_faster", lambda: faster)
    assert device.fingerprint(1, 1)["onednn_products"] is faster


def replaced(function: Callable[..., Any], *given: Tensor) -> tuple[int, Any]:
    """Trace a function, let oneDNN compute its products; return their number and what the graph finds."""
    traced = make_fx(function, tracing_mode="fake")(*given)
    count = onednn.replace_products(traced.graph)
    traced.graph.lint()
    traced.recompile()
    return count, traced(*given)


LEFT, RIGHT, BIAS = random(48, 20), random(20, 36), random(36)
PRODUCTS: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "as they are": (lambda a, b: a @ b, (LEFT, RIGHT)),
    "right transposed": (lambda a, b: a @ b.T, (LEFT, random(36, 20))),
    "left transposed": (lambda a, b: a.T @ b, (random(20, 48), RIGHT)),
    "left transposed and small": (lambda a, b: a.T @ b, (random(20, 4), RIGHT)),
    "both transposed": (lambda a, b: a.T @ b.T, (random(20, 48), random(36, 20))),
    "with a bias": (lambda c, a, b: torch.addmm(c, a, b), (BIAS, LEFT, RIGHT)),
    "with a bias, left transposed": (lambda c, a, b: torch.addmm(c, a.T, b), (BIAS, random(20, 48), RIGHT)),
}


@pytest.mark.usefixtures("all_pay")
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_in_a_graph_is_the_product(name: str) -> None:
    function, given = PRODUCTS[name]
    count, found = replaced(function, *given)
    assert count == 1
    exact = function(*(each.double() for each in given))
    assert found.shape == exact.shape
    assert torch.allclose(found.double(), exact, rtol=0, atol=1e-5)


OTHERS: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "rows cut out of a larger tensor": (lambda a, b: a[:, 0] @ b, (random(48, 2, 20), RIGHT)),
    "another type": (lambda a, b: a @ b, (LEFT.double(), RIGHT.double())),
    "a bias that is a matrix": (lambda c, a, b: torch.addmm(c, a, b), (random(48, 36), LEFT, RIGHT)),
    "a factor": (lambda c, a, b: torch.addmm(c, a, b, alpha=2), (BIAS, LEFT, RIGHT)),
    "batches": (lambda a, b: a @ b, (random(3, 48, 20), random(3, 20, 36))),
}


@pytest.mark.usefixtures("all_pay")
@pytest.mark.parametrize("name", OTHERS)
def test_other_products_are_left_as_they_are(name: str) -> None:
    function, given = OTHERS[name]
    count, found = replaced(function, *given)
    assert count == 0
    assert torch.equal(found, function(*given))


def test_small_products_are_left_to_mkl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    half = 48 * 20 * 36 // 2
    for least, count in ((half, 1), (half + 1, 0)):
        monkeypatch.setattr(onednn, "LEAST", least)
        assert replaced(lambda a, b: a @ b, LEFT, RIGHT)[0] == count


@pytest.mark.usefixtures("all_pay")
def test_no_product_of_unknown_size_is_replaced() -> None:
    traced = make_fx(lambda a, b: a @ b, tracing_mode="symbolic")(LEFT, RIGHT)
    assert onednn.replace_products(traced.graph) == 0


@pytest.mark.usefixtures("amd", "all_pay")
@pytest.mark.parametrize("bias", [True, False])
def test_linear_maps_of_an_evaluation_are_computed_by_onednn(
    monkeypatch: pytest.MonkeyPatch, bias: bool
) -> None:
    called: list[Tensor] = []
    linear = torch.ops.mkldnn._linear_pointwise

    def counted(*given: Any) -> Tensor:
        called.append(given[0])
        found: Tensor = linear(*given)
        return found

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", counted)
    model, x_SNK = nn.Linear(20, 36, bias=bias), random(8, 3, 20)

    def compute(sample_B: Tensor) -> Tensor:
        found: Tensor = model(x_SNK[sample_B])
        return found

    found = torch.cat(list(side_by_side.evaluated(compute, torch.arange(8), 4, CPU)))
    assert len(called) >= 2
    assert torch.allclose(found, model(x_SNK), rtol=0, atol=1e-5)
    assert len(called) <= 8  # not with gradients


@pytest.mark.usefixtures("amd", "all_pay")
def test_an_evaluation_in_another_type_is_left_alone() -> None:
    x, weight = random(8, 20), random(36, 20)
    with torch.no_grad(), onednn.in_evaluation():
        exact = functional.linear(x.double(), weight.double())
        assert exact.dtype == torch.float64
        with torch.autocast("cpu", torch.bfloat16):
            assert functional.linear(x, weight).dtype == torch.bfloat16
        assert functional.linear(x.to("meta"), weight.to("meta")).device.type == "meta"
    assert torch.equal(exact, x.double() @ weight.double().T)


@pytest.mark.usefixtures("amd", "all_pay")
def test_a_linear_map_keeps_its_gradients() -> None:
    x, weight = random(8, 20), random(36, 20).requires_grad_()
    with onednn.in_evaluation():
        functional.linear(x, weight).sum().backward()
    assert weight.grad is not None
    assert torch.allclose(weight.grad, x.sum(0).expand(36, 20), rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("amd", "all_pay")
@pytest.mark.parametrize("alone", [True, False], ids=["network with loss", "network alone"])
def test_compiled_gradients_are_those_of_float64(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: bool
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))  # a kept graph is not made anew
    counts: list[int] = []
    replace = onednn.replace_products
    monkeypatch.setattr(onednn, "replace_products", lambda graph: counts.append(replace(graph)))
    torch.manual_seed(0)
    arch = Arch(image=8, patch=4, width=8, heads=2, head_dim=8, depth=2, mlp=12)
    model, source = ViT(arch).train(), torch.Generator()
    batch = Batch(random(6, 1, 8, 8), torch.tensor([1, 7, 0, 0, 3, 9]))

    def by_hand(model: nn.Module, batch: Batch, generator: torch.Generator | None) -> Any:
        return classify(model, batch, generator)

    measure = classify if alone else by_hand
    found = gradients(model, compiling.compiled(model, measure, CPU)(model, batch, source).value)
    assert len(counts) == 2
    assert min(counts) > 0
    exact = model.double()
    wide = Batch(batch.x.double(), batch.y)
    for one, other in zip(found, gradients(exact, classify(exact, wide, source).value), strict=True):
        assert torch.allclose(one.double(), other, rtol=0, atol=1e-6)


def gradients(model: nn.Module, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters())))
