"""Dropout stays active in eval mode: F.dropout was called without training=self.training."""

from vitruvius.checks import DropoutInEval, Findings, Forward, Trace, exact_error, lines, training
from vitruvius.checks._patches import trained_flag

LESSON = "dropout"
SICK = """
import torch
class Net(torch.nn.Linear):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.5)  # here
"""
SICK += training(net="Net(3, 8)") + "with torch.no_grad(): print(net.eval()(torch.randn(8, 3)).mean())\n"
HEALTHY = SICK.replace("0.5)  # here", "0.5, training=self.training)")


def dropout_in_eval(trace: Trace) -> Findings:
    """A functional dropout that drops inside a module that is in eval mode."""
    active = trace.of(DropoutInEval)
    if active:
        evaluated = [event for event in trace.of(Forward) if not event.training]
        yield exact_error(
            where=active[0].where,
            also=lines(evaluated),
            evidence=f"{len(active)} times a share of {active[0].p:g} was dropped in a module in eval mode",
            why="functional dropout knows nothing of eval(): its argument training is True unless told "
            "otherwise",
            fix="F.dropout(x, p, training=self.training), or a nn.Dropout module",
            patch=trained_flag(active[0].where),
        )
