"""Law over all hooks: whatever torch is given, and whatever fails in the watcher, the script goes on."""

import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from vitruvius import checks
from vitruvius.checks import AutogradGrad, Backward, Criterion, Forward, Step, Trace
from vitruvius.doctor import (
    backward_passes,
    calls,
    criteria,
    diagnose,
    forward_passes,
    hooks,
    windows,
)
from vitruvius.doctor import steps as stepping
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher


class Stubborn(Tensor):
    """A tensor that refuses everything but its own name."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is Tensor.__repr__ or getattr(function, "__name__", "") == "__get__":
            return super().__torch_function__(function, types, args, kwargs or {})
        raise NotImplementedError(f"{function} of a stubborn tensor")


def matrix() -> Tensor:
    return torch.arange(12.0).reshape(4, 3) / 7


def quantised() -> Tensor:
    return torch.quantize_per_tensor(matrix(), 0.1, 0, torch.quint8)


def inferred() -> Tensor:
    with torch.inference_mode():
        return matrix() + 1


def fake() -> Tensor:
    with FakeTensorMode() as mode:
        return mode.from_tensor(matrix())


KINDS: dict[str, Callable[[], Tensor]] = {
    "dense": matrix,
    "sparse COO": lambda: matrix().to_sparse(),
    "sparse CSR": lambda: matrix().to_sparse_csr(),
    "sparse CSC": lambda: matrix().to_sparse_csc(),
    "sparse BSR": lambda: matrix().to_sparse_bsr((2, 3)),
    "sparse BSC": lambda: matrix().to_sparse_bsc((2, 3)),
    "quantised": quantised,
    "complex": lambda: torch.complex(matrix(), matrix()),
    "conjugate": lambda: torch.complex(matrix(), matrix()).conj(),
    "negative view": lambda: torch.complex(matrix(), matrix()).conj().imag,
    "nested": lambda: torch.nested.nested_tensor([matrix(), matrix()[:2]]),
    "jagged": lambda: torch.nested.nested_tensor([matrix(), matrix()[:2]], layout=torch.jagged),
    "meta": lambda: matrix().to("meta"),
    "fake": fake,
    "parameter": lambda: nn.Parameter(matrix()),
    "stubborn subclass": lambda: matrix().as_subclass(Stubborn),
    "expanded": lambda: torch.ones(1, 3).expand(4, 3),
    "one column of a list": lambda: torch.arange(4.0).as_strided((4, 1), (1, 0)),
    "no rows": lambda: torch.zeros(0, 3),
    "no columns": lambda: torch.zeros(4, 0),
    "one number": lambda: torch.tensor(2.0),
    "bfloat16": lambda: matrix().bfloat16(),
    "bytes": lambda: torch.arange(12, dtype=torch.uint8).reshape(4, 3),
    "booleans": lambda: matrix() > 1,
    "inference mode": inferred,
    "NaN": lambda: matrix().log().sqrt(),
}


class Adds(nn.Module):
    """A network that takes anything."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        return x * 1, self.weight


def without_gradients(x: Tensor) -> Any:
    with torch.no_grad():
        return Adds()(x)


def steps(x: Tensor) -> Any:
    """A tensor as a parameter of an optimiser, and as its gradient."""
    leaf = x.detach().clone().requires_grad_()
    optimiser = torch.optim.SGD([leaf], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 1)
    for _ in range(2):
        optimiser.zero_grad()
        (leaf * leaf).sum().backward()
        optimiser.step()
        schedule.step()
    return leaf.detach()


def differentiates(x: Tensor) -> Any:
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad((leaf * leaf).sum(), leaf)


def runs_back(x: Tensor) -> Any:
    leaf = x.detach().clone().requires_grad_()
    torch.autograd.backward([(leaf * leaf).sum()])
    return leaf.grad


def trains(x: Tensor) -> Any:
    """Rows of such a tensor go through a linear layer, by matrix product, and come back."""
    weight = nn.Parameter(torch.ones(x.shape[-1], 2))
    net = nn.ParameterList([weight])
    optimiser = torch.optim.Adam(net.parameters())
    for _ in range(2):
        optimiser.zero_grad()
        (x @ weight).sum().backward()
        optimiser.step()
    return weight.detach()


def one(x: Tensor) -> tuple[Any, ...]:
    return (x,)


def grown(x: Tensor) -> Tensor:
    """A copy that needs a gradient where it can, and is no leaf."""
    return x.clone().requires_grad_() * 1 if x.is_floating_point() else x.clone()


GIVEN: dict[str, Callable[[Tensor], tuple[Any, ...]]] = {
    **dict.fromkeys(("pow", "__pow__", "float_power"), lambda x: (x, 0.5)),
    **dict.fromkeys(("atan2", "arctan2", "hypot"), lambda x: (x, x)),
    **dict.fromkeys(("div", "divide", "true_divide", "__truediv__"), lambda x: (x, x)),
    **dict.fromkeys(("softmax", "log_softmax"), lambda x: (x, -1)),
    **dict.fromkeys(("masked_fill", "masked_fill_"), lambda x: (x, x > 1, -torch.inf)),
    "where": lambda x: (x > 1, x, -torch.inf),
    "stack": lambda x: ([x, x],),
    **dict.fromkeys(("reshape", "view"), lambda x: (x, (3, 4))),
    "max": lambda x: (x, 1),
    "__setitem__": lambda x: (x, 0, 1.0),
    **dict.fromkeys(
        ("__iadd__", "__isub__", "__imul__", "__itruediv__", "add_", "sub_", "mul_", "div_"),
        lambda x: (x, 2.0),
    ),
    **dict.fromkeys((*calls.COMPARISONS, "__mul__", "__rmul__"), lambda x: (x, 2.0)),
    **dict.fromkeys(("to", "type"), lambda x: (x, torch.float64)),
    **dict.fromkeys(("__add__", "__radd__", "__sub__", "__rsub__", "add", "sub"), lambda x: (x, 2.0)),
    "clamp_": lambda x: (x, 0.0),
    "fill_": lambda x: (x, 1.0),
    "copy_": lambda x: (x, x),
}
LIMITS = {"threshold": (0.1, 0.0)}


def written(x: Tensor) -> Tensor:
    h = grown(x).sigmoid()
    h.data[0] = 0.5
    return h.detach()


METHODS = (  # one for each replacement
    *(
        "sqrt",
        "__truediv__",
        "softmax",
        "__add__",
        "__iadd__",
        "__setitem__",
        "relu_",
        "masked_fill",
        "view",
        "max",
        "__gt__",
        "float",
        "__mul__",
        "sum",
    ),
)


USES: dict[str, Callable[[Tensor], Any]] = {
    "network": lambda x: Adds()(x),
    "keyword": lambda x: Adds()(x=x),
    "layer": lambda x: nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 2))(x),
    "no_grad": without_gradients,
    "vmap": lambda x: torch.func.vmap(Adds(), out_dims=(0, None))(x),  # type: ignore[arg-type]
    "vmap of grad": lambda x: torch.func.vmap(torch.func.grad(lambda row: Adds()(row)[0].sum()))(x),
    "vmap of a loss": lambda x: torch.func.vmap(lambda row: F.mse_loss(row, row))(x),
    "jvp": lambda x: torch.func.jvp(lambda v: Adds()(v)[0], (x,), (x,)),
    "argmax": lambda x: torch.argmax(x, 0),
    "argmax method": lambda x: x.argmax(),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "grad": differentiates,
    "backward": runs_back,
    "steps": steps,
    "trains": trains,
    "class labels": lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long)),
    "labels": lambda x: F.cross_entropy(matrix(), x),
    **{
        name: (lambda x, name=name: getattr(F, name)(x, x))  # type: ignore[misc]
        for name in hooks.CRITERIA
        if "gaussian" not in name
    },
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x, x, x),
    **{
        name: (lambda x, name=name: getattr(torch, name)(*GIVEN.get(name, lambda x: (x,))(x)))  # type: ignore[misc]
        for name in sorted({name for owner, name, _ in calls.replacements() if owner is torch})
    },
    **{
        f"{name} method": (lambda x, name=name: getattr(grown(x), name)(*GIVEN.get(name, one)(x)[1:]))  # type: ignore[misc]
        for name in METHODS
    },
    "multi_head_attention_forward": lambda x: nn.MultiheadAttention(3, 1)(x, x, x, key_padding_mask=x[0] > 9)[
        0
    ],
    "masked attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], x @ x.mT),
    **{name: (lambda x, name=name: getattr(F, name)(x, 0.5)) for name in hooks.DROPOUTS},  # type: ignore[misc]
    **{
        name: (lambda x, name=name: getattr(F, name)(grown(x), *LIMITS.get(name, ()), inplace=True))  # type: ignore[misc]
        for name in calls.INPLACE_OPTIONS
    },
    "written through .data": written,
    "a leaf in place": lambda x: x.clone().requires_grad_().add_(1),
}


def outcome(use: Callable[[Tensor], Any], make: Callable[[], Tensor]) -> str:
    """What a use returns, to the bit, or which error it raises."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = use(make())
        except Exception as error:
            return f"{type(error).__name__}: {re.sub(r'0x[0-9a-f]+|j[0-9]+', '', str(error))}"
        with torch.no_grad():
            return f"{shown(value)} {torch.rand(1).item()}"


def shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(shown, value))
    try:
        dense = value.to_dense() if value.layout is not torch.strided else value
        return f"{type(value)} {value.layout} {value.dtype} {tuple(value.shape)} {dense.tolist()}"
    except Exception:
        return f"{type(value)}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_hook_lets_every_kind_of_tensor_pass(kind: str) -> None:
    # jvp of a fake tensor fails in torch and leaves inference mode on.
    uses = {name: use for name, use in USES.items() if (name, kind) != ("jvp", "fake")}
    alone = {name: outcome(use, KINDS[kind]) for name, use in uses.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with diagnose.watch():
            watched = {name: outcome(use, KINDS[kind]) for name, use in uses.items()}
    assert watched == alone


def test_the_uses_reach_every_replacement() -> None:
    """Otherwise the law would say nothing about the one that is left out."""
    watched = {name for owner, name, _ in hooks._replacements() if owner in (F, torch, torch.autograd)}
    watched |= {*hooks.CRITERIA}
    assert watched <= {*USES, "scaled_dot_product_attention"}
    alone = [name for name, use in USES.items() if not outcome(use, matrix).startswith("<class")]
    refused = {"attention", "binary_cross_entropy", "dropout2d", "dropout3d", "a leaf in place"}
    assert set(alone) <= {*refused, *watched}, alone


TRAINING = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4)
q = torch.randn(2, 2, 4, 8)
F.scaled_dot_product_attention(q, q, q)
scores = net(torch.randn(16, 3))
torch.autograd.grad(scores.sum(), net[0].weight)
scores.argmax(1)
hidden = net[0](torch.randn(4, 3)).view(2, 2, 8).sqrt().sum()
hidden += 1
nn.MultiheadAttention(8, 2)(q[0], q[0], q[0], attn_mask=torch.zeros(2, 2))
for step in range(12):
    x = torch.randn(16, 3)
    optimizer.zero_grad()
    loss = F.cross_entropy(net(F.dropout(x, 0.1, True)), x.argmax(1))
    loss.backward()
    optimizer.step()
    schedule.step()
net.zero_grad()
final = [p.detach().clone() for p in net.parameters()] + [torch.rand(3)]
"""


def trained() -> list[Tensor]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    with torch.random.fork_rng(devices=[]):
        exec(compile(TRAINING, "train.py", "exec"), scope)
    final: list[Tensor] = scope["final"]
    return final


@pytest.mark.parametrize(
    ("owner", "name", "kind"),
    [
        (forward_passes, "enters", "Forward"),
        (forward_passes, "leaves", "Forward"),
        (criteria, "criterion_returned", "Criterion"),
        (backward_passes, "before_backward", "Backward"),
        (backward_passes, "after_backward", "Gradients"),
        (stepping, "optimiser_built", "OptimiserBuilt"),
        (stepping, "zero_grad", "Step"),
        (stepping, "before_step", "Step"),
        (stepping, "after_step", "Step"),
        (stepping, "scheduler_step", "SchedulerStep"),
        (hooks, "_note_dropout", "DropoutInEval"),
        (hooks, "_note_attention", "Attention"),
        (hooks, "_note_grad", "AutogradGrad"),
        (hooks, "_note_argmax", "Argmax"),
        (calls, "_note_hazard", "NanSource"),
        (calls, "note_prediction", "Prediction"),
        (calls, "_note_change", "InplaceChange"),
        (calls, "_note_reshape", "Reshaped"),
        (calls, "_note_multihead", "Mask"),
    ],
)
def test_a_hook_that_raises_costs_only_the_checks_that_need_its_events(
    owner: Any, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("a planted fault")

    alone = trained()
    monkeypatch.setattr(owner, name, broken)
    with diagnose.watch() as report:
        watched = trained()
    assert all(torch.equal(a, b) for a, b in zip(alone, watched, strict=True))
    why = {skipped.check: skipped.why for skipped in report.result.skipped}
    assert why, name
    assert f"{kind} is unknown: RuntimeError: a planted fault" in why.values()
    assert report.result.steps == 12
    assert len(report.result.checked) > 5
    assert report.findings == ()


@pytest.mark.parametrize(
    ("module", "name", "fact"),
    [
        ("tensor_facts", "hash_rows", "Forward.batch"),
        ("forward_passes", "statistics", "Forward.first_input"),
        ("criteria", "label_range", "Criterion.labels"),
        ("criteria", "row_sums", "Criterion.probabilities"),
        ("criterion_facts", "details", "Criterion.details"),
        ("autograd_graph", "read", "Backward.graph"),
        ("networks", "_sample", "parameters"),
        ("criteria", "shifted_axis", "examples"),
    ],
)
def test_a_fact_that_cannot_be_found_out_costs_only_the_checks_that_read_it(
    module: str, name: str, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("a planted fault")

    alone = trained()
    monkeypatch.setattr(f"vitruvius.doctor.{module}.{name}", broken)
    with diagnose.watch() as report:
        watched = trained()
    assert all(torch.equal(a, b) for a, b in zip(alone, watched, strict=True))
    why = {skipped.check: skipped.why for skipped in report.result.skipped}
    assert f"{fact} is unknown: RuntimeError: a planted fault" in why.values()
    assert "step_without_backward" in report.result.checked
    assert report.findings == ()


def test_an_unknown_fact_cannot_be_read_and_a_known_one_can() -> None:
    facts = {"step": 0, "where": "", "operation": "", "network": 0, "batch": 0}
    event = Backward.without(["value"], **facts)
    assert event.graph is None
    with pytest.raises(checks.UnknownFact, match=r"Backward\.value"):
        _ = event.value
    trace = Trace([event])
    assert trace.of(Backward) == [event]
    trace.lose("Step", RuntimeError("first\nsecond"))
    trace.lose("Step", RuntimeError("later"))
    assert trace.unknown == {"Step": "RuntimeError: first"}
    with pytest.raises(checks.UnknownFact, match="Step"):
        trace.of(checks.OptimiserEvent)


def test_a_script_with_dropout_is_compiled_with_torchs_own_functions() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.dropout(x, 0.5, self.training) + x.argmax(0).sum()

    with diagnose.watch():
        scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)))
        value = scripted(torch.ones(2, 3))
        traced = torch.jit.trace(nn.Linear(3, 3), torch.ones(2, 3))
        assert F.dropout.__wrapped__  # type: ignore[attr-defined]
    assert value.shape == (2, 3)
    assert str(traced.graph).count("aten::") == 1


def test_a_scripted_class_finds_the_names_around_it() -> None:
    def doubled(x: Tensor) -> Tensor:
        return x * 2

    with diagnose.watch(), diagnose.watch():

        @torch.jit.script
        class Doubler:
            def __init__(self, x: Tensor) -> None:
                self.value = doubled(x)

        assert Doubler(torch.ones(2)).value.tolist() == [2.0, 2.0]


def test_a_forward_pass_that_raises_does_not_hide_the_later_ones() -> None:
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x: Tensor, fails: bool = False) -> Tensor:
            if fails:
                self.inner(torch.ones(2, 5))
            return self.inner(x)

    watcher, net = Watcher(), Fails()
    with installed(watcher):
        with pytest.raises(RuntimeError):
            net(torch.ones(2, 3), fails=True)
        net(torch.ones(2, 3))
    assert [event.name for event in watcher.trace.of(Forward)] == ["Fails"]
    assert watcher.stack == []


def test_passes_after_a_checkpointed_one_are_seen() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)), nn.Linear(3, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(checkpoint(self.body, x, use_reentrant=False))

    watcher, net = Watcher(), Net()
    with installed(watcher):
        for _ in range(4):
            net(torch.randn(2, 3)).mean().backward()
    assert [event.name for event in watcher.trace.of(Forward)].count("Net") == 4


def test_a_loss_that_a_module_has_imported_by_name_is_watched_and_given_back() -> None:
    module = types.ModuleType("users_losses")
    exec("from torch.nn.functional import cross_entropy", module.__dict__)
    own = module.__dict__["cross_entropy"]
    sys.modules["users_losses"] = module
    try:
        watcher = Watcher()
        with installed(watcher):
            module.__dict__["cross_entropy"](torch.zeros(2, 3), torch.zeros(2, dtype=torch.long))
            exec("from torch.nn.functional import mse_loss", module.__dict__)
        assert [event.name for event in watcher.trace.of(Criterion)] == ["cross_entropy"]
        assert module.__dict__["cross_entropy"] is own is F.cross_entropy
        assert module.__dict__["mse_loss"] is F.mse_loss
    finally:
        del sys.modules["users_losses"]


def test_sampling_thins_out_without_an_optimiser() -> None:
    def graphs(steps: int) -> int:
        watcher, net = Watcher(), nn.Linear(3, 1)
        with installed(watcher):
            for _ in range(steps):
                net(torch.randn(4, 3)).square().mean().backward()
                for parameter in net.parameters():
                    assert parameter.grad is not None
                    parameter.data -= 0.1 * parameter.grad
                    parameter.grad = None
        return len(watcher.trace.graphs())

    assert graphs(3) == 3
    assert graphs(100) < 12


def test_asked_derivatives_and_steps_have_the_same_keys() -> None:
    watcher, net = Watcher(), nn.Linear(3, 1)
    with installed(watcher):
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        torch.autograd.grad(net(torch.randn(4, 3)).sum(), list(net.parameters()))
        optimiser.step()
    assert watcher.trace.of(AutogradGrad)[0].inputs == watcher.trace.of(Step)[0].parameters


def test_a_watcher_goes_on_when_one_inside_it_has_ended() -> None:
    outer, net = Watcher(), nn.Linear(3, 1)
    with installed(outer):
        with installed(Watcher()):
            net(torch.randn(4, 3))
        net(torch.randn(4, 3))
    assert len(outer.trace.of(Forward)) == 2


def test_a_compiled_network_is_watched_in_windows_and_learns_the_same() -> None:
    steps = windows.WHOLE + 10

    def trained() -> list[Tensor]:
        torch.manual_seed(0)
        torch.compiler.reset()
        net = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.Dropout(0.1), nn.ReLU()), nn.Linear(8, 2))
        compiled = torch.compile(net, backend="eager")
        optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(steps):
            optimiser.zero_grad()
            x = torch.randn(8, 4)
            F.cross_entropy(compiled(x), x[:, :2].argmax(1)).backward()
            optimiser.step()
        return list(net.parameters())

    with torch.random.fork_rng(devices=[]):
        alone, watcher = trained(), Watcher()
        with installed(watcher):
            seen = trained()
    assert all(torch.equal(a, b) for a, b in zip(alone, seen, strict=True))
    assert len(watcher.trace.forwards()) == windows.WHOLE
    assert watcher.trace.unknown == {}
    assert watcher.stack == []


def test_a_function_that_a_module_has_imported_by_name_is_replaced_and_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = types.ModuleType("mine")
    module.clip = module.again = torch.nn.utils.clip_grad_norm_
    module.other = torch.nn.utils.parameters_to_vector
    before = dict(vars(module))
    monkeypatch.setitem(sys.modules, "mine", module)
    with installed(Watcher()):
        assert module.clip is module.again
        assert module.clip is not before["clip"]
        assert module.clip.original is before["clip"]
        assert module.other is before["other"]
    assert vars(module) == before
