"""Workers of a DataLoader draw the same random numbers."""

from vitruvius.checks import Finding, Findings, LoaderUsed, Trace

SICK = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Noisy(Dataset):
    def __init__(self):
        self.generator = torch.Generator().manual_seed(0)
    def __len__(self):
        return 32
    def __getitem__(self, index):
        return index % 2 + torch.randn(3, generator=self.generator)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
for x in DataLoader(Noisy(), 8, num_workers=2):  # here
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("generator=self.generator", "")


def same_random_workers(trace: Trace) -> Findings:
    """Several workers with copies of one generator, or with one seed for all."""
    for event in trace.of(LoaderUsed):
        if event.workers > 1 and (event.generator or event.same_seed):
            held = f"each gets a copy of {event.generator} in the same state"
            yield Finding(
                where=event.built or event.where,
                also=(event.where,),
                confidence="exact",
                evidence=f"{event.workers} workers: "
                + (held if event.generator else "worker_init_fn gives all one seed"),
                why="rows of different workers get the same noise, crops and flips, and, if workers start "
                "anew, those of every epoch too",
                fix="draw from torch's own generator, which torch seeds for each worker, or seed with "
                "torch.initial_seed() in worker_init_fn",
            )
            return
