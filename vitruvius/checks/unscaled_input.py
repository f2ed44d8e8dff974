"""Inputs are not scaled: the first layer gets numbers far from mean 0 and deviation 1."""

from vitruvius.checks import Backward, Finding, Findings, Trace, lines, named, training
from vitruvius.checks._losses import has_fallen

SICK = training(
    "x = torch.randint(0, 256, (16, 3)).float()",
    "F.l1_loss(net(x), x[:, :2] / 256).backward()  # here",
    net="nn.Linear(3, 2)",
    optimiser="SGD(net.parameters(), lr=1e-6)",
)
HEALTHY = SICK.replace("net(x)", "net(x / 255)")
MEAN, DEVIATION, MAGNITUDE = 2.0, 5.0, 10.0
CONSEQUENCES = ("rate_too_high", "exploding", "dead_relu", "initial_loss", "saturated", "non_finite")


def unscaled_input(trace: Trace) -> Findings:
    """Mean and deviation of what the first layer is given; only a note while the loss falls all the same."""
    seen = [(event, event.first_input) for event in trace.forwards() if event.first_input is not None]
    for event, (mean, deviation, largest) in seen[:3]:
        if (abs(mean) > MEAN or deviation > DEVIATION) and largest > MAGNITUDE:
            yield Finding(
                where=event.where,
                module=named(trace, event.first_layer),
                also=lines(trace.of(Backward)[:1]),
                evidence=f"the first layer gets values of mean {mean:.3g} and deviation {deviation:.3g}, "
                f"up to {largest:.3g}",
                why="large and uneven inputs make gradients of very different size: no rate suits all "
                "weights",
                fix="subtract the mean and divide by the deviation of the training data (bytes: divide by "
                "255)",
                severity="info" if has_fallen(trace) else "warning",
                explains=CONSEQUENCES,
            )
            return
