"""A recurrent state goes into the next step with its graph: it is not detached between batches."""

from vitruvius.checks import Findings, StateCarried, Trace, exact_error

HEALTHY = """
import torch
from torch import nn
cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
state = torch.zeros(8, 4)
for step in range(6):
    optimizer.zero_grad()
    state = cell(torch.randn(8, 3), state.detach())  # here
    try:
        head(state).square().mean().backward()
    except RuntimeError as error:
        print(error)
        break
    optimizer.step()
"""
SICK = HEALTHY.replace(".detach()", "")


def hidden_state_kept(trace: Trace) -> Findings:
    """A loss whose graph goes back into a pass of the same network before the last backward pass."""
    for event in trace.of(StateCarried)[:1]:
        held = f"the attribute {event.holder}" if event.holder else "an argument of this call"
        yield exact_error(
            where=event.where,
            evidence=f"{held} is an output of an earlier pass, which a backward pass has used already, and "
            "the loss goes back through it again",
            why="backward() then runs into the graphs of all earlier batches, which are freed or whose "
            "weights "
            "have changed: an error, or ever longer steps",
            fix="state = state.detach() before the next batch (for an LSTM both tensors)",
            explains=("backward_without_step", "inplace_saved_tensor", "accumulation_scale"),
        )
