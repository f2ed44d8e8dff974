"""What evaluations are given: the scale of their inputs beside training, and inputs that change by chance."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from vitruvius.checks import EvaluationInputs, TargetColumn
from vitruvius.doctor.rows import hash_rows

FEWEST_ROWS, FEWEST_NUMBERS, MOST_COLUMNS = 8, 4, 512
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


class Evaluations:
    """Inputs of evaluations and of training, by network."""

    def __init__(self) -> None:
        self.trained: dict[int, list[Scale]] = {}
        self.lines: dict[tuple[int, str], Line] = {}
        self.columns: dict[int, tuple[set[int], int, str]] = {}

    def network_ran(
        self, network: int, where: str, x: Tensor | None, grad: bool, step: int, look: bool
    ) -> None:
        """A network has run on one input."""
        if x is None or not x.is_floating_point() or x.dim() < 2 or x.requires_grad:
            return
        if x.shape[0] < FEWEST_ROWS or x.numel() < FEWEST_NUMBERS * x.shape[0]:
            return
        if grad:
            if look and len(known := self.trained.setdefault(network, [])) < 20:
                known.append(_scale(x))
            return
        line = self.lines.setdefault((network, where), Line())
        line.passes += 1
        if len(line.scales) < 3 or (look and len(line.scales) < 20):
            line.scales.append(_scale(x))
            line.steps.add(step)

    def compared(self, network: int, where: str, batch: int, target: Tensor, step: int) -> None:
        """The output of an evaluation was compared with targets."""
        if not batch or not target.dim() or target.numel() < FEWEST_ROWS:
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
        if x.dim() != 2 or not x.is_floating_point() or not 2 <= x.shape[1] <= MOST_COLUMNS:
            return
        y = target.reshape(-1)
        if len(y) != len(x) or len(x) < FEWEST_ROWS or bool((y == y[0]).all()):
            return
        if (
            x.untyped_storage().data_ptr() == target.untyped_storage().data_ptr()
        ):  # sliced from the input itself
            return
        found = set((x == y.to(x.dtype)[:, None]).all(0).nonzero().flatten().tolist())
        known, rows, line = self.columns.get(network, (found, 0, where))
        self.columns[network] = (known & found, rows + len(x), line)

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
            )
        for network, (columns, rows, where) in self.columns.items():
            for column in sorted(columns)[:1]:
                yield TargetColumn(step=step, where=where, network=network, column=column, rows=rows)


def _scale(x: Tensor) -> Scale:
    sample: Any = x.detach()[:64].float()
    return float(sample.mean()), float(sample.std())
