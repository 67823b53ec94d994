"""The study of predicted fits: on Gaussian features, where the prediction is right, to its report and its figure."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from mixjax import sims
from mixjax.sims.figures.real_fits import real_fits_figures
from mixjax.sims.reports.real_fits import misses, rank_correlation, real_fits_report
from mixjax.sims.studies.real_fits import RealFits, fitted_settings

pytestmark = pytest.mark.medium

OPTIONS = {"n": "20,200", "penalty": "0.1", "alpha": "1", "smoothing": "0.2", "sets": 20, "rows": 10_000}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two Gaussian classes in ten dimensions, whose covariance is no multiple of I; 100 rows a class."""
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(3)
    labels = np.repeat([3, 8], 100)
    scale = np.geomspace(1, 0.2, 10)
    features = scale * rng.standard_normal((200, 10)) + 0.3 * np.where(labels == 3, 1, -1)[:, None]
    np.savez(folder / "net.npz", features=features.astype(np.float32), labels=labels)
    return sims.run("real_fits", folder / "run", features=str(folder / "net.npz"), **OPTIONS)


def test_the_table_has_what_is_measured_beside_the_prediction(table):
    """Within five standard errors and what finite n and p leave: at n = 20 some .03. No row is left for n = 200."""
    assert list(table["pair"].values) == ["3, 8"] and list(table["fit"].values) == ["plain", "Mixup 1", "smoothing 0.2"]
    one = table.isel(pair=0, penalty=0)
    assert one["sets"].values.tolist() == [[20] * 3, [0] * 3]
    assert one["signed"].sel(n=200).isnull().all() and one["signed_se"].sel(n=200).isnull().all()
    small = one.sel(n=20)
    assert (np.abs(small["signed"] - small["signed_predicted"]) < 0.03 + 5 * small["signed_se"]).all()
    assert (np.abs(small["mean"] / small["mean_predicted"] - 1) < 0.25).all()
    np.testing.assert_allclose(small["signed_change"][1:], small["signed"][1:] - small["signed"][0], atol=1e-6)
    assert small["signed_change"].isnull().values.tolist() == [True, False, False]
    assert float(small["signed_change"][1]) < 0 and float(small["signed_change_predicted"][1]) < 0
    assert (table["signed_change_whitened"].isel(fit=1) < 0).all()
    assert float(misses(table).count()) == 3


def test_the_report_counts_cells(table):
    report = real_fits_report(table)
    assert "**Signed gap near: 3 of 3 (100.0 %).**" in report or "**Signed gap near: 2 of 3" in report
    assert "| this prediction | 1 of 1 (100.0 %) |" in report
    assert "| 3, 8 | 200 | 10 |" in report and "net " in report


def test_the_figure_has_a_point_for_each_cell(table):
    (figure,) = real_fits_figures()
    drawn = figure.draw(table)
    assert len(drawn.axes) == 5
    assert sum(len(bars[0].get_xdata()) for bars in drawn.axes[0].containers) == 3
    assert [len(bars[0].get_xdata()) for bars in drawn.axes[1].containers] == [1]  # the change: of Mixup alone
    near = misses(table).sel(n=20) <= 0.03
    assert f"{100 * float(near.mean()):.0f} % of the signed gaps" in drawn.legends[0].get_title().get_text()
    assert "mean of 20 training sets. Bars: 95 % intervals" in figure.caption(table)


def test_where_n_is_large_mixup_is_left_out():
    config = RealFits(every_alpha=100, most_mixed=200)
    kept = [[True] * 6, [True, False, True, False, True, True], [True, False, False, False, True, True]]
    assert [fitted_settings(config, n) for n in (100, 200, 400)] == kept


def test_rank_correlations_are_those_of_scipy(rng):
    """With ties, of the values that both have; there is none where one of them is constant."""
    first, second = (xr.DataArray(rng.integers(0, 6, 40).astype(float)) for _ in range(2))
    first[:5], second[3:9] = np.nan, np.inf
    expected = stats.spearmanr(first[9:], second[9:]).statistic
    assert rank_correlation(first, second) == pytest.approx(expected)
    assert np.isnan(rank_correlation(first, xr.ones_like(first)))
    assert np.isnan(rank_correlation(first[:11], second[:11]))
