"""The operation that makes the first NaN or infinity: log(0), sqrt(0), 0 / 0, a mean of nothing."""

from vitruvius.checks import Findings, NanSource, Trace, exact_error, named, training

SICK = training(
    "h = net(torch.randn(8, 3))",
    "root = (h - h).square().sum(1).sqrt()  # here",
    "(h.square().mean() + root.mean()).backward()",
    net="nn.Linear(3, 2)",
    steps=1,
)
HEALTHY = SICK.replace(".sum(1).sqrt()", ".sum(1).add(1e-12).sqrt()")
REMEDIES = {
    "log": "log(x.clamp_min(1e-12)), log1p, log_softmax or logsigmoid",
    "sqrt": "sqrt(x + 1e-12): the slope of the root at 0 is infinite, whatever the other terms are",
    "pow": "(x + 1e-12) ** p: the slope of a root at 0 is infinite",
    "div": "divide by x.clamp_min(1e-12), or choose safe operands before the division",
    "softmax": "leave every query at least one key: softmax over nothing but -inf is NaN",
    "mean": "skip batches in which nothing is selected: the mean of no numbers is 0 / 0",
    "std": "the deviation of one number is 0 / 0, and its slope at equal numbers is infinite: more rows, or "
    "(var + 1e-12).sqrt()",
    "atan2": "its slope at (0, 0) is 0 / 0: add 1e-12 to one of them",
    "exp": "subtract the maximum first (logsumexp), or clamp the exponent",
    "cross_entropy": "skip batches without counted targets, or divide a sum by max(1, count)",
    "nll_loss": "skip batches without counted targets, or divide a sum by max(1, count)",
}
SAME = {
    "truediv": "div",
    "divide": "div",
    "true_divide": "div",
    "reciprocal": "div",
    "log2": "log",
    "log10": "log",
    "log1p": "log",
    "logit": "log",
    "var": "std",
    "hypot": "sqrt",
    "float_power": "pow",
}


def nan_source(trace: Trace) -> Findings:
    """The first such operation whose result, or whose derivative, was NaN or infinite."""
    for event in trace.of(NanSource):
        operation = event.operation.partition(" ")[0]
        remedy = REMEDIES.get(SAME.get(operation, operation), "clamp what it is given to where it is finite")
        if event.backward:
            said = (
                f"the loss is finite but its gradient is not: in {event.operation} {event.count} {event.what}"
            )
            why = (
                "there the derivative is infinite, and zero times infinity is NaN, even where a mask hides it"
            )
        else:
            said = (
                f"at step {event.step} the first NaN or infinity comes from {event.operation}: "
                f"{event.count} {event.what}"
            )
            why = "what it was given was finite; one such number spoils the loss and then all weights"
        yield exact_error(
            where=event.where,
            module=named(trace, event.module),
            evidence=said,
            why=why,
            fix=remedy,
            explains=("dead_relu", "rate_too_low", "unscaled_input", "shuffled_labels"),
        )
