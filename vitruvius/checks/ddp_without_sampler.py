"""Several processes train on the same batches: the DataLoader has no DistributedSampler."""

import linecache
import re

from vitruvius.checks import Finding, Findings, LoaderUsed, Trace

SICK = """
import torch
from torch import distributed, nn
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
rows = TensorDataset(torch.randn(64, 3))
loader = DataLoader(rows, 8, shuffle=True)  # here
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(2):
    for (x,) in loader:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
distributed.destroy_process_group()
"""
HEALTHY = SICK.replace("shuffle=True", "sampler=DistributedSampler(rows)").replace(
    "    for (x,)", "    loader.sampler.set_epoch(epoch)\n    for (x,)"
)
PLAIN = ("RandomSampler", "SequentialSampler")
SHARDED = re.compile(r"[\w)\]]\[[^\]]*rank[^\]]*:[^\]]*\]|shard|split_dataset_by_node|range\(\w*rank")


def ddp_without_sampler(trace: Trace) -> Findings:
    """A loader of whole data that is trained on by a process group, with a plain sampler."""
    wrapped = any(event.name == "DistributedDataParallel" for event in trace.forwards())
    for event in trace.of(LoaderUsed):
        together = event.processes > 1 or (event.grouped and wrapped)
        plain = event.sampler in PLAIN and event.dataset != "Subset"
        if together and event.trained and plain and not _is_sharded(event.built or event.where):
            alone = " (one process in this run)" if event.processes == 1 else ""
            yield Finding(
                where=event.built or event.where,
                also=(event.where,),
                evidence=f"{event.processes} processes{alone}, and the sampler of {event.dataset} is "
                f"{event.sampler}: every process goes through all rows",
                why="processes that are seeded alike train on the same batches: as many epochs, no more data",
                fix="DataLoader(..., sampler=DistributedSampler(dataset)) and sampler.set_epoch(epoch) in "
                "each epoch",
            )
            return


def _is_sharded(where: str) -> bool:
    """Whether the source cuts the data by rank itself."""
    return bool(SHARDED.search("".join(linecache.getlines(where.rpartition(":")[0]))))
