"""What people see of a search: the answer, the picture of the front, tables, what the surrogate learned."""

from pathlib import Path

from vitruvius.core import files
from vitruvius.core.blocks import Block, Panels, Scatter, Table, Text
from vitruvius.core.counted import counted
from vitruvius.render import figures, page
from vitruvius.searching.results import Learned, Network, Result, csv_row, front_table, networks_table

PRICES = {"params": "parameters", "macs": "multiply-adds per image", "ms": "milliseconds per image"}
WIDE_RANGE = 5
"""Prices whose largest is more than this many times the smallest are drawn on a log axis."""


def write(folder: Path, result: Result) -> None:
    """Write networks.csv, front.png and report.html, from the result alone."""
    lengths = [rung.steps for rung in result.plan.rungs]
    rows = [csv_row(network, lengths) for network in result.networks]
    files.write(folder / "networks.csv", files.csv_text(rows))
    figures.write_png(pictures(result), folder / "front.png")
    files.write(folder / "report.html", page.page(f"Search on {result.data}", blocks(result)))


def blocks(result: Result) -> list[Block]:
    """The page: the answer, then the pictures, then the tables."""
    return [
        *result.answer(),
        *pictures(result).figures,
        front_table(result),
        networks_table(result, len(result.networks)),
        *([Text(text="What the surrogate learned", style="title")] if result.learned else []),
        *result.lessons(len(result.networks)),
        *(weights_table(learned) for learned in result.learned if learned.used),
        Text(text="How it was searched", style="title"),
        Text(text=about(result)),
        Text(text=result.order),
    ]


def about(result: Result) -> str:
    """Say in a paragraph what was done, in the order of the stages."""
    plan = result.plan
    trained = {
        rung.steps: sum(rung.steps in network.short for network in result.networks) for rung in plan.rungs
    }
    rungs = ", ".join(
        f"{counted(count, 'network')} for {counted(steps, 'step')}" for steps, count in trained.items()
    )
    finalists = counted(sum("finalist" in network.roles for network in result.networks), "finalist")
    return (
        f"{result.drawn:,} networks of the space {result.space} were drawn with seed {result.seed}; "
        f"{result.fitting:,} fit the budget. Trained were {rungs or 'no networks shortly'}, then {finalists} "
        f"for {plan.steps:,} steps with two seeds, the learning rate constant until its last fifth. "
        f"Accuracies are those on {result.validation_images:,} validation images; intervals hold the seeds "
        "and the images, and those of gains are corrected for the choice among the finalists."
    )


def pictures(result: Result) -> Panels:
    """The front, and how short trainings predicted long ones."""
    shown = [front(result)]
    lengths = [rung.steps for rung in result.plan.rungs]
    if lengths and sum(bool(network.full) for network in result.networks) > 1:
        shown.append(agreement(result, lengths[0]))
    return Panels(title=f"Search on {result.data}", figures=tuple(shown))


def front(result: Result) -> Scatter:
    """Accuracy against price of all fully trained networks, with intervals; the winner is named first."""
    kind = result.front_price
    known = [network for network in result.networks if network.full and network.price(kind) is not None]
    prices = tuple(float(network.price(kind) or 0) for network in known)
    intervals = [network.interval for network in known]
    low, high = ([100 * (getattr(found, end) or 0) for found in intervals] for end in ("low", "high"))
    return Scatter(
        title="Validation accuracy against price, 95 % intervals",
        x=prices,
        y=tuple(100 * (found.value or 0) for found in intervals),
        low=tuple(low),
        high=tuple(high),
        names=tuple(_label(network, result) for network in known),
        x_label=PRICES[kind],
        y_label="validation accuracy in %",
        log_x=bool(prices) and max(prices) > WIDE_RANGE * max(min(prices), 1e-9),
    )


def agreement(result: Result, steps: int) -> Scatter:
    """Accuracy of full trainings against that of the short ones."""
    known = [network for network in result.networks if network.full and steps in network.short]
    return Scatter(
        title=f"Full trainings against those of {steps:,} steps",
        x=tuple(100 * network.short[steps] for network in known),
        y=tuple(100 * (network.interval.value or 0) for network in known),
        low=tuple(100 * (network.interval.low or 0) for network in known),
        high=tuple(100 * (network.interval.high or 0) for network in known),
        names=tuple(network.name for network in known),
        x_label=f"validation accuracy after {steps:,} steps, in %",
        y_label=f"after {result.plan.steps:,} steps, in %",
    )


def weights_table(learned: Learned) -> Table:
    """The features by their weight."""
    ordered = sorted(learned.weights.items(), key=lambda pair: -abs(pair[1]))
    title = f"Weights, {learned.step}: points of accuracy per standard deviation of a feature"
    return Table(title=title, columns=("feature", "points"), rows=tuple(ordered))


def _label(network: Network, result: Result) -> str:
    """The name of a network, and whether it is recommended or on the front."""
    if network.name == result.winner.name:
        return f"{network.name} (recommended)"
    return f"{network.name}{' (front)' if network.name in result.front else ''}"
