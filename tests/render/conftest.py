"""One figure of every kind."""

import pytest

from vitruvius.core.blocks import (
    Bars,
    Figure,
    Graph,
    Heatmap,
    Lines,
    Panels,
    Pictures,
    Scatter,
    Series,
    TransportPlan,
)

CURVE = Series(name="loss", x=(1, 2, 3), y=(3, 2, 1.5), low=(2.5, 1.5, 1), high=(3.5, 2.5, 2))
LINES = Lines(
    title="Loss", series=(CURVE, Series(name="other", x=(1, 3), y=(2, 2))), x_label="epoch", y_label="loss"
)
HEATMAP = Heatmap(
    title="Weights", values=((0.2, 0.8), (-0.5, 0.5)), rows=("a", "b"), x_label="key", y_label="query"
)
FIGURES: dict[str, Figure] = {
    "heatmap": HEATMAP,
    "large heatmap": Heatmap(
        title="Large", values=tuple(tuple(float(i * j) for j in range(50)) for i in range(50))
    ),
    "lines": LINES,
    "log lines": LINES.model_copy(update={"log_x": True, "log_y": True}),
    "bars": Bars(title="Parts", names=("q", "k"), values=(3, -1), y_label="multiply-adds"),
    "scatter": Scatter(
        title="Nets", x=(1, 2), y=(2, 1), names=("one", "two"), x_label="proxy", y_label="accuracy"
    ),
    "log scatter": Scatter(
        title="Nets",
        x=(0, 10, 1e6),
        y=(2, 1, 3),
        names=("a", "b", "c"),
        x_label="parameters",
        y_label="tau",
        log_x=True,
        log_y=True,
    ),
    "plan on a line": TransportPlan(title="Plan", supply=((0,), (2,)), demand=((1,),), masses=((1,), (2,))),
    "plan in a plane": TransportPlan(
        title="Plan", supply=((0, 0),), demand=((1, 1), (0, 2)), masses=((1, 0),)
    ),
    "plan in space": TransportPlan(title="Plan", supply=((0, 0, 0),), demand=((1, 1, 1),), masses=((1,),)),
    "graph": Graph(
        title="Net",
        nodes=("x", "h"),
        places=((0, 0), (1, 0)),
        edges=((0, 1), (1, 0), (1, 1)),
        labels=("W", "", "U"),
    ),
    "pictures": Pictures(
        title="Digits", rows=("in", "out"), columns=("a",), pixels=(([[0.0, 1.0]],), ([[[1.0, 0.0, 0.0]]],))
    ),
    "panels": Panels(title="Both", figures=(LINES, HEATMAP, LINES), columns=2),
}


@pytest.fixture(params=FIGURES)
def figure(request: pytest.FixtureRequest) -> Figure:
    """Each figure in turn."""
    return FIGURES[request.param]


@pytest.fixture
def figures() -> list[Figure]:
    """All of them."""
    return list(FIGURES.values())


@pytest.fixture
def lines() -> Lines:
    """Two curves, one with a band."""
    return LINES


@pytest.fixture
def heatmap() -> Heatmap:
    """A matrix with a negative entry."""
    return HEATMAP
