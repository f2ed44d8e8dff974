"""Validation inputs are on another scale than training inputs: not normalised, or otherwise."""

from vitruvius.checks import EvaluationInputs, Finding, Findings, Trace, training

EVALUATION = """
    with torch.no_grad():
        F.mse_loss(net(held), held.sum(1, keepdim=True) / 255)  # here
"""
SICK = training(
    "x = 255 * torch.rand(32, 4)",
    "F.mse_loss(net(x / 255), x.sum(1, keepdim=True) / 255).backward()",
    net="nn.Linear(4, 1)",
    init="held = 255 * torch.rand(32, 4)",
) + EVALUATION.lstrip("\n")
HEALTHY = SICK.replace("net(held)", "net(held / 255)")
TIMES, SHIFT = 1.8, 0.8


def validation_scaled_otherwise(trace: Trace) -> Findings:
    """Mean or deviation of all evaluation inputs at a line is far outside the range of training batches."""
    for line in trace.of(EvaluationInputs):
        if len(line.trained) < 2 or line.passes < 2 or line.steps < 2:
            continue
        if all(_is_far(scale, line.trained) for scale in line.scales):
            (mean, std), (mean_t, std_t) = line.scales[0], line.trained[0]
            yield Finding(
                where=line.where,
                evidence=f"evaluation inputs have mean {mean:.3g} and deviation {std:.3g}, training "
                "batches mean "
                f"{mean_t:.3g} and deviation {std_t:.3g}, in all {len(line.scales)} passes looked at",
                why="the network is asked about numbers that it was never trained on",
                fix="apply the same normalisation, with the statistics of the training set, to both",
                explains=("unscaled_input",),
            )
            return


def _is_far(scale: tuple[float, float], trained: tuple[tuple[float, float], ...]) -> bool:
    mean, std = scale
    means, stds = [pair[0] for pair in trained], [pair[1] for pair in trained]
    wide = max(*stds, 1e-12)
    if std > TIMES * wide or std * TIMES < min(stds):
        return True
    return max(min(means) - mean, mean - max(means)) > SHIFT * wide
