"""Explain how the latent size of autoencoders mattered in a run, in sentences with the run's numbers."""

from collections.abc import Iterator

from vitruvius.core.blocks import Block, Text
from vitruvius.pretraining.results import Result

NOTABLE = 0.01  # a difference of accuracies worth a sentence
_TRAINING = ("that of random weights", "what helps to reconstruct also tells the classes apart")
_LINEAR_TRAINING = (
    "a random projection, which keeps a little of every direction",
    "training turns it to the directions of large variance, and these carry the classes",
)
"""What a code is before training, and what training makes of it."""
Losses = dict[int, float]  # validation loss by latent size, smallest first
Accuracies = dict[int, tuple[float, float]]
"""Probe accuracy before and after training by latent size, smallest first."""


def answer(result: Result, linear: bool) -> list[Block]:
    """Say how the latent size affects reconstruction and probe, and why; nothing about a run of one size."""
    objective = result.outcomes[0].objective
    sizes = [one for one in result.outcomes if one.objective == objective]
    if len(sizes) < 2:
        return []
    losses = {one.latent: one.val_loss for one in sizes if one.val_loss is not None}
    accuracies: Accuracies = {}
    for one in sizes:
        if one.accuracy_before is not None and one.accuracy is not None:
            accuracies[one.latent] = (one.accuracy_before, one.accuracy)
    paragraphs = [_about_loss(objective, losses, result)] if losses else []
    if accuracies:
        paragraphs.append(_about_probe(objective, accuracies, result, linear))
        paragraphs.append(_about_other_objectives(accuracies, result))
    title = Text(text="How does the latent size matter, and why?", style="title")
    return [title, *(Text(text=" ".join(sentences)) for sentences in map(list, paragraphs) if sentences)]


def _about_loss(objective: str, losses: Losses, result: Result) -> Iterator[str]:
    """The first half of the answer: reconstruction."""
    values = ", ".join(f"{loss:.4g} at latent {latent}" for latent, loss in losses.items())
    yield f"Reconstruction ({objective}): the validation loss is {values}."
    falls = list(losses.values()) == sorted(losses.values(), reverse=True)
    end = "falls as the latent size grows" if falls else "does not fall with every step of the latent size"
    yield f"It {end}."
    features, variance = result.features, result.variance
    optimum = {c.latent: c.optimum for c in result.certificates}
    if optimum:
        left = ", ".join(f"{optimum[latent]:.4g} at {latent}" for latent in sorted(optimum))
        yield (
            f"Why: of a total variance of {variance:.4g} a linear code of k numbers keeps at most the k "
            f"directions of largest variance; on the training samples PCA, the best such code, leaves {left}."
        )
    else:
        yield f"Why: a code with fewer numbers than the {features} of a sample must give up a part of it."
    wide = [(latent, loss) for latent, loss in losses.items() if latent >= features]
    if wide:
        latent, loss = wide[0]
        yield (
            f"From latent {latent} on a code has no fewer numbers than a sample ({features}) and could copy "
            f"it: {loss:.4g} is left, {loss / variance:.2%} of the variance."
        )
    if len(wide) > 1:
        gain = (wide[0][1] - wide[-1][1]) / variance
        yield f"Going on to latent {wide[-1][0]} wins {gain:.2%} of the variance more."


def _about_probe(objective: str, accuracies: Accuracies, result: Result, linear: bool) -> Iterator[str]:
    """The second half of the answer: the probe."""
    values = ", ".join(f"{before:.1%} -> {after:.1%} at {k}" for k, (before, after) in accuracies.items())
    yield f"Probe ({objective}), before -> after training, by latent size: {values}."
    small, best = next(iter(accuracies)), _best(accuracies)
    lost = accuracies[best][1] - accuracies[small][1]
    if lost > NOTABLE:
        kept = [1 - c.optimum / result.variance for c in result.certificates if c.latent == small]
        fraction = f": it holds at most {kept[0]:.0%} of the variance" if kept else ""
        yield (
            f"Latent {small} stays {_points(lost)} below latent {best}, because so few numbers cannot hold "
            f"all that tells the classes apart{fraction}."
        )
    gains = {latent: after - before for latent, (before, after) in accuracies.items()}
    most = max(gains, key=gains.__getitem__)
    if gains[most] <= NOTABLE:
        yield f"Training wins at most {_points(max(0.0, gains[most]))} at any size."
    else:
        before, after = _LINEAR_TRAINING if linear else _TRAINING
        where = f"latent {most} (+{_points(gains[most])})"
        yield f"Training matters most at {where}: before, the code is {before}; {after}."
    last = max(accuracies)
    if linear and last >= result.features:
        change = f"{'adds' if gains[last] >= 0 else 'costs'} {_points(abs(gains[last]))}"
        yield (
            f"At latent {last} even untrained features reach {accuracies[last][0]:.1%} and training "
            f"{change}: a random linear map into no fewer dimensions than the {result.features} of a sample "
            "loses nothing, so there is nothing to win back."
        )


def _about_other_objectives(accuracies: Accuracies, result: Result) -> Iterator[str]:
    """Compare the objectives at the latent size where the first one's probe is best."""
    best = _best(accuracies)
    beside = [one for one in result.outcomes if one.latent == best and one.accuracy is not None]
    if len(beside) < 2:
        return
    named = []
    for one in beside:
        loss = "unknown" if one.val_loss is None else f"{one.val_loss:.4g}"
        named.append(f"{one.objective} {one.accuracy:.1%} (loss {loss})")
    yield (
        f"By objective, at latent {best}: {', '.join(named)}. The losses are those of clean inputs: denoise "
        "and mask minimise the error of answers to corrupted ones, so theirs may be higher though the "
        "features are as good."
    )


def _best(accuracies: Accuracies) -> int:
    return max(accuracies, key=lambda latent: accuracies[latent][1])


def _points(difference: float) -> str:
    return f"{100 * difference:.1f} points"
