"""A frozen BatchNorm goes on moving: its weights are frozen, its running statistics are not."""

from vitruvius.checks import Finding, Findings, Forward, Step, Trace, named, training
from vitruvius.checks._places import frozen_line, training_line

LESSON = "normalisation"
SICK = training(
    "net.train()  # here",
    "x = torch.randn(8, 3)",
    "F.mse_loss(net(x), x[:, :1]).backward()",
    net="nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))",
    init="net[0].requires_grad_(False)\nnet[1].requires_grad_(False)",
    optimiser="SGD(net[3].parameters(), lr=0.01)",
)
HEALTHY = SICK.replace("net.train()", "net[1].eval()")


def frozen_batchnorm_moves(trace: Trace) -> Findings:
    """BatchNorm in training mode whose weights no optimiser moves any more, while others learn."""
    passes = [event for event in trace.forwards() if event.frozen_norm and event.frozen_keys]
    for norm, here in trace.grouped(passes, "frozen_keys").items():
        first = next((place for place, event in enumerate(trace.events) if event is here[0]), 0)
        later = trace.events[first:]
        steps = sum(isinstance(event, Step) for event in later)
        # The discriminator of a GAN is frozen for a moment only.
        thawed = any(
            isinstance(event, Forward) and event.grad and event.batch_norm and event.frozen_keys != norm
            for event in later
            if getattr(event, "network", None) == here[0].network
        )
        learns = any(known.trainable and known.changed for known in trace.parameters.values())
        # A copy that follows the network as an average moves without gradients, and so may its statistics.
        weights = [known for key, known in trace.parameters.items() if key in norm]
        follows = any(known.changed and not known.reached for known in weights)
        if len(here) < 2 or steps < 2 or thawed or follows or not learns:
            continue
        yield Finding(
            where=training_line(here[0].where) or frozen_line(here[0].where) or here[0].where,
            also=(here[0].where,),
            module=named(trace, here[0].frozen_norm) or here[0].frozen_norm,
            evidence=f"{here[0].frozen_norm} has frozen weights and ran in training mode in "
            f"{len(here)} passes",
            why="its running mean and variance drift towards the new data and each batch changes what the "
            "frozen layers say",
            fix="call .eval() on the frozen part after every net.train()",
            confidence="exact",
        )
        return
