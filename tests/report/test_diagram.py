"""Diagrams: what is drawn is what is in the table, on the Axes that were given."""

from __future__ import annotations

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mixjax.calibration.intervals import Interval
from mixjax.calibration.reliability_table import reliability
from mixjax.plots import paper_style
from mixjax.report import diagram, figures
from mixjax.report.metrics import Metric, Report
from mixjax.report.numbers import with_interval
from tests.report.conftest import SETTINGS

CONFIDENCE = np.repeat([0.1, 0.15, 0.62, 0.9], [3, 2, 5, 10])
CORRECT = np.arange(20) % 3 == 0


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def table():
    return reliability(CONFIDENCE, CORRECT, num_bins=5)


def filled(values):
    return np.asarray(values)[[0, 3, 4]]  # bins that hold rows


def test_points_bars_and_boxes_are_those_of_the_table(ax, table):
    diagram.draw_reliability(ax, table, level=0.9, label="model", edges=np.linspace(0, 1, 6))
    points, _, (bars,) = next(c for c in ax.containers if c.get_label() == "model")
    np.testing.assert_allclose(points.get_xdata(), filled(table.confidence))
    np.testing.assert_allclose(points.get_ydata(), filled(table.accuracy))
    ends = np.stack([filled(end) for end in table.intervals(0.9)], axis=1)
    np.testing.assert_allclose(np.array(bars.get_segments())[:, :, 1], ends, atol=1e-12)
    boxes = [patch for patch in ax.patches if patch.get_width() > 0]
    np.testing.assert_allclose([box.get_x() for box in boxes], [0, 0.6, 0.8])
    np.testing.assert_allclose([box.get_width() for box in boxes], 0.2)
    low, high = (filled(end) for end in table.consistency_band(0.9))
    np.testing.assert_allclose([box.get_y() for box in boxes], low)
    np.testing.assert_allclose([box.get_height() for box in boxes], high - low)


def test_bins_with_few_rows_are_hollow(ax, table):
    diagram.draw_reliability(ax, table, joined=False)
    points, full = next(c for c in ax.containers if hasattr(c, "has_yerr"))[0], ax.lines[-1]
    assert (points.get_markerfacecolor(), points.get_linestyle()) == ("white", "None")
    np.testing.assert_allclose(full.get_xdata(), [0.9])  # ten rows
    assert full.get_markerfacecolor() == diagram.COLORS[0]


def test_boxes_without_edges_are_as_wide_as_the_scores(ax, table):
    diagram.draw_reliability(ax, table)
    spans = [(box.get_x(), box.get_x() + box.get_width()) for box in ax.patches]
    thin = diagram.MOST_NARROW / 2
    np.testing.assert_allclose(spans, [(0.1, 0.15), (0.62 - thin, 0.62 + thin), (0.9 - thin, 0.9 + thin)], atol=1e-12)


def test_several_models_have_no_band_and_differ_in_more_than_color(ax, table):
    for look in diagram.LOOKS:
        diagram.draw_reliability(ax, table, look=look, band=False)
    assert not ax.patches
    points = [container[0] for container in ax.containers]
    for what in ("get_color", "get_marker", "get_linestyle"):
        assert len({getattr(line, what)() for line in points}) >= 4, what


def test_the_histogram_is_of_shares(ax):
    diagram.draw_histogram(ax, np.array([1, 0, 3]))
    (stairs,) = ax.patches
    values, edges, _ = stairs.get_data()
    np.testing.assert_allclose(values, [0.25, 0, 0.75])
    np.testing.assert_allclose(edges, [0, 1 / 3, 2 / 3, 1])


def test_the_diagonal_fills_the_axes(ax):
    diagram.draw_diagonal(ax)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["_hidden", "price $x$ of $", "a" * 80])
def test_names_of_files_are_plain_text_in_a_legend(plain, name):
    """...and stay within the figure."""
    with paper_style():
        figure = figures.reliability_figure([plain], [name])
        figure.canvas.draw()
    shown = figure.legends[0].get_texts()[0].get_text().replace(r"\$", "$").strip()
    assert shown.startswith(f"{name}: ECE" if len(name) < 18 else "aaaa")
    assert f"ECE {with_interval(plain.metric('ECE').interval)}, 240 rows" in shown
    assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.few(1)
@pytest.mark.parametrize("low, high, kind, says", [
    (0.01, 0.2, "logits", "overconfident"), (-0.2, -0.01, "logits", "underconfident"),
    (-0.1, 0.1, "logits", "no clear signed gap"), (np.nan, np.nan, "logits", "no clear signed gap"),
    (0.01, 0.2, "binary", "too high"),
])  # fmt: skip
def test_the_title_is_what_the_interval_of_the_signed_gap_tells(plain, low, high, kind, says, monkeypatch):
    gap = Interval(0.5 * (low + high), low, high, 0.01)
    monkeypatch.setattr(Report, "metric", lambda self, name: Metric(name, gap, ""))
    report = dataclasses.replace(plain, file=dataclasses.replace(plain.file, kind=kind))
    with paper_style():
        (legend,) = figures.reliability_figure([report, report], ["one", "two"]).legends
    assert legend.get_title().get_text() == f"one: {says}\ntwo: {says}"


@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_every_key_of_few_classes_is_within_the_figure(classes, plain):
    """...and no bin has ten rows, which leaves nothing to fill."""
    few = reliability(CONFIDENCE, CORRECT, num_bins=5, where=np.arange(20) % 3 > 0)
    parts = tuple(plain.classes[k % 3]._replace(table=few) for k in range(classes))
    report = dataclasses.replace(plain, classes=parts, settings=dataclasses.replace(SETTINGS, num_bins=5))
    with paper_style():
        figure, shown = figures.classes_figure(report)
        FigureCanvasAgg(figure).draw()
    assert shown == list(range(classes))
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 4
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in legend.get_texts())
    assert legend.get_window_extent().y0 >= max(ax.title.get_window_extent().y1 for ax in figure.axes)


def test_style_does_not_leak(table):
    before = dict(mpl.rcParams)
    diagram.draw_reliability(Figure().subplots(), table)
    assert dict(mpl.rcParams) == before
