"""The watcher: hears of every forward pass and loss, and with `Steps` of every backward pass, zeroing and step."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.loss import _Loss
from torch.optim import Optimizer

from vitruvius.checks import Trace
from vitruvius.doctor import user_code as tracing
from vitruvius.doctor.observing import example_of, is_shifted
from vitruvius.doctor.stepping import Steps

WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)
NORMS = (_BatchNorm, nn.LayerNorm)
SWITCHED = (_DropoutNd, _BatchNorm, nn.RNNBase, nn.MultiheadAttention)
"""Layers that may act differently in training and in eval mode."""


class Watcher(Steps):
    """Writes down what a training does. Its methods are called by the hooks, and never change what they see."""

    def __init__(self, steps: int | None = None) -> None:
        super().__init__(steps)
        self.comparable = True
        """Rows are points with one class each, so that near ones can be compared."""
        self.one_label = True
        """No pass was judged by two different sets of labels."""
        self.left: dict[int, list[float]] = {}

    def built(self, optimiser: Optimizer) -> None:
        """An optimiser was made: a new training begins, for which rows and labels of an earlier one do not count."""
        super().built(optimiser)
        self.rows.trained.clear()
        self.rows.labels.clear()
        ledger = self.ledgers[optimiser]
        if any(self.left.get(id(first)) not in (None, _corner(first)) for first in ledger.parameters()[:1]):
            self.note("restarted", optimiser=ledger.key)

    def before_step(self, optimiser: Optimizer, closure: bool) -> None:
        """An optimiser is about to step; gradients may have been scaled by hand since they were computed."""
        super().before_step(optimiser, closure)
        ledger = self.ledgers[optimiser]
        if self.sampling and ledger.size:
            with self.looking():
                self.last["step"]["scaled"] = ledger.measure() / ledger.size

    def after_step(self, optimiser: Optimizer) -> None:
        """An optimiser has stepped; a corner of what it leaves shows later whether somebody changed it since."""
        with self.looking():
            for first in self.ledgers[optimiser].parameters()[:1]:
                self.left[id(first)] = _corner(first)
        super().after_step(optimiser)

    def enters(self, module: nn.Module, args: Any) -> None:
        """A module is about to run."""
        if self.depth == 0:
            self.noisy = self.resting = self.normalising = self.first_input = None
        self.depth += 1

    def leaves(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        """A module has run."""
        self.depth = max(0, self.depth - 1)
        if isinstance(module, SWITCHED):
            self._sees_switch(module)
        if self.sampling:
            self.networks.called.add(id(module))
            if torch.is_grad_enabled() and self.first_input is None and isinstance(module, WEIGHTED + NORMS):
                with self.looking():
                    self.first_input = _spread(module, args)
        if self.depth == 0 and not isinstance(module, _Loss) and next(module.parameters(), None) is not None:
            grad = torch.is_grad_enabled()
            with self.looking():
                self._network_ran(module, args, kwargs, grad)

    def _sees_switch(self, module: nn.Module) -> None:
        if isinstance(module, _DropoutNd) and module.p == 0:
            return
        if isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout == 0:
            return
        if isinstance(module, _BatchNorm) and not module.track_running_stats:
            return
        if module.training:
            self.noisy = self.noisy or module
            self.normalising = self.normalising or (module if isinstance(module, _BatchNorm) else None)
        else:
            self.resting = self.resting or module

    def _network_ran(self, root: nn.Module, args: Any, kwargs: Any, grad: bool) -> None:
        if id(root) not in self.networks.roots:
            self.networks.meet(root)
        x = tracing.first_tensor((args, kwargs))
        found = tracing.rows_of(x) if x is not None and x.dim() and len(x) else []
        batch = hash(tuple(found))
        rows = [
            hash((id(root), row)) for row in found
        ]  # folds and ensembles share rows, not what they have seen
        # Rows of few different values come again by chance.
        telling = (
            x is not None
            and len(set(rows)) > 0.9 * len(rows)
            and (x.is_floating_point() or x[0].numel() >= 8)
        )
        known = sum(row in self.rows.trained for row in rows) if telling else 0
        if grad:
            if id(root) not in self.networks.examples and x is not None:
                self.networks.examples[id(root)] = example_of(root, args, kwargs)
            elif (example := self.networks.examples.get(id(root))) and batch != self.last.get("batch"):
                example.batches = min(example.batches + 1, 9)
        self.note(
            "forward",
            root=id(root),
            name=type(root).__name__,
            function=tracing.function_name(),
            training=root.training,
            grad=grad,
            batch=batch,
            rows=len(rows),
            size=len(x) if x is not None and x.dim() > x.is_floating_point() else 0,
            alone=len(args) + len(kwargs) == 1,
            known=known,
            noisy=self.networks.path(self.noisy) if self.noisy else "",
            resting=self.networks.path(self.resting) if self.resting else "",
            normalising=self.networks.path(self.normalising) if self.normalising else "",
            refreshing=bool(self.noisy) and not grad and tracing.calls_through("swa_utils"),
            first_input=None if x is not None and x.requires_grad else self.first_input,
        )
        step = self.last.get("step", {})  # of a step that calls its closure
        self.last = {
            "root": id(root),
            "x": x,
            "rows": rows,
            "batch": batch,
            "grad": grad,
            "args": args,
            "model": root,
        }
        self.last["step"] = step

    def judged(self, name: str, scores: Tensor, target: Any, value: Tensor, reduction: str) -> None:
        """A criterion of torch.nn.functional gave a value."""
        with self.looking():
            x, grad = self.last.get("x"), self.last.get("grad", False)
            facts: dict[str, Any] = {"reduction": reduction, "grad": grad, "scores": tuple(scores.shape)}
            if isinstance(target, Tensor):
                facts["target"] = tuple(target.shape)
                self._labelled(name, x, target, facts)
            if value.numel() == 1:
                facts["value"] = float(value)
            if self.sampling and scores.dim() >= 2 and name in ("cross_entropy", "nll_loss"):
                facts |= _row_sums(scores)
            facts["classes"] = scores.shape[1] if scores.dim() >= 2 else 1
            self.note("criterion", name=name, **facts)

    def _labelled(self, name: str, x: Tensor | None, target: Tensor, facts: dict[str, Any]) -> None:
        if name.startswith("binary_cross_entropy") and target.numel():
            facts["labels"] = (float(target.min()), float(target.max()), target.numel())
        elif name in ("cross_entropy", "nll_loss") and not target.is_floating_point() and target.numel():
            facts["labels"] = (int(target.min()), int(target.max()), target.numel())
            if (
                x is not None
                and target.dim() == 1
                and len(target) == len(x)
                and self.last["grad"]
                and x.numel()
            ):
                self._classified(x, target)
        example = self.networks.examples.get(self.last.get("root", 0))
        if example and x is not None and not example.target_shape:
            example.target_shape, example.shifted = tuple(target.shape), is_shifted(x, target)

    def _classified(self, x: Tensor, target: Tensor) -> None:
        """Keep the labels of a batch; sorted ones number rows (contrastive losses) or the classes of an episode."""
        if len(torch.unique(target)) > 2 and bool((target[1:] >= target[:-1]).all()):
            return
        earlier = self.last.setdefault("target", target)
        same = earlier.shape == target.shape and bool((earlier == target).all())
        self.one_label = self.one_label and same  # mixup and several heads judge one pass by several labels
        self.comparable = self.comparable and self.one_label and x.is_floating_point()
        if earlier is target:
            self.rows.label(self.last.get("rows", []), x, target)

    def finish(self) -> Trace:
        """The trace, with everything that is known only at the end."""
        with self.looking():
            self.networks.finish()
            self.trace.parameters = self.networks.parameters
            self.trace.examples = list(self.networks.examples.values())
            self._name_parameters()
            enough = self.comparable and len(self.rows.classes) >= 100
            self.trace.neighbours = self.rows.neighbours() if enough else None
            self.trace.relabelled = (self.rows.otherwise, self.rows.again) if self.one_label else (0, 0)
        return self.trace

    def _name_parameters(self) -> None:
        """Parameters get names in the network they stand in now, also those that joined after its first pass."""
        for root in reversed(self.networks.roots.values()):  # the first that ran names what several hold
            for path, module in root.named_modules():
                for name, parameter in module.named_parameters(path, recurse=False):
                    known = self.networks.parameters.get(id(parameter))
                    if known:
                        known.name, known.layer, known.network = name, type(module).__name__, id(root)
        for key, known in self.networks.parameters.items():
            known.declared = isinstance(self.networks.tensors[key], nn.Parameter)


def _corner(tensor: Tensor) -> list[float]:
    corner: list[float] = tensor.detach().flatten()[:4].tolist()
    return corner


def _row_sums(scores: Tensor) -> dict[str, Any]:
    """Whether rows of scores are probabilities, or their logarithms."""
    flat = scores.detach().float()
    if bool(flat.isnan().any()):
        return {}
    ones = bool(((flat.sum(1) - 1).abs() < 1e-3).all()) and bool((flat >= 0).all())
    logs = bool(((flat.exp().sum(1) - 1).abs() < 1e-3).all())
    return {"probabilities": ones, "logarithms": logs}


def _spread(module: nn.Module, args: Any) -> tuple[float, float, float] | None:
    """Mean, standard deviation and largest magnitude of what the first layer with weights is given."""
    x = tracing.first_tensor(args)
    if not isinstance(module, WEIGHTED) or x is None or not x.is_floating_point() or x.numel() < 2:
        return (0.0, 1.0, 1.0)  # a normalising layer comes first
    return float(x.mean()), float(x.std()), float(x.abs().max())
