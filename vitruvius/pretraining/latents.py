"""How the latent size of autoencoders mattered, and why: sentences made of a run's own numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vitruvius.core.blocks import Block, Text

Fields = Mapping[str, Any]
Rows = Sequence[Fields]
"""Outcomes of one objective, smallest latent first."""
NOTABLE = 0.01
"""A difference of accuracies worth a sentence."""


def answer(result: Fields, config: Fields) -> list[Block]:
    """How the latent size affects reconstruction and probe, and why; nothing about a run of one size."""
    objective = result["outcomes"][0]["objective"]
    sizes = [row for row in result["outcomes"] if row["objective"] == objective]
    if len(sizes) < 2:
        return []
    linear = config["model"] == "linear"
    paragraphs = []
    if sizes[0]["val_loss"] is not None:
        paragraphs.append(_about_loss(sizes, result))
    if sizes[0]["accuracy"] is not None:
        paragraphs.append(_about_probe(sizes, result, linear))
        paragraphs.append(_about_others(result["outcomes"], objective))
    title = Text(text="How does the latent size matter, and why?", style="title")
    return [title, *(Text(text=" ".join(sentences)) for sentences in map(list, paragraphs) if sentences)]


def _about_loss(sizes: Rows, result: Fields) -> Iterator[str]:
    """The first half of the answer: reconstruction."""
    losses = [row["val_loss"] for row in sizes]
    values = listed(f"{row['val_loss']:.4g} at latent {row['latent']}" for row in sizes)
    yield f"Reconstruction ({sizes[0]['objective']}): the validation loss is {values}."
    falls = all(a >= b for a, b in zip(losses, losses[1:], strict=False))
    yield (
        "It falls as the latent size grows."
        if falls
        else "It does not fall with every step of the latent size."
    )
    features, variance = result["features"], result["variance"]
    optimum = {c["latent"]: c["optimum"] for c in result["certificates"]}
    if optimum:
        left = listed(f"{optimum[latent]:.4g} at {latent}" for latent in sorted(optimum))
        yield (
            f"Why: of a total variance of {variance:.4g} a linear code of k numbers keeps at most the k directions of "
            f"largest variance; on the training samples PCA, the best such code, leaves {left}."
        )
    else:
        yield f"Why: a code with fewer numbers than the {features} of a sample must give up a part of it."
    wide = [row for row in sizes if row["latent"] >= features]
    if wide:
        share = wide[0]["val_loss"] / variance
        yield (
            f"From latent {wide[0]['latent']} on a code has no fewer numbers than a sample ({features}) and could copy "
            f"it: {wide[0]['val_loss']:.4g} is left, {share:.2%} of the variance."
        )
    if len(wide) > 1:
        gain = (wide[0]["val_loss"] - wide[-1]["val_loss"]) / variance
        yield f"Going on to latent {wide[-1]['latent']} wins {gain:.2%} of the variance more."


def _about_probe(sizes: Rows, result: Fields, linear: bool) -> Iterator[str]:
    """The second half of the answer: the probe."""
    values = listed(
        f"{row['accuracy_before']:.1%} -> {row['accuracy']:.1%} at {row['latent']}" for row in sizes
    )
    yield f"Probe ({sizes[0]['objective']}), before -> after training, by latent size: {values}."
    small, best = sizes[0], max(sizes, key=lambda row: row["accuracy"])
    if best["accuracy"] - small["accuracy"] > NOTABLE:
        kept = [
            1 - c["optimum"] / result["variance"]
            for c in result["certificates"]
            if c["latent"] == small["latent"]
        ]
        share = f": it holds at most {kept[0]:.0%} of the variance" if kept else ""
        yield (
            f"Latent {small['latent']} stays {_points(best['accuracy'] - small['accuracy'])} below latent "
            f"{best['latent']}, because so few numbers cannot hold all that tells the classes apart{share}."
        )
    most = max(sizes, key=_gain)
    if _gain(most) > NOTABLE:
        before = (
            "a random projection, which keeps a little of every direction"
            if linear
            else "that of random weights"
        )
        after = (
            "training turns it to the directions of large variance, and these carry the classes"
            if linear
            else "what helps to reconstruct also tells the classes apart"
        )
        where = f"latent {most['latent']} (+{_points(_gain(most))})"
        yield f"Training matters most at {where}: before, the code is {before}; {after}."
    else:
        yield f"Training wins at most {_points(max(0.0, _gain(most)))} at any size."
    wide = [row for row in sizes if row["latent"] >= result["features"]]
    if wide and linear:
        last = wide[-1]
        change = f"{'adds' if _gain(last) >= 0 else 'costs'} {_points(abs(_gain(last)))}"
        yield (
            f"At latent {last['latent']} even untrained features reach {last['accuracy_before']:.1%} and training "
            f"{change}: a random linear map into no fewer dimensions than the {result['features']} of a sample loses "
            "nothing, so there is nothing to win back."
        )


def _about_others(outcomes: Rows, objective: str) -> Iterator[str]:
    """How the other objectives compare, at the latent size where the first one's probe is best."""
    best = max((row for row in outcomes if row["objective"] == objective), key=lambda row: row["accuracy"])
    beside = [row for row in outcomes if row["latent"] == best["latent"]]
    if len(beside) < 2:
        return
    named = (f"{row['objective']} {row['accuracy']:.1%} (loss {_number(row['val_loss'])})" for row in beside)
    yield (
        f"By objective, at latent {best['latent']}: {listed(named)}. The losses are those of clean inputs: denoise and "
        "mask minimise the error of answers to corrupted ones, so theirs may be higher though the features are as good."
    )


def kinds(rows: Iterable[Fields]) -> dict[str, list[int]]:
    """The latent sizes of each objective, both in order."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row["objective"], set()).add(row["latent"])
    return {objective: sorted(latents) for objective, latents in found.items()}


def listed(words: Iterable[Any]) -> str:
    """Words with commas between them."""
    return ", ".join(map(str, words))


def _gain(row: Fields) -> float:
    return row["accuracy"] - row["accuracy_before"]


def _points(difference: float) -> str:
    return f"{100 * difference:.1f} points"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
