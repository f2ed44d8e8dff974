"""One description of a plot for both plotting libraries."""

from typing import Any

import pytest

from vitruvius.core.blocks import Lines, Scatter, Series
from vitruvius.render import figures, interactive, plots


def curves(count: int) -> Lines:
    series = tuple(Series(name=str(index), x=(1, 2), y=(1, 10)) for index in range(count))
    return Lines(title="", series=series, x_label="epoch", y_label="loss", log_y=True)


def test_no_two_of_many_curves_look_alike() -> None:
    layers = plots.describe(curves(20)).layers
    assert len({(layer.colour, layer.dash) for layer in layers}) == 20


def test_an_axis_without_positive_values_is_not_logarithmic() -> None:
    points = Scatter(title="", x=(-1, 0), y=(1, 2), names=(), x_label="", y_label="", log_x=True, log_y=True)
    plot = plots.describe(points)
    assert (plot.x.log, plot.y.log) == (False, True)


def test_only_whole_numbers_ask_for_whole_ticks() -> None:
    plot = plots.describe(curves(1))
    assert plot.x.whole
    half = Lines(title="", series=(Series(name="", x=(0.5,), y=(1,)),), x_label="", y_label="")
    assert not plots.describe(half).x.whole


@pytest.mark.parametrize("log", [False, True])
def test_both_libraries_use_its_colours_labels_and_scales(log: bool) -> None:
    figure = curves(2).model_copy(update={"log_x": log})
    element = interactive.element(figure, "plot")
    with figures.drawn(figure) as picture:
        axes = picture.axes[0]
        assert [line.get_color() for line in axes.lines] == list(plots.COLOURS[:2])
        assert (axes.get_xscale(), axes.get_yscale()) == ("log" if log else "linear", "log")
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "loss")
    assert all(f'"color":"{colour}"' in element for colour in plots.COLOURS[:2])
    assert element.count('"type":"log"') == 1 + log
    assert '"text":"epoch"' in element


def test_names_of_thousands_of_letters_are_shortened_where_they_are_drawn() -> None:
    name = "x" * 5_000
    points = Scatter(title=name, x=(1,), y=(2,), names=(name,), groups=(name,), x_label=name, y_label=name)
    assert len(interactive.element(points, "plot")) < len(interactive.element(curves(1), "plot")) + 1_000


def test_no_button_sends_a_plot_to_another_site() -> None:
    assert '"showSendToCloud":false' in interactive.element(curves(1), "plot").replace(" ", "")


def test_a_curve_of_one_point_can_be_seen() -> None:
    loss = Series(name="loss", x=(1.0,), y=(2.0,))
    first = Lines(title="", series=(loss,), x_label="epoch", y_label="loss")
    assert "markers" in interactive.drawing(first)["data"][0]["mode"]


def test_the_axis_spans_the_intervals_too() -> None:
    labels = {"x_label": "size", "y_label": "accuracy"}
    one = Scatter(title="", x=(99.0,), y=(50.0,), low=(25.0,), high=(75.0,), names=("a",), **labels)
    assert plots.describe(one).y.span == 50.0


def test_groups_of_points_have_colours_a_legend_and_each_name_once() -> None:
    given: Any = {"x": (1, 2, 1, 2), "y": (3, 4, 5, 1), "low": (2,) * 4, "high": (6,) * 4}
    given |= {"x_label": "size", "y_label": "ms", "names": ("a", "b", "a", "b")}
    points = Scatter(title="", groups=("torch", "torch", "onnx", "onnx"), **given)
    torch, onnx = plots.describe(points).layers
    assert (torch.name, torch.y, torch.point_names, torch.low) == ("torch", (3, 4), ("a", "b"), (2, 2))
    assert (onnx.name, onnx.x, onnx.y, onnx.colour) == ("onnx", (1, 2), (5, 1), plots.COLOURS[1])
    with figures.drawn(points) as picture:
        (axes,) = picture.axes
        notes: Any = axes.texts
        assert sorted((note.get_text(), *note.xy) for note in notes) == [("a", 1, 5), ("b", 2, 4)]
        (legend,) = picture.legends
        assert [text.get_text() for text in legend.get_texts()] == ["torch", "onnx"]
    assert [trace["name"] for trace in interactive.drawing(points)["data"]] == ["torch", "onnx"]
