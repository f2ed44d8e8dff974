"""Loss functions of torch that a script calls: their values, and the targets of the last forward pass."""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius import checks
from vitruvius.doctor import criterion_facts, padded_numbers, targets, user_code
from vitruvius.doctor.hazards import Hazard, Source
from vitruvius.doctor.passes import Compared
from vitruvius.doctor.rows import shifted_axis
from vitruvius.doctor.tensor_facts import label_range, one_number, row_sums
from vitruvius.doctor.watcher import UNKNOWN, Watcher


def criterion_returned(
    watcher: Watcher,
    name: str,
    scores: Tensor,
    target: Any,
    value: Tensor,
    reduction: str,
    given: dict[str, Any] | None = None,
) -> None:
    """A loss function of torch.nn.functional returned a value."""
    given = given or {}
    watcher.scores = tuple(scores.shape)
    if watcher.is_skipped and not watcher.sampling:
        watcher.criterion_value = None
        return
    watcher.half = watcher.half or scores.dtype == torch.float16
    inside = bool(watcher.stack) and watcher.running.inside_network
    grad = torch.is_grad_enabled() if inside else watcher.last.grad
    with watcher.looking():
        classifies = name in ("cross_entropy", "nll_loss")
        sums: Any = None
        if watcher.sampling and scores.dim() >= 2 and classifies:
            sums = watcher.find_out("Criterion.probabilities", partial(row_sums, scores))
            if sums is UNKNOWN:
                why = watcher.trace.unknown["Criterion.probabilities"]
                watcher.trace.unknown.setdefault("Criterion.log_probabilities", why)
        ones, logarithms = (sums, sums) if sums is UNKNOWN else sums or (None, None)
        is_tensor, ignored = isinstance(target, Tensor), int(given.get("ignore_index", -100))
        where = user_code.where()
        details = None
        number = watcher.find_out("Criterion.value", partial(one_number, value))
        if classifies and is_tensor and isinstance(number, float) and math.isnan(number):
            _note_nothing_counted(watcher, name, target, value, ignored)
        if watcher.sampling:
            named = (watcher.networks.path, watcher.networks.keys.of)
            find = partial(criterion_facts.details, name, scores, target, given, *named)
            details = watcher.find_out("Criterion.details", find)
        watcher.note_known(
            checks.Criterion,
            **watcher.now(where),
            name=name,
            reduction=reduction,
            grad=grad,
            scores=tuple(scores.shape),
            classes=scores.shape[1] if scores.dim() >= 2 else 1,
            target=tuple(target.shape) if is_tensor else None,
            labels=watcher.find_out("Criterion.labels", partial(label_range, name, target)),
            rows=watcher.last.input_rows(),
            vocabulary=_has_embedding(watcher, scores.shape[1] if scores.dim() >= 2 else 0),
            value=number,
            probabilities=ones,
            log_probabilities=logarithms,
            details=details,
        )
        watcher.criterion_value = number
        is_mean = classifies and is_tensor and reduction == "mean"
        watcher.counted = _count(watcher, target, ignored) if is_mean else 0
        if not is_tensor:
            return
        counts = grad and reduction in ("mean", "sum") and given.get("weight") is None
        predicted = scores.detach() if watcher.sampling and not classifies else None
        compared = Compared(name, target.detach(), where, ignored, counts, predicted)
        if inside:
            watcher.running.compared.append(compared)
        else:
            pair(watcher, compared, where)


def _count(watcher: Watcher, target: Tensor, ignored: int) -> int:
    """How many targets are not ignored; 0 if unknown. Looked at where backward passes add up."""
    if target.is_floating_point() or not watcher.accumulates:
        return 0
    counted = watcher.find_out("Criterion.labels", lambda: int((target != ignored).sum()))
    return counted if isinstance(counted, int) else 0


def _has_embedding(watcher: Watcher, rows: int) -> bool:
    """Whether an embedding of the network has so many rows, or one more or less."""
    if not watcher.sampling or watcher.last.model is None:
        return False
    layers = [layer for layer in watcher.last.model.modules() if isinstance(layer, nn.Embedding)]
    return any(abs(layer.num_embeddings - rows) <= 1 for layer in layers)


def _note_nothing_counted(watcher: Watcher, name: str, target: Tensor, value: Tensor, ignored: int) -> None:
    """The mean over targets that are all ignored is 0 / 0."""
    if not target.is_floating_point() and bool((target == ignored).all()):
        hazard = Hazard(f"{name} of ignored targets", user_code.where(), None, (), value.detach())
        watcher.hazards.found.append(Source(hazard, target.numel(), f"of {target.numel()} targets ignored"))


def _judge_targets(watcher: Watcher, compared: Compared) -> None:
    facts = targets.facts(compared, watcher.last, [mask for *_, mask in watcher.running.masks])
    facts = facts or padded_numbers.facts(compared, watcher.last)
    if facts is not None:
        watcher.note(checks.Targets(**watcher.now(compared.where), **facts))


def pair(watcher: Watcher, compared: Compared, where: str) -> None:
    """Pair labels with the inputs of the forward pass whose output they were compared with.

    The line is that of the loss, or of the pass that the loss is computed in.
    """
    name, target = compared.name, compared.target
    if watcher.sampling:
        watcher.find_out("Targets", partial(_judge_targets, watcher, compared))
    watcher.find_out("relabelled", partial(_keep_labels, watcher, name, target))
    watcher.find_out("EvaluationInputs", partial(_compare, watcher, target, where))
    example, x = watcher.networks.examples.get(watcher.last.network), watcher.last.x
    if example and x is not None and not example.target_shape:
        axis = watcher.find_out("examples", partial(shifted_axis, x, target))
        example.target_shape, example.shifted = tuple(target.shape), axis in (0, 1)
        example.time_axis = axis if axis in (0, 1) else 1


def _compare(watcher: Watcher, target: Tensor, where: str) -> None:
    last = watcher.last
    if not last.grad:
        watcher.evaluations.compared(last, where, target, watcher.trace.steps)
    elif last.x is not None and not last.is_derived and (watcher.sampling or watcher.backwards < 8):
        watcher.evaluations.paired(last.network, where, last.x, target)


def _keep_labels(watcher: Watcher, name: str, target: Tensor) -> None:
    x = watcher.last.x
    if name not in ("cross_entropy", "nll_loss") or target.is_floating_point() or not target.numel():
        return
    fits = x is not None and x.numel() and target.dim() == 1 and len(target) == len(x)
    if x is None or not fits or not watcher.last.grad or watcher.last.is_derived:
        return
    # Sorted labels number the rows (contrastive losses) or the classes of an episode.
    if bool((target[1:] >= target[:-1]).all()) and len(torch.unique(target)) > 2:
        return
    earlier = watcher.last.target
    if earlier is not None:  # mixup and several heads compare one forward pass with several labels
        same = earlier.shape == target.shape and bool((earlier == target).all())
        watcher.one_label = watcher.one_label and same
    watcher.comparable = watcher.comparable and watcher.one_label and x.is_floating_point()
    if earlier is None:
        watcher.last.target = target
        watcher.rows.add_labels(watcher.last.rows, x, target)
