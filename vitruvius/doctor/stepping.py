"""The half of the watcher that hears of backward passes, zeroing, steps and schedules."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from vitruvius.doctor import autograd_graph as graphs
from vitruvius.doctor import user_code as tracing
from vitruvius.doctor.breaking import first_break
from vitruvius.doctor.optimiser_state import Ledger, Waiting
from vitruvius.doctor.recording import Recorder


class Enough(BaseException):
    """The wanted number of optimiser steps was watched; no `except Exception` of the user's stops it."""


class Steps(Recorder):
    """Writes down how a training goes back and steps."""

    def before_backward(self, root: Tensor) -> None:
        """A backward pass begins."""
        with self.looking():
            at = tracing.where()
            for ledger in list(self.ledgers.values()):
                if ledger.waiting and ledger.is_cleared():
                    self._drops(ledger, at)
                ledger.passes += 1
                ledger.expects_backward()
            value = float(root) if root.numel() == 1 else math.nan
            facts: dict[str, Any] = {"root": graphs.root_name(root), "at": at}
            facts |= {"value": value} if math.isfinite(value) else {}
            if root.numel() == 1 and not math.isfinite(value) and not self.broken:
                self._breaks(at)
            if self.sampling or self.graphs_read[at] < 3:
                self.graphs_read[at] += 1
                graph, leaves = graphs.read(root)
                facts["graph"] = graph
                facts["leaf"] = root.grad_fn is None
                for leaf in leaves:
                    self.networks.keep(leaf).reached = True
            self.rows.train(self.last.get("rows", []))
            self.note("backward", batch=self.last.get("batch", 0), of=self.last.get("root", 0), **facts)

    def _breaks(self, at: str) -> None:
        """The loss is not finite for the first time: find where that begins."""
        self.broken = True
        self.note("non_finite", at=at, first=first_break(self.last.get("model"), self.last.get("args", ())))

    def after_backward(self) -> None:
        """A backward pass has ended."""
        with self.looking():
            event = self.trace.events[-1]
            for ledger in list(self.ledgers.values()):
                if ledger.received():
                    ledger.waiting.append(Waiting(event.where, event["root"], event["batch"]))
                    ledger.backwards += 1
                    ledger.zeroed = False
                    ledger.size = ledger.measure()
            if event["graph"] is not None and event.kind == "backward":
                held = self.networks.tensors
                weights = [(key, held[key]) for key, known in self.networks.parameters.items() if known.name]
                dense = [(key, p.grad) for key, p in weights if p.dim() >= 2 and p.grad is not None]
                sizes = graphs.rms([gradient for _, gradient in dense])
                self.note(
                    "gradients",
                    at=event.where,
                    sizes=dict(zip([key for key, _ in dense], sizes, strict=True)),
                )

    def built(self, optimiser: Optimizer) -> None:
        """An optimiser was made."""
        with self.looking():
            ledger = self.ledgers[optimiser] = Ledger(
                optimiser, len(self.ledgers) + 1 + self.trace.steps * 1000
            )
            for parameter in ledger.parameters():
                self.networks.keep(parameter)
            self.note("optimiser", **ledger.facts())

    def zeroed(self, owner: Optimizer | nn.Module) -> None:
        """Gradients are about to be zeroed."""
        with self.looking():
            for optimiser, ledger in list(self.ledgers.items()):
                if owner is optimiser:
                    keys = None
                elif isinstance(owner, nn.Module):
                    keys = {id(parameter) for parameter in owner.parameters()}
                    if not keys & {id(probe) for probe in ledger.probes()}:
                        continue
                else:
                    continue
                at = tracing.where()
                ledger.clear(keys)
                ledger.zeroed = True
                if ledger.waiting:
                    self._drops(ledger, at)
                self.note("zero_grad", at=at, optimiser=ledger.key)

    def _drops(self, ledger: Ledger, at: str) -> None:
        lines = [waiting.where for waiting in ledger.waiting]
        self.note("dropped", at=at, optimiser=ledger.key, lines=lines)
        ledger.waiting = []

    def before_step(self, optimiser: Optimizer, closure: bool) -> None:
        """An optimiser is about to step."""
        with self.looking():
            if optimiser not in self.ledgers:
                self.built(optimiser)
            ledger = self.ledgers[optimiser]
            cleared = not closure and ledger.is_cleared()
            size = ledger.measure() if len(ledger.waiting) > 1 else 0.0
            self.last["step"] = {
                "closure": closure,
                "cleared": cleared,
                "zeroed": ledger.zeroed and ledger.backwards > 0 and cleared,
                "again": not closure
                and not ledger.backwards
                and (ledger.is_unchanged() or (cleared and not ledger.passes)),
                "stale": 0 if closure else ledger.has_stale(),
                "waiting": tuple(ledger.waiting),
                "scaled": size / ledger.size if size and ledger.size else 1.0,
                "at": tracing.where(),
            }
            if self.sampling:
                ledger.hold()

    def after_step(self, optimiser: Optimizer) -> None:
        """An optimiser has stepped."""
        with self.looking():
            ledger = self.ledgers[optimiser]
            moved = ledger.movement() if ledger.before else None
            ledger.settle()
            if ledger.steps <= 3 or self.sampling:
                for key in ledger.stepped:
                    self.networks.parameters[key].reached = True
            self.note("step", moved=moved, count=ledger.steps, **ledger.facts(), **self.last.pop("step", {}))
            self.trace.steps += 1
        if self.limit is not None and self.trace.steps >= self.limit:
            raise Enough

    def scheduled(self, scheduler: Any, step: Callable[[], Any]) -> Any:
        """A scheduler steps."""
        optimiser = getattr(scheduler, "optimizer", None)
        before = _rate(optimiser)
        value = step()
        with self.looking():
            ledger = self.ledgers.get(optimiser) if isinstance(optimiser, Optimizer) else None
            done = ledger.steps if ledger else None
            key = ledger.key if ledger else 0
            self.note("scheduler_step", optimiser=key, before=before, after=_rate(optimiser), done=done)
        return value


def _rate(optimiser: Any) -> float:
    return max((float(group["lr"]) for group in optimiser.param_groups), default=0.0) if optimiser else 0.0
