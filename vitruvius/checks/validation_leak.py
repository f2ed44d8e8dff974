"""A part of the validation rows is trained on: the split overlaps."""

from vitruvius.checks import EvaluationInputs, Finding, Findings, Forward, Trace, lines
from vitruvius.checks._data_lines import split_line
from vitruvius.checks._definitions import held_out_line, scaled_as_a_whole, selected_by_labels
from vitruvius.checks._words import speaks_of_test

SICK = """
import torch
x = torch.randn(96, 3)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
order = torch.randperm(96)
train, valid = order[:64], order[56:]  # here
for epoch in range(3):
    for i in train[torch.randperm(64)].split(16):
        optimizer.zero_grad()
        net(x[i]).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        print(net(x[valid]).mean())
"""
HEALTHY = SICK.replace("order[56:]", "order[64:]")
LEAST, MOST, FEWEST, PIECES = 0.03, 0.95, 8, 0.5
LATE = 10  # passes before the first evaluation that show whether rows repeat within the training set


def validation_leak(trace: Trace) -> Findings:
    """Held-out rows that were trained on, wholly or in pieces, or whose labels chose the features."""
    found = [*_rows(trace), *_windows(trace), *_chosen(trace), *_scaled(trace)]
    yield from found[:1]


def _scaled(trace: Trace) -> Findings:
    """Data that were scaled by the statistics of all rows, held-out ones too; a small leak: only info."""
    evaluates = any(not event.grad for event in trace.of(Forward))
    line = scaled_as_a_whole(trace.forwards()[0].where) if trace.forwards() and evaluates else ""
    if line:
        yield Finding(
            where=line,
            evidence="the rows are scaled here by statistics of all of them, and are split only later",
            why="held-out rows take part in the mean and deviation that training uses",
            fix="split first, take the statistics of the training rows and apply them to both",
            severity="info",
        )


def _windows(trace: Trace) -> Findings:
    """Held-out rows that hold pieces of trained rows at another place: windows of one series that overlap."""
    for event in trace.of(EvaluationInputs):
        if event.shifted_rows > PIECES:
            yield Finding(
                where=held_out_line(event.where) or event.where,
                also=(event.where,),
                confidence="exact",
                evidence=f"{event.shifted_rows:.0%} of the evaluated rows looked at hold a piece of a "
                "trained row at another place, as windows of one series do that overlap",
                why="neighbouring windows share their numbers: the network has seen most of what it is asked",
                fix="split the series in time first, then cut windows inside each part",
            )
            return


def _chosen(trace: Trace) -> Findings:
    """Columns that are chosen by the labels of all rows, before these are split."""
    trained = trace.forwards()
    for where, name in selected_by_labels(trained[0].where) if trained else ():
        yield Finding(
            where=where,
            also=(trained[0].where,),
            evidence=f"columns are chosen here by means of {name}, the labels of all rows, which are split "
            "only later",
            why="held-out labels have decided which features are used: the score is good even for noise",
            fix="split first and choose the features by the training rows only",
        )
        return


def _rows(trace: Trace) -> Findings:
    """Evaluations after the first epoch, of which some rows had been trained on and others never are."""
    trained = trace.forwards()
    if not trained or any(event.size > event.rows for event in trained):
        return  # of larger batches only some rows are known
    networks = {event.network for event in trained}
    held = [event for event in trace.of(Forward) if not event.grad and event.network in networks]
    held = [event for event in held if event.rows > 3 and event.single_input and speaks_of_test(event)]
    for line, passes in trace.grouped(held, "where").items():
        times = sorted({event.step for event in passes})
        once = len(times) == 1 and times[0] >= trace.steps
        if (len(times) < 2 and not once) or len(times) > max(1, trace.watched // 2):  # in every step
            continue
        last, earlier = (
            [_share(group) for group in _groups(passes, time)] for time in (times[-1], times[-2:][0])
        )
        # Of a training set more and more rows are known; what overlaps stays as it is after the first epoch.
        still = [
            share for share in last if LEAST < share < MOST and any(abs(share - e) < 0.02 for e in earlier)
        ]
        continuous = all(event.continuous for event in passes)
        if still and (continuous or not _repeats(trained, times[0], still[0])):
            rows = sum(event.rows for event in passes if event.step == times[-1])
            yield Finding(
                where=split_line(line) or line,
                also=(line, *lines(passes)),
                evidence=f"{still[0]:.0%} of the rows of the last evaluation ({rows} rows looked at) had "
                "been trained on, and as many in the one before",
                why="on rows it has seen a network looks better than it is; early stopping chooses by them",
                fix="split once, before training, into sets that share no row; look for duplicates",
            )
            return


def _repeats(trained: list[Forward], until: int, share: float) -> bool:
    """Whether rows of the first epoch equal earlier ones about as often: the data take few values."""
    first = [event for event in trained if event.step < until][-LATE:]
    rows = sum(event.rows for event in first)
    known = sum(event.trained_rows for event in first) / rows if rows else 0.0
    return share / 2 < known < MOST  # more: training has begun to see its rows again


def _groups(passes: list[Forward], step: int) -> list[list[Forward]]:
    """The passes at one step: those over one data loader together, others one by one."""
    groups: dict[int, list[Forward]] = {}
    for number, event in enumerate(event for event in passes if event.step == step):
        groups.setdefault(event.epoch or -number - 1, []).append(event)
    return list(groups.values())


def _share(group: list[Forward]) -> float:
    rows = sum(event.rows for event in group)
    return sum(event.trained_rows for event in group) / rows if rows >= FEWEST else 0.0
