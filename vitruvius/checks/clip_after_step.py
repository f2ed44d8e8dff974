"""Gradients are clipped after the step has used them, or before there are any."""

from vitruvius.checks import BATCH, Clip, Findings, Trace, exact_error, lines, training

CLIP = "nn.utils.clip_grad_norm_(net.parameters(), 1.0)"
HEALTHY = training(BATCH, f"{CLIP}  # here")
SICK = training() + f"    {CLIP}  # here\n"
LARGEST = 1e6  # a larger limit only measures the norm


def clip_after_step(trace: Trace) -> Findings:
    """Clipping of an optimiser's gradients that never comes between a backward pass and a step."""
    clips = [event for event in trace.of(Clip) if event.limit < LARGEST]
    for optimisers in dict.fromkeys(event.optimisers for event in clips):
        own = [event for event in clips if set(event.optimisers) & set(optimisers)]
        useless = [event for event in own if event.useless]
        if len(useless) > 1 and len(useless) == len(own):
            first = useless[0]
            yield exact_error(
                where=first.where,
                also=lines(useless),
                evidence=f"all {len(useless)} calls of {first.name} (limit {first.limit:g}) came when no "
                "backward pass had run since the last step",
                why="step() has used the gradients as they were: clipping changes nothing",
                fix=f"call {first.name}() between backward() and step()",
            )
            return
