r"""Products of float32 matrices by oneDNN, on CPUs whose AVX-512 instructions MKL leaves unused.

torch gives such products to Intel's MKL, which uses AVX-512 on Intel's own processors only. On others oneDNN,
which is a part of torch as well, takes about half the time: 544 x 64 times 64 x 512 takes two threads of an
AMD EPYC 89 instead of 170 microseconds, its gradients 86 and 116 instead of 173 and 210 (benchmarks/products,
19 November 2026).
torch has no setting for that: `compiler_options` chooses for torch.compile, `in_evaluation` elsewhere.
"""

import platform
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor, fx
from torch.nn import functional
from torch.overrides import TorchFunctionMode

LEAST = 2**21
"""Multiply-adds per thread below which oneDNN's longer start is not repaid (the same processor)."""
INTEL = "GenuineIntel"
CPUINFO = Path("/proc/cpuinfo")


def is_faster() -> bool:
    """Whether oneDNN multiplies matrices here where torch would let MKL do it without AVX-512."""
    backends: Any = torch.backends
    has_both = backends.mkl.is_available() and backends.mkldnn.is_available() and backends.mkldnn.enabled
    has_unused_instructions = backends.cpu.get_cpu_capability() == "AVX512" and _vendor(CPUINFO) != INTEL
    return bool(has_both and has_unused_instructions and hasattr(torch.ops.mkldnn, "_linear_pointwise"))


def in_evaluation() -> AbstractContextManager[Any]:
    """Return a context in which linear maps without gradients are computed by oneDNN, if it is faster."""
    return _LinearMaps() if is_faster() else nullcontext()


def compiler_options() -> dict[str, Any]:
    """Return the options with which torch.compile gives large products to oneDNN, if it is faster."""
    return {"post_grad_custom_post_pass": _graph_pass()} if is_faster() and _is_known_compiler() else {}


def replace_products(graph: fx.Graph) -> int:
    """Let oneDNN compute the large products of a graph of aten operations; return how many these are.

    oneDNN wants the rows of the first matrix one after the other; the second may be transposed. Where the
    first is transposed, as in the gradients of weights, the transposed product is computed, if less has to be
    copied for it.
    """
    aten, replaced = torch.ops.aten, 0
    for node in list(graph.nodes):
        if node.target not in (aten.mm.default, aten.addmm.default) or node.kwargs:
            continue
        *bias, left, right = node.args
        left_RK, right_KC = left.meta["val"], right.meta["val"]
        if not _suits(left_RK, right_KC) or (bias and bias[0].meta["val"].dim() != 1):
            continue
        turned = not bias and not left_RK.is_contiguous() and _is_cheaper_turned(left_RK, right_KC)
        with graph.inserting_before(node):
            x, weight = (_transposed(right), left) if turned else (left, _transposed(right))
            found = _call(graph, torch.ops.vitruvius.linear.default, x, weight, bias[0] if bias else None)
            node.replace_all_uses_with(_transposed(found) if turned else found)
        graph.erase_node(node)
        replaced += 1
    return replaced


def _suits(left_RK: Tensor, right_KC: Tensor) -> bool:
    """Whether the product is one of float32 matrices without gaps in memory that is large enough."""
    sizes = (*left_RK.shape, right_KC.shape[1])
    if left_RK.dtype != torch.float32 or not all(isinstance(size, int) for size in sizes):
        return False
    # With 32 rows that are cut out of a larger tensor oneDNN takes a hundred times as long.
    has_no_gaps = all(each.is_contiguous() or each.mT.is_contiguous() for each in (left_RK, right_KC))
    return has_no_gaps and pays(*sizes)


def pays(rows: int, inner: int, columns: int) -> bool:
    """Whether a product of two matrices is large enough for oneDNN with the present number of threads."""
    return rows * inner * columns >= LEAST * torch.get_num_threads()


def _is_cheaper_turned(left_RK: Tensor, right_KC: Tensor) -> bool:
    return right_KC.mT.is_contiguous() or right_KC.numel() < left_RK.numel()


def _transposed(node: fx.Node) -> fx.Node:
    return _call(node.graph, torch.ops.aten.permute.default, node, [1, 0])


def _call(graph: fx.Graph, target: Callable[..., Tensor], *arguments: Any) -> fx.Node:
    """Add a call to the graph, with the shape and strides of its result."""
    node = graph.call_function(target, arguments)
    node.meta["val"] = target(
        *(each.meta["val"] if isinstance(each, fx.Node) else each for each in arguments)
    )
    return node


def _linear(x_RK: Tensor, weight_CK: Tensor, bias_C: Tensor | None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x_RK, weight_CK, bias_C, "none", [], "")


def _shape_of_linear(x_RK: Tensor, weight_CK: Tensor, bias_C: Tensor | None) -> Tensor:
    return x_RK.new_empty(*x_RK.shape[:-1], weight_CK.shape[0])


# torch's own operation for this has a lowering that takes constant weights only.
_library: Any = torch.library.Library("vitruvius", "DEF")  # type: ignore[no-untyped-call]
_library.define("linear(Tensor x, Tensor weight, Tensor? bias) -> Tensor")
_library.impl("linear", _linear, "CPU")
torch.library.register_fake("vitruvius::linear", _shape_of_linear, lib=_library)


class _LinearMaps(TorchFunctionMode):
    """Computes linear maps by oneDNN."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function is functional.linear and not kwargs and _is_plain(args):
            return torch.ops.vitruvius.linear(*args, *(() if len(args) == 3 else (None,)))
        return function(*args, **(kwargs or {}))


def _is_plain(args: tuple[Any, ...]) -> TypeGuard[tuple[Tensor, ...]]:
    """Whether these arguments of a linear map are float32 on the CPU and no gradient of it will be asked."""
    x, weight = args[:2]
    if torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or x.device.type != "cpu":
        return False
    exact = x.dtype == weight.dtype == torch.float32 and weight.is_contiguous()
    return exact and pays(x.shape[:-1].numel(), x.shape[-1], len(weight))


@cache
def _vendor(cpuinfo: Path) -> str:
    """Return the vendor that the processor itself names; where it is not known, nothing or Intel."""
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        return INTEL if INTEL in platform.processor() else ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")


def _is_known_compiler() -> bool:
    """Whether torch's compiler has the parts that are used here, which are no part of its interface."""
    return torch.__version__.startswith("2.13.")


@cache
def _graph_pass() -> Any:
    """Return the pass over graphs; importing torch's compiler takes a second, which not every start needs."""
    from torch._inductor import ir, mkldnn_ir
    from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
    from torch._inductor.lowering import register_lowering

    onednn_ir: Any = mkldnn_ir

    class Products(CustomGraphPass):
        """Gives the large products of a graph to oneDNN."""

        def __call__(self, graph: fx.Graph) -> None:
            replace_products(graph)

        def uuid(self) -> Any:
            return get_hash_for_files((__file__,), str(torch.get_num_threads()))

    @register_lowering(torch.ops.vitruvius.linear.default, type_promotion_kind=None)
    def lower(x: Any, weight: Any, bias: Any) -> Any:
        """Call oneDNN from the compiled C++; through Python each call takes 10 microseconds more."""
        extern = ir.ExternKernel
        given = [extern.require_contiguous(extern.realize_input(x)), extern.realize_input(weight)]
        given += [] if bias is None else [extern.require_contiguous(extern.realize_input(bias))]
        rows, columns = x.get_size()[0], weight.get_size()[0]
        layout = ir.FixedLayout(device=x.get_device(), dtype=x.get_dtype(), size=[rows, columns])
        options = [*([None] if bias is None else []), "none", [-1], ""]
        return ir.TensorBox.create(
            onednn_ir._create_output_node(onednn_ir.LinearUnary(layout, given, options))
        )

    return Products()
