"""Several processes train on the same batches: the DataLoader has no DistributedSampler."""

from vitruvius.checks import Finding, Findings, LoaderUsed, Trace

SICK = """
import torch
from torch import distributed, nn
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
rows = TensorDataset(torch.randn(64, 3))
loader = DataLoader(rows, 8, shuffle=True)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(2):
    for (x,) in loader:  # here
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
distributed.destroy_process_group()
"""
HEALTHY = SICK.replace("shuffle=True", "sampler=DistributedSampler(rows)").replace(
    "    for (x,)", "    loader.sampler.set_epoch(epoch)\n    for (x,)"
)
PLAIN = ("RandomSampler", "SequentialSampler")


def ddp_without_sampler(trace: Trace) -> Findings:
    """A loader of whole data that is trained on in a group of several processes, with a plain sampler."""
    for event in trace.of(LoaderUsed):
        shared = (
            event.processes > 1 and event.trained and event.sampler in PLAIN and event.dataset != "Subset"
        )
        if shared:
            yield Finding(
                where=event.where,
                evidence=f"{event.processes} processes, and the sampler of {event.dataset} is "
                f"{event.sampler}: "
                "every process goes through all rows",
                why="processes that are seeded alike train on the same batches: as many epochs, no more data",
                fix="DataLoader(..., sampler=DistributedSampler(dataset)) and sampler.set_epoch(epoch) in "
                "each "
                "epoch",
            )
            return
