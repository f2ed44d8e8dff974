"""Figures as PNG files and inline SVG: every kind is drawn, without global state."""

import io
import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

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
    Series,
    TransportPlan,
)
from vitruvius.render import figures as drawings


def drawn(figure: Figure, folder: Path) -> bytes:
    path = folder / "figure.png"
    drawings.write_png(figure, path)
    return path.read_bytes()


def test_every_kind_of_figure_has_an_example(figures: list[Figure]) -> None:
    assert {type(figure) for figure in figures} == {*get_args(Chart), Panels}


def test_a_figure_is_drawn(figure: Figure, tmp_path: Path) -> None:
    picture = Image.open(io.BytesIO(drawn(figure, tmp_path)))
    assert picture.format == "PNG"
    assert 150 <= min(picture.size) <= max(picture.size) <= 15 * drawings.DPI
    assert len(set(picture.convert("L").tobytes())) > 5  # more than paper and one ink
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


def test_the_same_figure_gives_the_same_bytes_and_other_data_another_picture(
    heatmap: Heatmap, tmp_path: Path
) -> None:
    other = heatmap.model_copy(update={"values": ((0.2, 0.8), (-0.5, 0.4))})
    assert drawn(heatmap, tmp_path) == drawn(heatmap, tmp_path) != drawn(other, tmp_path)


def test_whole_numbers_are_marked_at_whole_numbers(lines: Lines) -> None:
    with drawings.drawn(lines) as picture:
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


def test_a_logarithmic_scatter_has_logarithmic_axes_with_plain_numbers() -> None:
    points = Scatter(title="", x=(1, 1e6), y=(1, 2), names=(), x_label="", y_label="", log_x=True)
    with drawings.drawn(points) as picture:
        axes = picture.axes[0]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert {"1", "1000", "10k", "1M"} <= set(labels)


def test_an_svg_is_well_formed_and_loads_nothing(figure: Figure) -> None:
    drawing = drawings.svg(figure, "m-")
    root = ElementTree.fromstring(drawing.replace("xlink:href", "href"))
    targets = [value for part in root.iter() for key, value in part.attrib.items() if key.endswith("href")]
    assert all(target.startswith(("#m-", "data:image/png")) for target in targets)
    assert "<script" not in drawing
    assert drawings.INK not in drawing
    assert "currentColor" in drawing
    assert not [part.tag for part in root.iter() if "style" in part.attrib or part.tag.endswith("}style")]


def test_a_name_that_looks_like_a_style_is_drawn_as_it_is(lines: Lines) -> None:
    name = 'a style="fill: red" b'
    drawing = drawings.svg(lines.model_copy(update={"title": name, "x_label": name}))
    root = ElementTree.fromstring(drawing.replace("xlink:href", "href"))
    assert [part.text for part in root.iter() if part.text and "red" in part.text] == [name, name]


def test_ids_of_an_svg_carry_the_prefix_and_references_follow_them(heatmap: Heatmap) -> None:
    ids = [set(re.findall(r'\bid="([^"]*)"', drawings.svg(heatmap, prefix))) for prefix in ("f1-", "f2-")]
    assert not ids[0] & ids[1]
    used = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', drawings.svg(heatmap, "f1-"))
    assert {a or b for a, b in used} <= ids[0]


def test_a_title_cannot_leave_its_attribute(heatmap: Heatmap) -> None:
    drawing = drawings.svg(heatmap.model_copy(update={"title": '"><script>alert(1)</script>'}))
    assert "<script" not in drawing


def test_a_name_of_thousands_of_letters_is_shortened_where_it_is_drawn(tmp_path: Path) -> None:
    name = "x" * 100_000
    figure = Bars(title=name, names=(name, "b"), values=(1.0, 2.0), y_label="y")
    shortened = drawings._shortened(Panels(title="t", figures=(figure,)))
    assert max(map(len, shortened.figures[0].names)) <= drawings.LONGEST_NAME
    drawings.write_png(figure, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert max(image.size) < 5000


@pytest.mark.parametrize("name", ["dog", "a Bernese mountain dog", "x" * 60])
def test_long_names_and_titles_leave_room_for_the_cells_of_a_small_matrix(name: str) -> None:
    title = "Test images by true and predicted class: numbers, coloured in % of the true class"
    matrix = Heatmap(title=title, values=((1, 0), (2, 3)), rows=("cat", name), columns=("cat", name))
    with drawings.drawn(matrix) as canvas:
        canvas.draw_without_rendering()
        box = canvas.axes[0].get_window_extent().transformed(canvas.dpi_scale_trans.inverted())
    assert min(box.width, box.height) > 0.8  # inches, for two cells
