"""A loss that is NaN or infinite, with the place where that begins."""

from vitruvius.checks import Findings, Forward, NonFinite, Trace, exact_error, lines, named, training

SICK = training("net(torch.randn(8, 3)).mul(1e30).square().mean().backward()  # here", net="nn.Linear(3, 2)")
HEALTHY = SICK.replace("mul(1e30)", "mul(0.5)")


def non_finite(trace: Trace) -> Findings:
    """The first backward pass of a loss that is NaN or infinite."""
    for event in trace.of(NonFinite):
        forwards = [found for found in trace.of(Forward) if found.step <= event.step]
        begun = event.origin != "the weights"
        yield exact_error(
            where=event.where,
            module=named(trace, event.origin.removeprefix("module ")),
            also=lines(forwards[-1:]),
            evidence=f"at step {event.step} the loss is NaN or infinite; it begins in {event.origin}",
            why="log(0), division by zero, an overflow or NaN in the data; one such step spoils all weights",
            fix="log(x + eps) or log_softmax, clean the data, or a smaller learning rate if the loss grew "
            "before",
            explains=("dead_relu", "rate_too_low", "unscaled_input", "shuffled_labels") if begun else (),
        )
