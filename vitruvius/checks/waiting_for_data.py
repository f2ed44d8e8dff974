"""Training waits for its data longer than it computes."""

from vitruvius.checks import Findings, LoaderUsed, Trace, exact_note

SICK = """
import time, torch
from torch.utils.data import DataLoader
def slow(rows):
    time.sleep(0.05)
    return torch.stack(rows)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x in DataLoader(torch.randn(64, 3), 8, shuffle=True, collate_fn=slow):  # here
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("    time.sleep(0.05)\n", "")
SHARE, FEWEST = 0.5, 5


def waiting_for_data(trace: Trace) -> Findings:
    """Most batches take longer than the work on them; counted, so that load changes little."""
    for event in trace.of(LoaderUsed):
        if event.trained and event.batches >= FEWEST and event.late > SHARE * event.batches:
            yield exact_note(
                where=event.built or event.where,
                also=(event.where,),
                evidence=f"{event.late} of {event.batches} batches took longer than the work on the one "
                f"before, with {event.workers} workers: {1000 * event.waited:.1f} ms for a batch, then "
                f"{1000 * event.computed:.1f} ms until the next is asked for (medians)",
                why="the processor or GPU that trains stands idle meanwhile",
                fix="num_workers=4 or more and persistent_workers=True, or prepare the rows once and keep "
                "them",
            )
            return
