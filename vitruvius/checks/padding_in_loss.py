"""Padding counts in the loss: the network learns to predict it."""

from vitruvius.checks import Finding, Findings, Targets, Trace, training

SICK = training(
    "text = torch.randint(1, 9, (8, 7)) * (torch.arange(7) < torch.randint(2, 8, (8, 1)))",
    "F.cross_entropy(net(text[:, :-1]).transpose(1, 2), text[:, 1:]).backward()  # here",
    net="nn.Sequential(nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9))",
    steps=8,
)
HEALTHY = SICK.replace("text[:, 1:])", "text[:, 1:], ignore_index=0)")


def padding_in_loss(trace: Trace) -> Findings:
    """Targets whose rows end in runs of one number, of different lengths, that occurs nowhere else."""
    events = trace.of(Targets)
    for line, here in trace.grouped(events, "where").items():
        padded = [event for event in here if event.padding is not None]
        values = {event.padding for event in padded}
        if len(padded) < 2 or 2 * len(padded) < len(here) or len(values) != 1:
            continue
        declared = any(event.declared for event in padded)
        if not declared and any(event.is_sorted for event in padded):
            continue
        numbers = padded[0].numbers
        if numbers and not declared and len({event.length for event in padded}) == 1:
            continue  # images and signals of one length may well end in blanks
        share = sum(event.padded for event in padded) / len(padded)
        (value,) = values
        yield Finding(
            where=line,
            evidence=f"{share:.0%} of the targets are {value:g}, "
            + ("where the network is told that a row has ended" if numbers else "at the ends of rows only")
            + (", and the embedding says padding_idx" if declared and not numbers else ""),
            why="the mean is taken over padding too: the loss looks small, and short rows teach little else",
            fix="reduction='none', times a mask, divided by its sum"
            if numbers
            else f"cross_entropy(..., ignore_index={value:g}), or a mask and a mean over what it keeps",
            severity="error" if declared and not numbers else "warning",
            confidence="exact" if declared and not numbers else "heuristic",
            explains=("rate_too_low",),
        )
