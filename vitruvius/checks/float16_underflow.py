"""Gradients in float16 become zero: they are too small for it, and the loss is not scaled."""

from statistics import median

from vitruvius.checks import (
    Criterion,
    Finding,
    Findings,
    Gradients,
    OptimiserEvent,
    Step,
    Trace,
    exact_error,
    lines,
    training,
)
from vitruvius.checks._losses import loss_scale

SICK = training(
    "x = torch.randn(16, 8)",
    "with torch.autocast('cpu', dtype=torch.float16):",
    "    scores = net(x)",
    "    loss = F.mse_loss(scores, x) * 1e-6",
    "loss.backward()  # here",
    net="nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))",
    optimiser="Adam(net.parameters(), lr=0.01)",
)
HEALTHY = SICK.replace("torch.float16", "torch.bfloat16")
ZEROS = 0.3  # fraction of a weight matrix whose gradient is exactly zero


def float16_underflow(trace: Trace) -> Findings:
    """Gradients that are mostly zero in float16 without a scaled loss; or an eps that is zero in it."""
    for built in trace.of(OptimiserEvent):
        if built.tiny_eps and any(event.optimiser == built.optimiser for event in trace.of(Step)):
            yield exact_error(
                where=built.where,
                also=lines(event for event in trace.of(Step) if event.optimiser == built.optimiser),
                evidence=f"the parameters of {built.name} are float16, in which its eps is zero",
                why="its squared gradients round to zero in float16 too: it divides by zero, and weights "
                "become NaN or infinite",
                fix="keep the weights in float32 and use torch.autocast with a GradScaler, or bfloat16",
                explains=(
                    "non_finite",
                    "nan_source",
                    "rate_too_high",
                    "exploding",
                    "rate_too_low",
                    "dead_relu",
                ),
            )
            return
    looked = [event for event in trace.of(Gradients) if event.zeros]
    if not looked or loss_scale(trace) > 1:
        return
    layers = {key: p.layer for key, p in trace.parameters.items()}
    shares = [
        median([share for key, share in event.zeros.items() if layers.get(key) != "Embedding"] or [0.0])
        for event in looked
    ]
    half = any(event.details and event.details.dtype == "float16" for event in trace.of(Criterion))
    if len(shares) > 1 and min(shares) > ZEROS:
        yield Finding(
            where=looked[0].where,
            evidence=f"float16 is used and the loss is not scaled; {min(shares):.0%} or more of the "
            f"gradients of half of the weight matrices are exactly zero in {len(shares)} backward passes"
            + (" (the predictions are float16)" if half else ""),
            why="float16 knows no number below 6e-8: what is smaller is rounded to zero on its way back",
            fix="torch.amp.GradScaler: scaler.scale(loss).backward(), or bfloat16, which needs none",
            explains=("vanishing", "rate_too_low", "dead_relu"),
        )
