"""The laws of every kernel in the folder, in float64, and for each law a faulty kernel that it must catch.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width.
"""

import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from vitruvius import kernels
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.kernels import Edges, Kernel, Mask, _blocked, _features, quadratic, softmax

Law = Callable[[Kernel], None]


def draw(queries: int = 7, keys: int = 7, width: int = 3, batch: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Random q, k, v with two heads and values of width 2."""
    random = torch.Generator().manual_seed(0)
    sizes = ((queries, width), (keys, width), (keys, 2))
    q, k, v = (torch.randn(batch, 2, *size, dtype=torch.float64, generator=random) for size in sizes)
    return q, k, v


def some_visible(queries: int, keys: int) -> Tensor:
    """A bool mask (2, 1, N, M) in which every query sees its own and about half of the other keys."""
    random = torch.rand(2, 1, queries, keys, generator=torch.Generator().manual_seed(1))
    return (random > 0.5) | torch.eye(queries, keys, dtype=torch.bool)


def masks(queries: int = 7, keys: int = 7) -> dict[str, Mask]:
    """One mask of each kind that leaves every query something to see."""
    visible = some_visible(queries, keys)
    random = torch.Generator().manual_seed(2)
    bias = torch.randn(2, queries, keys, dtype=torch.float64, generator=random)
    target, source = visible[0, 0].nonzero(as_tuple=True)
    return {
        "none": None,
        "causal": "causal",
        "bool": visible,
        "float": bias.masked_fill(~visible[0], -torch.inf),
        "padding": torch.arange(keys) < max(1, keys - 2),
        "edges": Edges(source, target),
    }


def as_bool(mask: Mask, queries: int, keys: int) -> Tensor:
    """Which pairs a mask lets see each other, broadcastable to (B, H, N, M)."""
    everything = torch.ones(queries, keys, dtype=torch.bool)
    if mask is None:
        return everything
    if isinstance(mask, str):
        return everything.tril()
    if isinstance(mask, Edges):
        seen = torch.zeros_like(everything)
        seen[mask.target, mask.source] = True
        return seen
    return mask if mask.dtype == torch.bool else mask > -torch.inf


def near(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and torch.allclose(left, right, rtol=1e-10, atol=1e-10)


def attend_is_weights_times_values(kernel: Kernel) -> None:
    for queries, keys in ((7, 7), (4, 6), (6, 4)):
        q, k, v = draw(queries, keys)
        for name, mask in masks(queries, keys).items():
            assert near(kernel.attend(q, k, v, mask), kernel.weights(q, k, mask) @ v), name


def rows_sum_to_one(kernel: Kernel) -> None:
    q, k, _ = draw()
    for name, mask in masks().items():
        weights = kernel.weights(q, k, mask)
        assert (weights >= 0).all()
        assert near(weights.sum(-1), torch.ones(2, 2, 7, dtype=torch.float64)), name


def masked_weights_are_zero(kernel: Kernel) -> None:
    q, k, _ = draw()
    for name, mask in masks().items():
        hidden = ~as_bool(mask, 7, 7).expand(2, 2, 7, 7)
        assert (kernel.weights(q, k, mask)[hidden] == 0).all(), name


def a_row_without_keys_is_zero(kernel: Kernel) -> None:
    visible = some_visible(7, 7)[0, 0]
    visible[3] = False
    target, source = visible.nonzero(as_tuple=True)
    bias = torch.zeros(7, 7, dtype=torch.float64).masked_fill(~visible, -torch.inf)
    for mask in (visible, bias, Edges(source, target), torch.zeros(1, 7, dtype=torch.bool)):
        q, k, v = (x.requires_grad_() for x in draw())
        out = kernel.attend(q, k, v, mask)
        assert (out[:, :, 3] == 0).all()
        assert (kernel.weights(q, k, mask)[:, :, 3] == 0).all()
        gradients = torch.autograd.grad(out.sum() + 0 * (q.sum() + k.sum()), (q, k, v))
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert (gradients[0][:, :, 3] == 0).all()


def order_of_tokens_is_irrelevant(kernel: Kernel) -> None:
    q, k, v = draw(5, 7)
    out = kernel.attend(q, k, v)
    keys, queries = torch.tensor([3, 0, 6, 2, 5, 1, 4]), torch.tensor([4, 2, 0, 3, 1])
    assert near(kernel.attend(q, k[:, :, keys], v[:, :, keys]), out)
    assert near(kernel.attend(q[:, :, queries], k, v), out[:, :, queries])


def gradients_equal_finite_differences(kernel: Kernel) -> None:
    q, k, v = (x[:1].requires_grad_() for x in draw(4, 4))
    for mask in masks(4, 4).values():
        fixed = mask[:1] if isinstance(mask, Tensor) and mask.dim() == 4 else mask
        assert torch.autograd.gradcheck(partial(kernel.attend, mask=fixed), (q, k, v), raise_exception=False)
    if kernel.weights(q, k).requires_grad:
        assert torch.autograd.gradcheck(kernel.weights, (q, k), raise_exception=False)
    for size in ((2, 4, 4), (1, 4), (4, 1)):
        bias = torch.randn(
            size, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
        ).requires_grad_()
        assert torch.autograd.gradcheck(kernel.attend, (q, k, v, bias), raise_exception=False)


def one_visible_key_is_copied(kernel: Kernel) -> None:
    for width in (1, 3):
        q, k, v = draw(1, 1, width)
        assert near(kernel.attend(q, k, v), v)
        q, k, v = draw(5, 7, width)
        only = torch.zeros(7, dtype=torch.bool)
        only[4] = True
        assert near(kernel.attend(q, k, v, only), v[:, :, 4:5].expand(-1, -1, 5, -1))


def sizes_may_be_small_or_differ(kernel: Kernel) -> None:
    for queries, keys, width, batch in ((1, 5, 3, 2), (5, 1, 3, 2), (5, 7, 1, 2), (5, 7, 3, 0), (0, 7, 3, 2)):
        q, k, v = (x.requires_grad_() for x in draw(queries, keys, width, batch))
        seen = torch.ones(queries, keys, dtype=torch.bool)
        for mask in (None, "causal", seen, seen.double(), seen[:1], Edges(*seen.nonzero().flip(1).T)):
            out = kernel.attend(q, k, v, mask)
            assert out.shape == (batch, 2, queries, 2)
            assert kernel.weights(q, k, mask).shape == (batch, 2, queries, keys)
            assert all(
                x.isfinite().all()
                for x in torch.autograd.grad(out.sum() + 0 * (q.sum() + k.sum()), (q, k, v))
            )


def memory_layout_is_irrelevant(kernel: Kernel) -> None:
    tensors = draw()
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors]
    strided = [torch.stack([x, -x], -1)[..., 0] for x in tensors]
    for mask in (None, "causal", some_visible(7, 7)):
        for q, k, v in (turned, strided):
            assert near(kernel.attend(q, k, v, mask), kernel.attend(*tensors, mask))


def the_future_is_hidden_by_a_causal_mask(kernel: Kernel) -> None:
    for queries, keys in ((7, 7), (7, 9), (9, 7)):
        q, k, v = draw(queries, keys)
        out = kernel.attend(q, k, v, "causal")
        assert near(out, kernel.attend(q, k, v, torch.ones(queries, keys, dtype=torch.bool).tril()))
        for x in (q, k, v):
            x[:, :, 4:] += 1
        assert torch.equal(kernel.attend(q, k, v, "causal")[:, :, :4], out[:, :, :4])


def equivalent_masks_give_the_same(kernel: Kernel) -> None:
    q, k, v = draw(6, 7)
    visible = some_visible(6, 7)[0, 0]
    target, source = visible.nonzero(as_tuple=True)
    bias = torch.zeros(6, 7, dtype=torch.float64).masked_fill(~visible, -torch.inf)
    out = kernel.attend(q, k, v, visible)
    assert not near(out, kernel.attend(q, k, v))
    for mask in (
        bias,
        bias.float(),
        Edges(source.flip(0), target.flip(0)),
        Edges(source.int(), target.int()),
    ):
        assert near(kernel.attend(q, k, v, mask), out)
    for shape in ((7,), (1, 7), (6, 1), (2, 1, 7), (2, 1, 6, 7), (2, 1, 1, 7), (2, 2, 6, 7)):
        random = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
        for mask in (random, random > -1):
            assert near(kernel.attend(q, k, v, mask), kernel.attend(q, k, v, mask.expand(2, 2, 6, 7)))


def a_float_mask_counts_up_to_a_constant(kernel: Kernel) -> None:
    q, k, v = draw()
    bias = cast(Tensor, masks()["float"])
    out = kernel.attend(q, k, v, bias)
    for shift in (1e4, -1e4):
        assert torch.allclose(kernel.attend(q, k, v, bias + shift), out, rtol=1e-8, atol=1e-8)


def half_precision_is_weighed_in_full(kernel: Kernel) -> None:
    q, k, v = draw()
    for half in (torch.float16, torch.bfloat16):
        low = [x.to(half) for x in (4 * q, 4 * k, v)]
        out, reference = kernel.attend(*low), kernel.attend(*(x.double() for x in low))
        assert out.dtype == kernel.weights(*low[:2]).dtype == half
        assert torch.equal(kernel.attend(q=low[0], k=low[1], v=low[2]), out)
        # Products of 50 rounded to half precision would move the weights by several per cent.
        assert torch.allclose(out.double(), reference, rtol=torch.finfo(half).eps, atol=torch.finfo(half).eps)


def large_products_do_not_overflow(kernel: Kernel) -> None:
    for dtype in (torch.float32, torch.float16):
        q = torch.tensor([100.0, -100.0, 50.0], dtype=dtype).view(1, 1, 3, 1).requires_grad_()
        for mask in (None, "causal"):
            out = kernel.attend(q, q, q, mask)
            assert out.isfinite().all()
            assert kernel.weights(q, q, mask).isfinite().all()
            assert torch.autograd.grad(out.sum(), q)[0].isfinite().all()


def bad_input_is_refused_by_name(kernel: Kernel) -> None:
    q, k, v = draw(5, 7)
    index = torch.tensor([0, 1])
    bad: dict[str, Any] = {
        "did you mean 'causal'": "casual",
        r"\(5, 6\) does not broadcast .* = \(2, 2, 5, 7\)": torch.ones(5, 6, dtype=torch.bool),
        r"\(1, 1, 1, 1, 7\) does not broadcast": torch.zeros(1, 1, 1, 1, 7),
        "torch.int64": torch.ones(5, 7, dtype=torch.int64),
        "type list": [[True]],
        "source reaches from 0 to 7, expected indices of 7 keys": Edges(torch.tensor([0, 7]), index),
        "target reaches from -1 to 0, expected indices of 5 queries": Edges(index, torch.tensor([0, -1])),
        "edge from 1 to 0 is given more than once": Edges(torch.tensor([1, 1]), torch.tensor([0, 0])),
        r"source \(2,\) and target \(1,\)": Edges(index, index[:1]),
        "source has type torch.float32": Edges(index.float(), index),
    }
    for message, mask in bad.items():
        with pytest.raises(UserError, match=f"mask.*{message}|{message}"):
            kernel.attend(q, k, v, mask)
        with pytest.raises(UserError, match="mask"):
            kernel.weights(q, k, mask)
    for inputs in (
        (q[0], k[0], v[0]),
        (q, k[..., :2], v),
        (q, k, v[:, :, :6]),
        (q[:1], k, v),
        (q, k[:, :, :0], v[:, :, :0]),
    ):
        with pytest.raises(UserError, match=r"attention inputs q \("):
            kernel.attend(*inputs)


def compiling_changes_nothing(kernel: Kernel) -> None:
    q, k, v = (x.requires_grad_() for x in draw())
    for mask in (None, "causal"):
        torch.compiler.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler warns about itself
            out = torch.compile(kernel.attend, backend="aot_eager")(q, k, v, mask)
        expected = kernel.attend(q, k, v, mask)
        assert near(out, expected)
        (compiled,), (eager,) = (torch.autograd.grad(x.square().sum(), (v,)) for x in (out, expected))
        assert near(compiled, eager)


LAWS: list[Law] = [
    attend_is_weights_times_values,
    rows_sum_to_one,
    masked_weights_are_zero,
    a_row_without_keys_is_zero,
    order_of_tokens_is_irrelevant,
    gradients_equal_finite_differences,
    one_visible_key_is_copied,
    sizes_may_be_small_or_differ,
    memory_layout_is_irrelevant,
    the_future_is_hidden_by_a_causal_mask,
    equivalent_masks_give_the_same,
    a_float_mask_counts_up_to_a_constant,
    half_precision_is_weighed_in_full,
    large_products_do_not_overflow,
    bad_input_is_refused_by_name,
    compiling_changes_nothing,
]

KERNELS = {name: kernels.get(name) for name in plugins.members("kernels")}
for route in ("blocked", "features"):
    attend = partial(kernels.get("quadratic").attend, route=route)
    KERNELS[f"quadratic-{route}"] = cast(Kernel, SimpleNamespace(weights=quadratic.weights, attend=attend))


def named(value: Any) -> str:
    return cast(str, value.__name__)


@pytest.fixture(params=["as shipped", "tiny blocks"])
def block_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels as they are, and with every size from which long inputs are split set to a few tokens."""
    if request.param == "tiny blocks":
        monkeypatch.setattr(softmax, "EXPLICIT_KEYS", 0)
        monkeypatch.setattr(_blocked, "STORED_PAIRS", 0)
        monkeypatch.setattr(_blocked, "BLOCK_SCORES", 20)
        monkeypatch.setattr(_blocked, "BLOCK_ROWS", 2)
        monkeypatch.setattr(_features, "CHUNK_COLUMNS", 6)
        monkeypatch.setattr(_features, "SHARING_HEADS", 3)


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("law", LAWS, ids=named)
def test_law(law: Law, kernel: Kernel) -> None:
    law(kernel)


def spoilt_weights(change: Callable[[Tensor], Tensor]) -> Kernel:
    return cast(
        Kernel, SimpleNamespace(weights=lambda *x: change(softmax.weights(*x)), attend=softmax.attend)
    )


def spoilt(attend: Callable[..., Tensor]) -> Kernel:
    return cast(Kernel, SimpleNamespace(weights=softmax.weights, attend=attend))


def half_products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v


def naive_exponential(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    power = (q @ k.mT).exp()
    return power @ v / power.sum(-1, keepdim=True)


def dead_rows_get_the_mean(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    blind = softmax.weights(q, k, mask).sum(-1, keepdim=True) == 0
    return softmax.attend(q, k, v, mask) + blind * v.mean(2, keepdim=True)


def ignores_strides(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    return softmax.attend(q.as_strided(q.shape, torch.empty(q.shape).stride()), k, v, mask)


def forgives(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    try:
        return softmax.attend(q, k, v, mask)
    except UserError:
        return v


FAULTS: dict[Law, Kernel] = {
    attend_is_weights_times_values: spoilt(lambda *x: softmax.attend(*x) * (1 + 1e-6)),
    rows_sum_to_one: spoilt_weights(lambda w: w * (1 - 1e-6)),
    masked_weights_are_zero: spoilt_weights(lambda w: w.clamp(min=1e-12)),
    a_row_without_keys_is_zero: spoilt(dead_rows_get_the_mean),
    order_of_tokens_is_irrelevant: spoilt(lambda q, k, v: softmax.attend(q, k, v, torch.arange(7.0))),
    gradients_equal_finite_differences: spoilt(
        lambda q, k, v, mask=None: softmax.attend(q, k.detach(), v, mask)
    ),
    one_visible_key_is_copied: spoilt(lambda *x: softmax.attend(*x) + 1e-6),
    sizes_may_be_small_or_differ: spoilt(lambda *x: softmax.attend(*x).squeeze(2)),
    memory_layout_is_irrelevant: spoilt(ignores_strides),
    the_future_is_hidden_by_a_causal_mask: spoilt(
        lambda q, k, v, m: softmax.attend(q, k, v, None if m == "causal" else m)
    ),
    equivalent_masks_give_the_same: spoilt(
        lambda q, k, v, m=None: softmax.attend(q, k, v, None if isinstance(m, Edges) else m)
    ),
    a_float_mask_counts_up_to_a_constant: spoilt(
        lambda q, k, v, m: softmax.attend(q, k, v, m.clamp(max=100.0))
    ),
    half_precision_is_weighed_in_full: spoilt(half_products),
    large_products_do_not_overflow: spoilt(naive_exponential),
    bad_input_is_refused_by_name: spoilt(forgives),
    compiling_changes_nothing: spoilt(lambda *x: softmax.attend(*x) + torch.compiler.is_compiling()),
}


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_each_law_catches_its_planted_fault(law: Law) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        law(FAULTS[law])
