"""Diagrams: what is drawn is what is in the table, on the Axes that were given."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from mixjax.calibration import corp_curve, reliability
from mixjax.plots import diagram, reliability_diagram

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
    points, few = next(c for c in ax.containers if hasattr(c, "has_yerr"))[0], ax.lines[-1]
    assert (points.get_markerfacecolor(), points.get_linestyle()) == (diagram.COLORS[0], "None")
    np.testing.assert_allclose(few.get_xdata(), [0.12, 0.62])  # five rows each
    assert few.get_markerfacecolor() == "white"


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
    diagram.draw_histogram(ax, np.array([9, 1, 0]), fill=False)
    assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] > 0.9  # room for the higher one


def test_the_diagonal_fills_the_axes(ax):
    diagram.draw_diagonal(ax)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])


def test_style_does_not_leak(table):
    before = dict(mpl.rcParams)
    diagram.draw_reliability(Figure().subplots(), table)
    assert dict(mpl.rcParams) == before


def legend(ax):
    return [text.get_text() for text in ax.legend().get_texts()]


@pytest.mark.medium
def test_one_model_has_a_band_and_several_have_names(ax, table):
    """A pair is the table of 15 equal-width bins."""
    reliability_diagram(ax, (CONFIDENCE, CORRECT), level=0.9)
    assert legend(ax) == ["calibrated", "consistency band, level 0.9"]
    np.testing.assert_allclose([box.get_width() for box in ax.patches], 1 / 15)
    ax.clear()
    reliability_diagram(ax, {"a": (CONFIDENCE, CORRECT), "b": table, "c": corp_curve(CONFIDENCE, CORRECT)})
    assert legend(ax) == ["calibrated", "c", "a", "b"]
    assert not ax.patches and not ax.collections[2:]  # bars of two, and no band
    with pytest.raises(ValueError, match="at most 6 models, got 7"):
        reliability_diagram(ax, {str(k): table for k in range(7)})


@pytest.mark.medium
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (([0.5, np.nan], [0, 1]), ValueError, "a diagram needs rows without NaN"),
        ("x", TypeError, r"models must be tables, curves or pairs \(confidence, correct\), got str of 1"),
        (([0.5], [1], [1.0]), TypeError, "got tuple of 3"),
        (0.5, TypeError, "got float"),
    ],
)
def test_what_is_no_model_is_refused(ax, model, error, message):
    with pytest.raises(error, match=message):
        reliability_diagram(ax, {"plain": model})


def test_a_curve_is_that_of_isotonic_regression_over_its_band(ax, key):
    curve = corp_curve(CONFIDENCE, CORRECT)
    reliability_diagram(ax, {"model": curve}, key=key)
    np.testing.assert_array_equal(ax.lines[-1].get_xydata(), np.stack([curve.confidence, curve.accuracy], axis=1))
    (band,) = ax.collections
    confidence, low, high = curve.consistency_band(key)
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert corners >= {*zip(confidence, low, strict=True), *zip(confidence, high, strict=True)}


@pytest.mark.medium
def test_a_histogram_is_of_equal_width_bins(table):
    ax, below = Figure().subplots(2, 1)
    for model, size in ((table, 5), ((CONFIDENCE, CORRECT), 15), (corp_curve(CONFIDENCE, CORRECT), 15)):
        below.clear()
        reliability_diagram(ax, model, histogram=below)
        shares, _, _ = below.patches[0].get_data()
        np.testing.assert_allclose(shares, np.histogram(CONFIDENCE, size, (0, 1))[0] / 20)
    with pytest.raises(ValueError, match="a histogram needs tables of equal-width bins"):
        reliability_diagram(ax, reliability(CONFIDENCE, CORRECT, num_bins=2, binning="equal-mass"), histogram=below)
