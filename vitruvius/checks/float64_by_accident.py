"""Float64 where the network is float32: half the speed, for digits that nobody needs."""

from vitruvius.checks import Criterion, Finding, Findings, Trace, training

SICK = training(
    "x = torch.randn(8, 3)",
    "F.mse_loss(net(x), x.double().sum(1, keepdim=True)).backward()  # here",
)
HEALTHY = SICK.replace("x.double()", "x")


def float64_by_accident(trace: Trace) -> Findings:
    """A loss of float64 numbers although the weights, or torch's default, are float32."""
    import torch

    weights = {event.dtypes[1] for event in trace.forwards()}
    for event in trace.of(Criterion):
        facts = event.details
        if facts is None or not event.grad or torch.get_default_dtype() == torch.float64:
            continue
        mixed = "float64" in (facts.dtype, facts.target_dtype) and "float32" in weights
        whole = facts.dtype == "float64" and weights == {"float64"}
        if mixed or whole:
            what = (
                "the network and its data"
                if whole
                else f"predictions {facts.dtype}, targets {facts.target_dtype}"
            )
            yield Finding(
                where=event.where,
                evidence=f"{what} {'are float64' if whole else ''}while torch's default is float32".replace(
                    "  ", " "
                ),
                why="numpy's numbers are float64, and one such operand makes everything after it "
                "float64: twice the "
                "memory, and slower",
                fix="convert the data once: torch.from_numpy(a).float()",
                severity="info",
                confidence="exact",
            )
            return
