"""A frozen BatchNorm goes on moving: its weights are frozen, its running statistics are not."""

from vitruvius.checks import Finding, Findings, Trace, named, training

LESSON = "normalisation"
SICK = training(
    "net.train()",
    "x = torch.randn(8, 3)",
    "F.mse_loss(net(x), x[:, :1]).backward()  # here",
    net="nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))",
    init="net[0].requires_grad_(False)\nnet[1].requires_grad_(False)",
    optimiser="SGD(net[3].parameters(), lr=0.01)",
)
HEALTHY = SICK.replace("net.train()", "net[1].eval()")


def frozen_batchnorm_moves(trace: Trace) -> Findings:
    """BatchNorm in training mode whose weights no optimiser moves, in a network that learns elsewhere."""
    forwards = [event for event in trace.forwards() if event.frozen_norm]
    held = trace.optimised()
    for event in forwards[:1] if len(forwards) > 1 else ():
        own = [
            (key, parameter)
            for key, parameter in trace.parameters.items()
            if parameter.network == event.network and parameter.name.startswith(f"{event.frozen_norm}.")
        ]
        learns = any(p.trainable and p.network == event.network for p in trace.parameters.values())
        # The discriminator of a GAN is frozen for a moment only: it has an optimiser of its own.
        if not own or not learns or any(key in held and p.changed or p.trainable for key, p in own):
            continue
        yield Finding(
            where=event.where,
            module=named(trace, event.frozen_norm),
            evidence=f"{event.frozen_norm} has frozen weights and ran in training mode in {len(forwards)} "
            "passes",
            why="its running mean and variance drift towards the new data and each batch changes what "
            "the frozen "
            "layers say",
            fix="call .eval() on the frozen part after every net.train()",
            confidence="exact",
        )
