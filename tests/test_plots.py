"""The parts of pictures: what is drawn is what was given, and no global style changes."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from mixjax import plots
from mixjax.commands import CommandLine, FolderCommand
from mixjax.report import of_arrays
from mixjax.runs import RunError

X, Y = np.array([0.1, 1.0, 10.0]), np.array([1.0, 2.0])


@pytest.fixture
def ax():
    return Figure().subplots()


def test_a_heat_map_shows_each_value_at_its_place(ax):
    values = np.array([[-2.0, 0.0, 1.0], [0.5, 2.0, 9.0]])
    mesh = plots.heat_map(ax, X, Y, values, center=0.0, limit=2.0)
    np.testing.assert_array_equal(mesh.get_array().reshape(2, 3), values)
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], 10.0 ** np.array([-1.5, -0.5, 0.5, 1.5]), rtol=1e-12)
    assert (mesh.norm(-2.0), mesh.norm(0.0), mesh.norm(2.0)) == (0.0, 0.5, 1.0)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == (0.1, 10.0)


def test_a_heat_map_may_be_linear_near_its_center_only(ax):
    norm = plots.heat_map(ax, X, Y, np.zeros((2, 3)), center=0.0, limit=1.0, linear=0.01).norm
    assert norm(0.0) == pytest.approx(0.5)
    assert norm(0.1) - norm(0.01) == pytest.approx(norm(1.0) - norm(0.1), rel=1e-6)


def test_an_axis_of_one_value_is_drawn(ax):
    mesh = plots.heat_map(ax, np.array([2.0]), Y, np.zeros((2, 1)), center=0.0, limit=1.0)
    low, high = mesh.get_coordinates()[0, :, 0]
    assert low < 2.0 < high


def test_an_axis_that_begins_at_zero_is_linear(ax):
    mesh = plots.heat_map(ax, X, np.array([0.0, 1.0, 3.0]), np.zeros((3, 3)), center=0.0, limit=1.0)
    assert mesh.get_coordinates()[:, 0, 1].tolist() == [-0.5, 0.5, 2.0, 4.0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    plots.decades(ax, x=True, y=True)
    ax.figure.canvas.draw()


def test_cells_without_a_value_are_left_blank(ax):
    values = np.array([[np.nan, 0.0, 1.0], [0.5, 2.0, 9.0]])
    mesh = plots.heat_map(ax, X, Y, values, center=0.0, limit=2.0)
    assert np.ma.getmaskarray(mesh.get_array()).sum() == 1


LINE = {"color": "black", "linestyle": "solid", "linewidth": 1.0}


def test_a_level_line_is_where_the_level_is(ax):
    x, y = np.meshgrid(np.linspace(1, 3, 21), np.linspace(1, 2, 11))
    plots.level_line(ax, x[0], y[:, 0], x, 1.75, **LINE)
    (line,) = (path.vertices for collection in ax.collections for path in collection.get_paths())
    np.testing.assert_allclose(line[:, 0], 1.75, rtol=1e-12)


def test_a_level_line_has_a_style_where_none_is_given(ax):
    x, y = np.meshgrid(np.linspace(1, 3, 5), np.linspace(1, 2, 3))
    plots.level_line(ax, x[0], y[:, 0], x, 2.0, color="k")
    assert ax.collections[0].get_linewidth() == [1.1]
    plots.cased_line(ax, X, X, color="k")
    assert ax.lines[0].get_linewidth() == 1.1


@pytest.mark.parametrize(
    "values",
    [np.full((2, 3), np.nan), np.array([[-1, 0, 1]]), np.ones((2, 3)), -np.ones((2, 3))],
    ids=["NaN", "one row", "above", "below"],
)
def test_a_level_that_is_nowhere_draws_nothing(ax, values):
    plots.level_line(ax, X, Y[: len(values)], values, 0.0, **LINE)
    assert not ax.collections


def test_a_cased_line_has_edges_of_another_color(ax):
    plots.cased_line(ax, X, X, casing="white", **LINE)
    edge, line = ax.lines[0].get_path_effects()
    assert edge._gc["foreground"] == "white"
    assert edge._gc["linewidth"] > LINE["linewidth"]
    assert not getattr(line, "_gc", {})


def test_keys_look_like_what_they_explain(ax):
    keys = [plots.line_key("exact", color="0.3", linestyle="--"), plots.band_key("most", "0.3")]
    labels = [text.get_text() for text in ax.legend(handles=keys).get_texts()]
    assert labels == ["exact", "most"]
    assert keys[0].get_linestyle() == "--"
    assert keys[1].get_alpha() == plots.BAND


def test_bars_are_intervals_of_95_percent_that_stay_within_what_is_possible(ax):
    mean, error = np.array([0.5, 0.9]), np.array([0.1, 0.2])
    plots.points_with_bars(ax, Y, mean, error, within=(0.0, 1.0), color="k", marker="o", label="mean")
    (container,) = ax.containers
    segments = np.array(container[2][0].get_segments())
    np.testing.assert_allclose(segments[:, :, 1], [[0.5 - 0.196, 0.5 + 0.196], [0.9 - 2 * 0.196, 1.0]])


@pytest.mark.parametrize(("value", "text"), [(-0.05, "\N{MINUS SIGN}0.05"), (0.0, "0"), (0.5, "0.5")])
def test_signed_numbers_have_a_minus_and_no_hyphen(value, text):
    assert plots.signed(value) == text


def test_spare_panels_are_left_empty():
    figure, axes = plots.panels(3, 2, height=1.5)
    assert len(axes) == len(figure.axes) == 3
    assert tuple(figure.get_size_inches()) == (plots.COLUMN_WIDTH, 3.0)
    assert [ax.xaxis.get_tick_params()["labelbottom"] for ax in axes] == [False, True, True]  # the lowest of a column


def test_style_does_not_leak():
    before = dict(mpl.rcParams)
    with plots.paper_style():
        assert mpl.rcParams["font.size"] == 8
    assert dict(mpl.rcParams) == before


@pytest.mark.medium
def test_a_missing_package_is_one_sentence(monkeypatch, tmp_path):
    """...of whatever makes something without Axes of matplotlib, and of a report."""
    report = of_arrays(confidence=[0.9, 0.6], correct=[1, 0])
    for package in ("matplotlib", "rich"):
        monkeypatch.setitem(sys.modules, package, None)
    calls = {
        "plots.panels needs matplotlib": lambda: plots.panels(1, 1, height=1),
        "plots.paper_style needs matplotlib": plots.paper_style,
        "plots.line_key needs matplotlib": lambda: plots.line_key("exact"),
        "plots.band_key needs matplotlib": lambda: plots.band_key("most", "0.3"),
        "mixjax.plots.paper_style needs matplotlib": lambda: report.write_html(tmp_path / "report.html"),
        "report.CalibrationReport.print needs rich": report.print,
        "paper_style needs matplotlib": lambda: plots.write_figures([plots.Figure("a", str, str)], 1, tmp_path),
    }
    for message, call in calls.items():
        with pytest.raises(ImportError, match=rf"^[a-z.]*{message}: pip install 'mixjax\[report\]'$"):
            call()


def test_short_axes_have_plain_numbers(ax):
    ax.set_xscale("log")
    ax.set_xlim(0.3, 3)
    plots.decades(ax, x=True)
    ax.figure.canvas.draw()
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert {"0.3", "1", "3"} <= set(labels)
    ax.set_xlim(0.4, 1.5)  # less than a decade
    plots.decades(ax, x=True)
    ax.figure.canvas.draw()
    assert {"0.5", "0.7", "1"} <= {text.get_text() for text in ax.get_xticklabels()}


def test_pictures_of_every_format_are_the_same_again(tmp_path):
    """With a caption beside them; a figure that draws nothing is left out."""

    def draw(stored):
        figure, (ax,) = plots.panels(1, 1, height=1)
        ax.plot(stored)
        ax.set_axis_off()  # letters take the most time
        return figure

    figures = [plots.Figure("line", draw, str), plots.Figure("none", lambda stored: None, str)]
    contents = []
    for turn in "ab":
        written = plots.write_figures(figures, [1, 2], tmp_path / turn, formats=("png", "pdf", "svg"))
        assert [path.name for path in written] == ["line.png", "line.pdf", "line.svg"]
        contents.append({path.name: path.read_bytes() for path in (tmp_path / turn).iterdir()})
    assert contents[0] == contents[1]
    assert contents[0]["line.txt"] == b"[1, 2]\n"
    for name, start in (("line.png", b"\x89PNG"), ("line.pdf", b"%PDF"), ("line.svg", b"<?xml")):
        assert contents[0][name].startswith(start)
    assert [path.name for path in plots.write_figures(figures, [1, 2], tmp_path / "c")] == ["line.png"]


def test_the_command_figures_takes_formats():
    calls = []

    def record(*folders, **options):
        calls.append((folders, options))
        return 0

    commands = {name: FolderCommand(record, ("runs/a",)) for name in ("figures", "verify")}
    line = CommandLine("prog", "{prog}{known}", {}, lambda *_: 1, commands, {})
    for words in (["figures", "a"], ["figures", "a", "--format", "pdf,svg"], ["figures", "--format=png", "a"]):
        assert line(words) == 0
    assert calls == [(("a",), {}), (("a",), {"formats": ("pdf", "svg")}), (("a",), {"formats": ("png",)})]
    for words, message in (
        (["figures", "a", "--format", "gif"], "must be some of png,pdf,svg, got 'gif'; prog figures --help lists"),
        (["figures", "a", "--fromat", "pdf"], "figures takes 1 folder, as in: prog figures runs/a"),
        (["verify", "a", "--format", "pdf"], "verify takes 1 folder"),
    ):
        with pytest.raises(RunError, match=message):
            line(words)
