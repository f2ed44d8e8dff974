"""Calls that have raised an error: what a loss, a backward pass or a BatchNorm was given."""

import weakref
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from vitruvius import checks
from vitruvius.checks import first_tensor
from vitruvius.doctor.watcher import Watcher


def criterion_failed(
    watcher: Watcher, name: str, error: Exception, scores: Any, target: Any, *args: Any, **kw: Any
) -> None:
    """A loss function has raised an error."""
    if not isinstance(scores, Tensor) or not isinstance(target, Tensor):
        return
    with watcher.looking():
        labels = (float(target.min()), float(target.max())) if target.numel() else None
        whole = not target.is_floating_point() or bool((target == target.round()).all())
        text = str(error).partition("\n")[0]
        facts: dict[str, Any] = {"name": name, "error": text, "labels": labels, "whole": whole}
        shapes: dict[str, Any] = {"scores": tuple(scores.shape), "target": tuple(target.shape)}
        watcher.note(checks.CriterionFailed(**watcher.now(), **facts, **shapes))


def backward_failed(watcher: Watcher, error: Exception) -> None:
    """A backward pass has raised an error: find the change in place that it complains of."""
    text = str(error)
    if "modified by an inplace operation" not in text:
        return
    fits = [change for change in watcher.changes if f"{list(change[2])}]" in text]
    versions = [change for change in fits if f"is at version {change[3]};" in text]
    where, operation, _, _ = next(reversed(versions or fits), ("", "", (), 0))
    now, stepped = watcher.now(where), "" if fits else _line_of_step(watcher, text)
    error_text = text.partition(". Hint")[0]
    watcher.note(checks.InplaceChange(**now, operation=operation, error=error_text, stepped=stepped))


def _line_of_step(watcher: Watcher, text: str) -> str:
    """The line of the last step of an optimiser with a weight of the shape that torch complains of."""
    holders = {
        state.key
        for optimiser, state in watcher.states.items()
        for group in optimiser.param_groups
        for weight in group["params"]
        # The backward pass of a linear layer needs the transpose.
        if f" {list(weight.shape)}]" in text or f" {list(weight.shape[::-1])}]" in text
    }
    steps = [event for event in watcher.trace.of(checks.Step) if event.optimiser in holders]
    return steps[-1].where if steps else ""


def carried_state(watcher: Watcher, error: Exception) -> None:
    """A backward pass has raised an error: note a state that the network keeps with its graph."""
    with watcher.looking():
        facts = watcher.graphs.backward_failed(error, watcher.last.model, watcher.last.network)
        if facts is not None:
            watcher.note(checks.StateCarried(step=watcher.trace.steps, **facts))


def batch_norm_failed(watcher: Watcher, module: nn.Module, args: Any) -> None:
    """A BatchNorm has raised an error: it may have got one value per channel."""
    x = first_tensor(args)
    if not isinstance(module, _BatchNorm) or not module.training or x is None or x.dim() < 2:
        return
    if x.numel() == x.shape[1]:
        path = watcher.path_of(weakref.ref(module))
        watcher.note(checks.BatchNormFailed(**watcher.now(), module=path, shape=tuple(x.shape)))
