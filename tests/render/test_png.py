"""Figures as PNG files: every kind is drawn, atomically and without global state."""

import io
from pathlib import Path
from typing import get_args

import pytest
from PIL import Image

from vitruvius.core.blocks import (
    Bars,
    Chart,
    Figure,
    Graph,
    Heatmap,
    Lines,
    Panels,
    Pictures,
    Scatter,
    TransportPlan,
)
from vitruvius.render import canvas, png


def drawn(figure: Figure, folder: Path) -> bytes:
    path = folder / "figure.png"
    png.draw(figure, path)
    return path.read_bytes()


def test_every_kind_of_figure_has_an_example(figures: list[Figure]) -> None:
    assert {type(figure) for figure in figures} == {*get_args(Chart), Panels}


def test_a_figure_is_drawn(figure: Figure, tmp_path: Path) -> None:
    picture = Image.open(io.BytesIO(drawn(figure, tmp_path)))
    assert picture.format == "PNG"
    assert 150 <= min(picture.size) <= max(picture.size) <= 15 * png.DPI
    assert len(set(picture.convert("L").tobytes())) > 5  # more than paper and one ink
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


def test_the_same_figure_gives_the_same_bytes_and_other_data_another_picture(
    heatmap: Heatmap, tmp_path: Path
) -> None:
    other = heatmap.model_copy(update={"values": ((0.2, 0.8), (-0.5, 0.4))})
    assert drawn(heatmap, tmp_path) == drawn(heatmap, tmp_path) != drawn(other, tmp_path)


def test_whole_numbers_are_marked_at_whole_numbers(lines: Lines) -> None:
    with canvas.painted(lines) as picture:
        assert all(float(tick).is_integer() for tick in picture.axes[0].get_xticks())


EMPTY = [
    Heatmap(title="", values=()),
    Lines(title="", series=(), x_label="", y_label=""),
    Bars(title="", names=(), values=(), y_label=""),
    Scatter(title="", x=(), y=(), names=(), x_label="", y_label=""),
    TransportPlan(title="", supply=(), demand=(), masses=()),
    Graph(title="", nodes=(), places=(), edges=()),
    Pictures(title="", rows=(), columns=(), pixels=()),
    Panels(title="", figures=()),
]


@pytest.mark.parametrize("empty", EMPTY, ids=lambda figure: type(figure).__name__)
def test_nothing_to_draw_is_a_blank_picture(empty: Figure, tmp_path: Path) -> None:
    drawn(empty, tmp_path)


@pytest.mark.parametrize("name", ["cost $5 and $6", r"\frac{", "日本", "<b>", "a" * 80])
def test_any_name_is_only_a_name(name: str, lines: Lines, tmp_path: Path) -> None:
    drawn(lines.model_copy(update={"title": name, "x_label": name}), tmp_path)


def test_zeros_on_a_logarithmic_axis_are_left_out(tmp_path: Path) -> None:
    from vitruvius.core.blocks import Series

    curve = Series(name="", x=(0, 1, 2), y=(0, 0, 1))
    drawn(Lines(title="", series=(curve,), x_label="", y_label="", log_x=True, log_y=True), tmp_path)


def test_the_callers_settings_are_left_alone(heatmap: Heatmap, tmp_path: Path) -> None:
    import matplotlib
    from matplotlib._pylab_helpers import Gcf

    def settings() -> dict[str, object]:
        return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}

    before = settings()
    drawn(heatmap, tmp_path)
    assert settings() == before
    assert Gcf.figs == {}  # pyplot, where somebody uses it, knows nothing of our figures
