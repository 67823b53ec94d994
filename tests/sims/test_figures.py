"""Figures and captions: drawn from tables alone, every axis in order, and nothing described that is not drawn."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from mixjax import sims
from mixjax.plots import COLUMN_WIDTH, paper_style
from mixjax.sims.figures.captions import listed, representatives
from mixjax.sims.studies import STUDIES


def drawn(table, name):
    """The figure of a name, and its caption."""
    (figure,) = (figure for figure in STUDIES[table.attrs["study"]].figures if figure.name == name)
    with paper_style():
        return figure.draw(table), figure.caption(table)


def panels_of(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def repeated(table, dim, count):
    """A table with `count` copies of itself along n or mixup, of other n or other weights."""
    copies = [table.copy() for _ in range(count)]
    for number, copy in enumerate(copies):
        if dim == "n":
            copy["n"] = table["n"] * 10**number
        else:
            for name in ("alpha", "beta", "t"):
                copy[name] = table[name] / (1 + number)
    return xr.concat(copies, dim, data_vars="minimal", coords="minimal", compat="override", join="outer")


@pytest.fixture(scope="module")
def unsorted():
    """No signal, no Mixup, and axes in no order."""
    return sims.run("phase_diagram", n="200", ratio=[2, 0.1, 0.5], theta_norm=[1, 0], alpha="0,1", replicates=50)


@pytest.mark.medium
def test_maps_are_drawn_in_order_whatever_the_order_of_the_table(unsorted):
    assert unsorted["ratio"].values.tolist() == [2, 0.1, 0.5]
    figure, _ = drawn(unsorted, "ece_difference")
    ax = panels_of(figure)[1]
    corners = ax.collections[0].get_coordinates()
    assert (np.diff(corners[0, :, 0]) > 0).all()
    assert (np.diff(corners[:, 0, 1]) > 0).all()
    wanted = unsorted["ece_difference"].isel(n=0, mixup=1).sortby(["ratio", "theta_norm"]).transpose("theta_norm", ...)
    np.testing.assert_array_equal(ax.collections[0].get_array().reshape(2, 3), wanted)


@pytest.mark.medium
def test_no_signal_is_drawn_on_a_linear_axis(unsorted):
    figure, _ = drawn(unsorted, "ece_difference")
    for ax in panels_of(figure):
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
        assert ax.get_ylim() == (0, 1)


@pytest.mark.medium
def test_cells_that_tie_have_no_point_beside_the_boundary(unsorted):
    """Without Mixup all tie; without a signal there is no boundary: one theta of one setting is left."""
    figure, caption = drawn(unsorted, "mix_better")
    for ax in panels_of(figure):
        assert [len(line.get_xdata()) for line in ax.lines[:-1]] == [0, 3]
    wanted = unsorted.isel(n=0, mixup=1, theta_norm=0)
    points = panels_of(figure)[2].lines[1]
    np.testing.assert_allclose(points.get_xdata(), wanted["realized_ratio"] / wanted["mce_critical_ratio"])
    np.testing.assert_array_equal(points.get_ydata(), wanted["mce_mix_better"])
    assert "an exact tie counting one half" in caption


@pytest.mark.slow
def test_slices_in_no_order_are_drawn_in_order(table_of):
    table = table_of("high_dimension").isel(ratio=[2, 0, 1])
    figure, _ = drawn(table, "ece")
    for line in panels_of(figure)[0].lines:
        assert (np.diff(line.get_xdata()) >= 0).all()


@pytest.mark.parametrize(("size", "places"), [(1, [0]), (6, [0, 1, 2, 3, 4, 5]), (16, [0, 3, 6, 9, 12, 15])])
def test_representatives_hold_both_ends(size, places):
    assert representatives(np.arange(size)) == places
    assert representatives(-np.arange(size)) == [size - 1 - place for place in places]


@pytest.mark.medium
def test_sixteen_settings_are_six_panels(table_of):
    figure, caption = drawn(repeated(table_of("phase_diagram"), "mixup", 8), "ece_difference")
    assert len(panels_of(figure)) == 6
    assert "Drawn: 6 of the 16 Mixup settings" in caption


@pytest.mark.medium
def test_a_map_has_the_boundary_of_each_n(table_of):
    figure, caption = drawn(repeated(table_of("phase_diagram"), "n", 2), "ece_difference")
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert key == ["simulation, $n = 200$", "simulation, $n = 2000$", "limit $n \\to \\infty$"]
    assert "colors: n = 200" in caption
    assert "n = 200, 2000" in caption


@pytest.mark.medium
def test_the_two_boundaries_differ_in_color_and_style(table_of):
    figure, _ = drawn(table_of("phase_diagram"), "ece_difference")
    measured, limit = figure.legends[0].get_lines()
    assert measured.get_color() != limit.get_color()
    assert measured.get_linestyle() != limit.get_linestyle()
    for line in (measured, limit):
        assert line.get_path_effects()


@pytest.mark.slow
@pytest.mark.parametrize(("study", "name"), [("high_dimension", "ece"), ("capacity", "ece_derivative")])
def test_each_n_has_its_panels(study, name, table_of):
    """Two n: twice the panels; eight: six of them, and the caption says so."""
    table = table_of(study)
    single, _ = drawn(table, name)
    double, _ = drawn(repeated(table, "n", 2), name)
    assert len(panels_of(double)) == 2 * len(panels_of(single))
    labels = [ax.get_title() + ax.get_ylabel() for ax in panels_of(double)]
    assert any("n = 2000" in label or "n = 10000" in label for label in labels)
    many, caption = drawn(repeated(table, "n", 8), name)
    assert len(panels_of(many)) == (12 if study == "high_dimension" else 6)  # errors and shares
    assert "Drawn: 6 of the" in caption


@pytest.mark.slow
@pytest.mark.parametrize("study", ["high_dimension", "capacity"])
def test_legends_are_outside_the_panels(study, table_of):
    figure = drawn(table_of(study), STUDIES[study].figures[0].name)[0]
    figure.draw_without_rendering()  # constrained layout, legends and all
    legend = figure.legends[0].get_window_extent()
    for ax in panels_of(figure):
        assert ax.get_legend() is None
        assert not legend.overlaps(ax.get_window_extent())


@pytest.mark.slow
def test_slices_show_the_errors_and_the_shares_with_intervals_inside_what_is_possible(table_of):
    table = table_of("high_dimension")
    figure, caption = drawn(table, "mce")
    errors, shares = panels_of(figure)[:2]
    for ax in (errors, shares):
        ends = np.concatenate([np.array(c[2][0].get_segments())[:, :, 1].ravel() for c in ax.containers])
        assert ends.min() >= 0 and ends.max() <= 1
    (low, high), share = np.array(shares.containers[0][2][0].get_segments())[0, :, 1], table["mce_mix_better"]
    first = share.isel(n=0, theta_norm=0, mixup=0).sortby("realized_ratio")[0]
    assert low <= first <= high
    turns = [line.get_xdata()[0] for line in shares.lines if line.get_linestyle() == ":"]
    assert set(turns) <= set(table["mce_critical_ratio"].isel(theta_norm=0).values)
    assert "share of the training sets whose MCE Mixup lowers" in caption


@pytest.mark.slow
@pytest.mark.parametrize("study", ["phase_diagram", "high_dimension", "capacity", "out_of_domain", "pseudo_label"])
def test_figures_fit_in_one_column(study, table_of):
    for figure in STUDIES[study].figures:
        with paper_style():
            made = figure.draw(table_of(study))
        assert made is None or made.get_size_inches()[0] == COLUMN_WIDTH


def test_long_axes_are_named_by_their_ends():
    assert listed(np.array([10.0, 3.0])) == "10, 3"
    assert listed(np.arange(1.0, 38.0)) == "1 to 37 (37 values)"
