"""A recurrent state goes into the next step: with its graph, or into a batch of other sequences."""

from vitruvius.checks import Finding, Findings, StateCarried, Trace, exact_error

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
    """A loss that goes back into an earlier pass, or a state that is handed on between unrelated batches."""
    for event in trace.of(StateCarried)[:1]:
        if event.detached:
            yield _between_batches(event)
            return
        held = f"the attribute {event.holder}" if event.holder else "an argument of this call"
        yield exact_error(
            where=event.where,
            evidence=f"{held} is an output of an earlier pass, which a backward pass has used already, and "
            "the loss goes back through it again",
            why="backward() then runs into the graphs of all earlier batches, which are freed or whose "
            "weights have changed: an error, or ever longer steps",
            fix="state = state.detach() before the next batch (for an LSTM both tensors)",
            explains=("backward_without_step", "inplace_saved_tensor", "accumulation_scale"),
        )


def _between_batches(event: StateCarried) -> Finding:
    return Finding(
        where=event.where,
        evidence="an argument of this call is what the network returned for the batch before, and the loader "
        "shuffles: in all batches looked at the sequences are others",
        why="the state is that of sequences that have nothing to do with these: noise at the beginning of "
        "each, and another one when a single sequence is asked for",
        fix="begin every batch with a new state (zeros, or None); hand it on only if the batches continue "
        "the same sequences, in order",
    )
