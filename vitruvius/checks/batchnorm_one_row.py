"""BatchNorm is trained with batches of one row: it has nothing to normalise over."""

from vitruvius.checks import (
    BatchNormFailed,
    Finding,
    Findings,
    Forward,
    Trace,
    exact_error,
    lines,
    named,
    training,
)

LESSON = "normalisation"
SICK = training(
    "net.train()",
    "net(torch.randn(1, 3, 6, 6)).square().mean().backward()  # here",
    "net.eval()",
    "with torch.no_grad():",
    "    out = net(torch.randn(4, 3, 6, 6))",
    net="nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2))",
)
HEALTHY = SICK.replace("torch.randn(1, 3", "torch.randn(8, 3")


def batchnorm_one_row(trace: Trace) -> Findings:
    """A BatchNorm that refused its batch, or training batches that all have one row."""
    for failed in trace.of(BatchNormFailed)[-1:]:
        seen = [event.size for event in trace.forwards() if event.batch_norm and event.training]
        last = " after larger ones: the last batch of the data" if any(size > 1 for size in seen) else ""
        yield exact_error(
            where=failed.where,
            module=named(trace, failed.module) or failed.module,
            evidence=f"BatchNorm in training mode was given {list(failed.shape)}, one value per "
            f"channel{last}",
            why="a mean over one value leaves zero, so torch refuses it",
            fix="DataLoader(..., drop_last=True), larger batches, or LayerNorm or GroupNorm",
        )
        return
    forwards = [event for event in trace.forwards() if event.batch_norm and event.training and event.size]
    if len(forwards) > 2 and all(event.size == 1 for event in forwards):
        networks = {event.network for event in forwards}
        uses = any(event.eval_module and event.network in networks for event in trace.of(Forward))
        yield Finding(
            where=forwards[0].where,
            also=lines(forwards),
            module=named(trace, forwards[0].batch_norm),
            evidence=f"all {len(forwards)} training batches have one row; {forwards[0].batch_norm} "
            "normalises each by itself" + (", and eval mode uses the running statistics" if uses else ""),
            why="the mean and deviation of one image are those of no data set: in eval mode the network is "
            "another one",
            fix="larger batches, or GroupNorm or InstanceNorm, which need none",
            severity="warning" if uses else "info",
            confidence="exact",
        )
