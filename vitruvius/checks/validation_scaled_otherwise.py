"""Validation inputs are on another scale than training inputs: not normalised, or otherwise."""

from vitruvius.checks import EvaluationInputs, Finding, Findings, Trace, training
from vitruvius.checks._definitions import held_out_line

EVALUATION = """
    with torch.no_grad():
        F.mse_loss(net(held), held.sum(1, keepdim=True) / 255)
"""
SICK = training(
    "x = 255 * torch.rand(32, 4)",
    "F.mse_loss(net(x / 255), x.sum(1, keepdim=True) / 255).backward()",
    net="nn.Linear(4, 1)",
    init="held = 255 * torch.rand(32, 4)  # here",
) + EVALUATION.lstrip("\n")
HEALTHY = SICK.replace("net(held)", "net(held / 255)")
TIMES, SHIFT = 1.8, 0.8


def validation_scaled_otherwise(trace: Trace) -> Findings:
    """Evaluation inputs far outside the range of training batches, or scaled by statistics of their own."""
    for line in trace.of(EvaluationInputs):
        if line.own_scale and line.trained:
            yield _finding(
                line.where,
                f"the inputs of each evaluation have exactly mean 0 and deviation 1: they were scaled by the "
                f"{line.own_scale} of their own",
                own=True,
            )
            return
        again = line.passes > 1 and line.steps > 1
        if len(line.trained) < 2 or not (again or line.compared):
            continue
        if all(_is_far(scale, line.trained) for scale in line.scales):
            (mean, std), (mean_t, std_t) = line.scales[0], line.trained[0]
            said = f"evaluation inputs have mean {mean:.3g} and deviation {std:.3g}, training batches mean "
            said += f"{mean_t:.3g} and deviation {std_t:.3g}, in all {len(line.scales)} passes looked at"
            yield _finding(line.where, said)
            return


def _finding(where: str, evidence: str, own: bool = False) -> Finding:
    """A warning; only a note where rows are scaled by their own statistics, which may be nearly the same."""
    return Finding(
        where=held_out_line(where) or where,
        also=(where,),
        evidence=evidence,
        severity="info" if own else "warning",
        confidence="exact" if own else "heuristic",
        why="the same reading becomes another number than in training: the network is asked about what it "
        "was never trained on",
        fix="apply the same normalisation, with the statistics of the training set, to both",
        explains=("unscaled_input",),
    )


def _is_far(scale: tuple[float, float], trained: tuple[tuple[float, float], ...]) -> bool:
    mean, std = scale
    means, stds = [pair[0] for pair in trained], [pair[1] for pair in trained]
    wide = max(*stds, 1e-12)
    if std > TIMES * wide or std * TIMES < min(stds):
        return True
    return max(min(means) - mean, mean - max(means)) > SHIFT * wide
