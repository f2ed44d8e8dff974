"""Gradients explode with depth: the first layers get many times what the last ones get."""

from collections import Counter

from vitruvius.checks import Finding, Findings, Parameter, Trace, training
from vitruvius.checks._depth import FIRST_STEPS, Profile, by_depth
from vitruvius.checks._layers import built_at

LESSON = "depth"
SICK = training(
    "x = torch.randn(8, 16)",
    "F.l1_loss(net(x), x[:, :1]).backward()",
    net="nn.Sequential(*(f for _ in range(16) for f in (nn.Linear(16, 16), nn.ReLU())), nn.Linear(16, 1))",
    init="for layer in net[:-1:2]: nn.init.normal_(layer.weight, std=1.0)  # here",
    optimiser="SGD(net.parameters(), lr=1e-12)",
)
HEALTHY = SICK.replace("std=1.0", "std=0.3").replace("1e-12", "1e-3")
LARGEST, GROWTH = 1e4, 1e4


def exploding(trace: Trace) -> Findings:
    """The ratio of first to last gradients, or the absolute size of the gradients, at the first steps."""
    # Layers before a normalisation get huge weights by the first step and small gradients after it.
    profiles = [profile for steps in (1, FIRST_STEPS) if (profile := by_depth(trace, steps))]
    profile = next((found for found in profiles if found.largest > GROWTH or _grows(found)), None)
    if profile is None:
        return
    weights = [known for known in trace.parameters.values() if known.reached and len(known.shape) > 1]
    own = Counter(known.initialised for known in weights).most_common(1)[0][0] if weights else ""
    yield Finding(
        where=own or built_at(trace, _deepest(weights)) or profile.where,
        also=(profile.where, profile.forward),
        evidence=f"gradients (RMS) reach {profile.largest:.1e} over {profile.layers} layers; "
        f"the first layers get {profile.ratio:.1e} times the last",
        why="each layer multiplies signal and gradient by more than one",
        fix="initialisation that keeps the variance (kaiming, xavier), normalisation, smaller weights",
        explains=("rate_too_high", "initial_loss", "non_finite", "saturated", "rate_too_low", "dead_relu"),
    )


def _deepest(weights: list[Parameter]) -> str | None:
    """The part of a network that holds most of its weights."""
    names = Counter(known.name.partition(".")[0] for known in weights if "." in known.name)
    return names.most_common(1)[0][0] if names else None


def _grows(profile: Profile) -> bool:
    """Whether the gradient grows layer by layer; one jump is a branch with a small gain."""
    some = profile.ratio**0.2
    return profile.ratio > LARGEST and some < profile.middle < profile.ratio / some
