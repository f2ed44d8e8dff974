"""A number is read from a tensor in every step: on a GPU each reading waits for all that is queued."""

from vitruvius.checks import Findings, NumbersRead, Trace, exact_note, training

SICK = training(
    "loss = net(torch.randn(8, 3)).square().mean()", "loss.backward()", "print(loss.item())  # here", steps=12
)
HEALTHY = SICK.replace("print(", "if step % 10 == 0: print(")
FEWEST, SHARE = 10, 0.9


def item_every_step(trace: Trace) -> Findings:
    """item() or tolist() in nearly all steps, at the line with most readings."""
    found = [event for event in trace.of(NumbersRead) if event.steps >= SHARE * trace.watched]
    if found and trace.watched >= FEWEST:
        most = max(found, key=lambda event: event.count)
        cost = 1000 * sum(event.seconds for event in found) / trace.watched
        yield exact_note(
            where=most.where,
            also=tuple(event.where for event in found),
            evidence=f"{sum(event.count for event in found) / trace.watched:.1f} readings per step at "
            f"{len(found)} lines took {cost:.3f} ms of each step on {most.device}",
            why="a GPU must finish everything that is queued before the number is there",
            fix="add up loss.detach() and read it every hundred steps",
        )
