"""What evaluations are given: the scale of their inputs beside training, and inputs that change by chance."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from vitruvius.checks import EvaluationInputs, TargetColumn
from vitruvius.doctor.held_out import HeldOut
from vitruvius.doctor.passes import LastForward
from vitruvius.doctor.rows import hash_rows

FEWEST_ROWS, FEWEST_NUMBERS, MOST_COLUMNS = 8, 32, 512
Scale = tuple[float, float]  # mean and standard deviation


@dataclass(slots=True)
class Line:
    """Evaluations at one line."""

    scales: list[Scale] = field(default_factory=list)
    steps: set[int] = field(default_factory=set)
    passes: int = 0
    targets: dict[int, tuple[int, int]] = field(default_factory=dict)  # step and inputs, by the targets
    same: int = 0  # batches that came again with the same targets and the same inputs
    changed: int = 0  # with the same targets and other inputs
    compared: bool = False  # outputs were compared with targets


class Evaluations:
    """Inputs of evaluations and of training, by network."""

    def __init__(self) -> None:
        self.held_out = HeldOut()
        self.trained: dict[int, list[Scale]] = {}
        self.lines: dict[tuple[int, str], Line] = {}
        self.fed: set[int] = set()
        """Networks whose inputs another network makes: they change as that one learns."""
        self.columns: dict[int, tuple[set[int], set[int], set[int], str]] = {}
        """By network: columns that equal the targets, and that are them on another scale; rows; line."""

    def network_ran(
        self,
        network: int,
        where: str,
        x: Tensor | None,
        grad: bool,
        step: int,
        look: bool,
        known: list[bool],
        epoch: int,
    ) -> None:
        """A network has run on one input; which of its first rows were trained on is known."""
        if x is not None and x.requires_grad:
            self.fed.add(network)
        if x is None or x.layout is not torch.strided or not x.is_floating_point() or x.requires_grad:
            return
        if x.dim() < 2 or len(x) < FEWEST_ROWS or x.numel() < FEWEST_NUMBERS:
            return
        if grad:
            self.held_out.trained(network, x)
            if look and len(scales := self.trained.setdefault(network, [])) < 20:
                scales.append(_scale(x))
            return
        line = self.lines.setdefault((network, where), Line())
        line.passes += 1
        self.held_out.evaluated(network, where, x, known, (step, epoch))
        if len(line.scales) < 3 or (look and len(line.scales) < 20):
            line.scales.append(_scale(x))
            line.steps.add(step)

    def compared(self, last: LastForward, where: str, target: Tensor, step: int) -> None:
        """The output of an evaluation was compared with targets."""
        network, batch = last.network, last.batch
        if (network, last.where) in self.lines:
            self.lines[network, last.where].compared = True
        if not batch or network in self.fed or not target.dim() or target.numel() < FEWEST_ROWS:
            return
        if bool((target == target.flatten()[0]).all()):
            return
        key = hash(tuple(hash_rows(target.unsqueeze(0)))) if target.numel() < 4096 else 0
        line = self.lines.setdefault((network, where), Line())
        known = line.targets.get(key)
        if key and known is None and len(line.targets) < 256:
            line.targets[key] = (step, batch)
        elif known is not None and known[0] != step:  # at one step: several views of one batch
            line.same += known[1] == batch
            line.changed += known[1] != batch
            line.targets[key] = (step, batch)

    def paired(self, network: int, where: str, x: Tensor, target: Tensor) -> None:
        """Targets of a training batch: which columns of the input equal them in all batches so far."""
        if x.layout is not torch.strided or target.layout is not torch.strided:
            return
        if x.dim() not in (2, 3) or not x.is_floating_point() or not 2 <= x[0].numel() <= MOST_COLUMNS:
            return
        own = x.untyped_storage().data_ptr() == target.untyped_storage().data_ptr()
        if own:  # sliced from the input itself
            return
        y = target.reshape(-1)
        if len(y) != len(x) or len(x) < FEWEST_ROWS or bool((y == y[0]).all()):
            return
        before = self.columns.get(network)
        if before is not None and not before[0] and not before[1]:
            return  # no column is left
        rows = set(hash_rows(x))  # a batch that comes again and again proves no more than once
        x = x[:, -1] if x.dim() == 3 else x  # to recall an earlier place may be the task
        equal = set((x == y.to(x.dtype)[:, None]).all(0).nonzero().flatten().tolist())
        classes = [] if y.is_floating_point() or len(set(y.tolist())) > 10 else sorted(set(y.tolist()))
        for label in classes:  # one column for each class
            marks = (y == label).to(x.dtype)[:, None]
            equal |= (
                set((x == marks).all(0).nonzero().flatten().tolist()) if bool((y != label).any()) else set()
            )
        scaled = _same_up_to_scale(x, y)
        if before is not None:
            equal, scaled = before[0] & equal, before[1] & scaled
            rows, where = before[2] | rows, before[3]
        self.columns[network] = (equal, scaled, rows, where)

    def at_the_end(self, step: int) -> Iterator[EvaluationInputs | TargetColumn]:
        """What is known about each line that evaluates, and about columns that equal the targets."""
        for (network, where), line in self.lines.items():
            yield EvaluationInputs(
                step=step,
                where=where,
                network=network,
                passes=line.passes,
                steps=len(line.steps),
                scales=tuple(line.scales),
                trained=tuple(self.trained.get(network, [])),
                same=line.same,
                changed=line.changed,
                compared=line.compared,
                own_scale=self.held_out.own_scale((network, where)),
                shifted_rows=self.held_out.shifted((network, where)),
            )
        for network, (equal, scaled, rows, where) in self.columns.items():
            for column in (sorted(equal) or sorted(scaled))[:1]:
                facts: dict[str, Any] = {"column": column, "rows": len(rows), "equal": column in equal}
                yield TargetColumn(step=step, where=where, network=network, **facts)


def _scale(x: Tensor) -> Scale:
    sample: Any = x.detach()[:64].float()
    return float(sample.mean()), float(sample.std())


def _same_up_to_scale(x: Tensor, y: Tensor) -> set[int]:
    """The columns that are a factor times the targets plus a number."""
    values, goal = x.double() - x.double().mean(0), y.double() - y.double().mean()
    size = values.norm(dim=0) * goal.norm()
    aligned = (values * goal[:, None]).sum(0).abs() >= (1 - 1e-9) * size
    return set((aligned & (size > 0)).nonzero().flatten().tolist())
