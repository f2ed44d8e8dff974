"""Diagrams without axes: transport plans, graphs, grids of pictures."""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vitruvius.core.blocks import Graph, Heatmap, Pictures, TransportPlan
from vitruvius.render import charts, plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

Point = tuple[float, float]
SUPPLY, DEMAND, FLOW = plots.COLOURS[0], plots.COLOURS[1], "#8b949e"
PAPER = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
"""The box behind a label, so that lines do not cross it."""
LABEL: dict[str, Any] = {"ha": "center", "va": "center", "color": "black"}
ARROW: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 12, "color": "#6e7781", "linewidth": 1.2}
ARROW["zorder"] = 5  # after the nodes, whose boxes have their size only then: arrows stop at their edges


def plan(figure: TransportPlan, canvas: "FigureBase") -> charts.Size:
    """A transport plan; the area of a point is its mass, the width of an arrow the mass that it moves.

    Points on a line are drawn with supply above demand, points in a plane at their coordinates; in more
    dimensions the plan is shown as a matrix.
    """
    dimensions = {len(point) for point in (*figure.supply, *figure.demand)}
    if dimensions - {1, 2} or len(dimensions) != 1:
        matrix = Heatmap(title=figure.title, values=figure.masses, x_label="demand", y_label="supply")
        return charts.heatmap(matrix, canvas)
    on_a_line = dimensions == {1}
    supply = [(point[0], 1.0 if on_a_line else point[1]) for point in figure.supply]
    demand = [(point[0], 0.0 if on_a_line else point[1]) for point in figure.demand]
    axes = canvas.add_subplot(title=figure.title)
    _flows(axes, supply, demand, figure.masses)
    _points(axes, supply, [sum(row) for row in figure.masses], SUPPLY, "supply")
    _points(axes, demand, [sum(column) for column in zip(*figure.masses, strict=True)], DEMAND, "demand")
    axes.margins(0.12, 0.3 if on_a_line else 0.12)
    axes.grid(visible=True)
    axes.set_xlabel("place" if on_a_line else "first coordinate")
    charts.plain_ticks(axes.xaxis)
    if on_a_line:
        axes.set_yticks([1.0, 0.0], ["supply", "demand"])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return 7.2, 3.2
    axes.set_ylabel("second coordinate")
    charts.plain_ticks(axes.yaxis)
    axes.set_aspect("equal", adjustable="datalim")
    canvas.legend(loc="outside right upper", markerscale=0.5)
    return 6.4, 5.2


def _points(axes: "Axes", points: list[Point], masses: list[float], colour: str, label: str) -> None:
    largest = max(masses, default=1.0) or 1.0
    sizes = [120 + 480 * mass / largest for mass in masses]
    marker = "o" if colour == SUPPLY else "s"
    x, y = zip(*points, strict=True) if points else ((), ())
    axes.scatter(x, y, s=sizes, c=colour, marker=marker, label=label, zorder=3, edgecolors="white")
    for point, mass in zip(points, masses, strict=True):
        axes.annotate(f"{mass:.4g}", point, ha="center", va="center", fontsize=8, color="white", zorder=4)


def _flows(axes: "Axes", supply: list[Point], demand: list[Point], plan: Sequence[Sequence[float]]) -> None:
    from matplotlib.patches import FancyArrowPatch

    masses = [mass for row in plan for mass in row]
    largest = max(masses, default=1.0) or 1.0
    for (source, target), mass in zip(itertools.product(supply, demand), masses, strict=True):
        if mass > 0:
            width = 1 + 4 * mass / largest
            head = f"-|>,head_length={0.35 + 0.05 * width},head_width={0.15 + 0.05 * width}"
            look: Any = {"arrowstyle": head, "mutation_scale": 14, "linewidth": width, "color": FLOW}
            # shrunk by the radius of a point, so that the head is seen beside it
            arrow = FancyArrowPatch(source, target, shrinkA=0, shrinkB=12, alpha=0.7, zorder=1, **look)
            axes.add_patch(arrow)
            # A third of the way along, where lines that cross in the middle have not met yet.
            x, y = (start + 0.36 * (end - start) for start, end in zip(source, target, strict=True))
            axes.annotate(f"{mass:.4g}", (x, y), fontsize=8, bbox=PAPER, zorder=2, **LABEL)


def graph(figure: Graph, canvas: "FigureBase") -> charts.Size:
    """Nodes as rounded labels, edges as arrows; an edge and its reverse bend apart, loops are above nodes."""
    axes = canvas.add_subplot(title=figure.title)
    axes.set_axis_off()
    size = _fit(figure, axes)
    style = {"boxstyle": "round,pad=0.45", "facecolor": "#dbeafe", "edgecolor": SUPPLY, "linewidth": 1.2}
    boxes = [
        axes.text(x, y, charts.with_subscripts(name), fontsize=9, bbox=style, zorder=3, **LABEL)
        for (x, y), name in zip(figure.places, figure.nodes, strict=True)
    ]
    labels = figure.labels or ("",) * len(figure.edges)
    for (source, target), label in zip(figure.edges, labels, strict=True):
        bend = 0.18 if (target, source) in figure.edges else 0.0
        if source == target:
            _loop(axes, boxes[source], label)
        else:
            _arrow(axes, boxes[source], boxes[target], label, bend)
    return size


def _fit(figure: Graph, axes: "Axes") -> charts.Size:
    """Set the limits and return the size that gives the nearest two nodes room for their names."""
    points = figure.places or ((0.0, 0.0),)
    step = min((math.dist(a, b) for a, b in itertools.combinations(points, 2) if a != b), default=1.0)
    longest = sum(max(map(len, texts), default=0) for texts in (figure.nodes, figure.labels))
    inches = max(1.1, 0.7 + 0.07 * longest)
    above = 0.75 if any(source == target for source, target in figure.edges) else 0.45  # loops stand there
    across, up = zip(*points, strict=True)
    left, right = axes.set_xlim(min(across) - 0.5 * step, max(across) + 0.5 * step)
    bottom, top = axes.set_ylim(min(up) - 0.45 * step, max(up) + above * step)
    width, height = ((high - low) / step * inches for low, high in ((left, right), (bottom, top)))
    return (min(max(width, 3.2), 11), min(max(height + 0.5, 1.6), 11))


def _loop(axes: "Axes", node: Any, label: str) -> None:
    """An arrow from a node to itself, in inches from its middle whatever the scale of the axes."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.transforms import ScaledTranslation

    middle: Any = (*node.get_position(), axes.transData)
    beside = axes.figure.dpi_scale_trans + ScaledTranslation(*middle)
    ends = (-0.13, 0.13), (0.13, 0.13)
    axes.add_patch(FancyArrowPatch(*ends, connectionstyle="arc3,rad=-1.8", transform=beside, **ARROW))
    if label:
        axes.text(0, 0.46, charts.with_subscripts(label), transform=beside, fontsize=7.5, zorder=6, **LABEL)


def _arrow(axes: "Axes", source: Any, target: Any, label: str, bend: float) -> None:
    """An arrow between the borders of two nodes, with its label in the middle."""
    from matplotlib.patches import FancyArrowPatch

    start, end = source.get_position(), target.get_position()
    ends = {"patchA": source.get_bbox_patch(), "patchB": target.get_bbox_patch(), "shrinkA": 1, "shrinkB": 2}
    axes.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", **ends, **ARROW))
    if label:
        (x, y), (to_x, to_y) = start, end
        middle = ((x + to_x) / 2 + bend / 2 * (to_y - y), (y + to_y) / 2 - bend / 2 * (to_x - x))
        axes.annotate(charts.with_subscripts(label), middle, fontsize=7.5, bbox=PAPER, zorder=6, **LABEL)


def pictures(figure: Pictures, canvas: "FigureBase") -> charts.Size:
    """A grid of pictures with the names of the rows at the left and of the columns above."""
    import numpy as np

    height, width = len(figure.pixels), max(map(len, figure.pixels), default=0)
    canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=11)
    for row, line in enumerate(figure.pixels):
        for column, pixels in enumerate(line):
            axes = canvas.add_subplot(height, width, row * width + column + 1)
            values = np.asarray(pixels, dtype=float).clip(0, 1)
            axes.imshow(values, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            for spine in axes.spines.values():
                spine.set(visible=True, color=FLOW, linewidth=0.6)
            if row == 0 and column < len(figure.columns):
                axes.set_title(figure.columns[column], fontsize=8, loc="center", pad=4)
            if column == 0 and row < len(figure.rows):
                axes.set_ylabel(figure.rows[row], fontsize=8, rotation=0, ha="right", va="center", labelpad=6)
    return min(max(1.0 * width + 1.2, 2.4), 12), min(1.05 * height + 0.7, 14)


DRAW: dict[type, Any] = {TransportPlan: plan, Graph: graph, Pictures: pictures}
