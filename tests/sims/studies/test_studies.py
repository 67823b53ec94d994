"""The studies end to end at a small size, against their limits, exact expectations and the draws themselves."""

import zlib
from dataclasses import replace

import jax
import numpy as np
import pytest
import xarray as xr

from mixjax import sims
from mixjax.gaussian import population_errors, sample_scores
from mixjax.sims.publishing import publish
from mixjax.sims.studies import STUDIES
from mixjax.sims.studies.comparison import expected_variables
from mixjax.sims.studies.curves import refined
from mixjax.sims.study import GridStudy
from mixjax.sims.verification import MOST_TOLERANCE, TOLERANCE, report


def test_every_study_of_a_grid_has_a_size(sizes):
    assert {name for name, study in STUDIES.items() if isinstance(study, GridStudy)} == sizes.keys()


@pytest.fixture
def table(grid_study, table_of):
    return table_of(grid_study)


@pytest.mark.medium
@pytest.mark.few(1)
def test_variables_are_described_and_finite(table):
    for name, variable in table.items():
        assert variable.attrs["long_name"]
        assert variable.attrs["units"] == "1"
        assert np.isfinite(variable.values).all(), name
        if str(name).endswith("_se"):
            assert (variable.values >= 0).all(), name


@pytest.mark.medium
def test_fractions_lie_in_their_intervals(table):
    fractions = [name.removesuffix("_low") for name in map(str, table) if name.endswith("_low")]
    assert fractions
    for name in fractions:
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()
        assert "one half" in table[name].attrs["ties"]


@pytest.mark.slow
def test_fixed_mixup_hurts_as_p_over_n_vanishes(table_of):
    """Theorem 3.2 at p = 5: by n = 100,000 Mixup is worse in every one of 2000 training sets."""
    last = table_of("low_dimension").sel(n=100_000)
    assert (last["ece_mix_better"] == 0).all()
    assert (last["ece_difference"] > 100 * last["ece_difference_se"]).all()


@pytest.mark.slow
def test_the_derivative_tends_to_its_closed_form(table_of):
    """At n = 1000 the finite-sample derivative is within 2 % of the limit where p/n >= 1 (bias O(1/n), s.e. 0.1 %)."""
    table = table_of("capacity").sel(ratio=[1.0, 4.0])
    for metric in ("ece", "mce"):
        np.testing.assert_allclose(table[f"{metric}_derivative"], table[f"{metric}_derivative_limit"], rtol=0.02)
        assert (table[f"{metric}_derivative"] < 0).all()
    assert (table["derivative_negative"] == 1).all()


# --- ties ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_tie_counts_one_half():
    """Without signal every MCE is 1/2, which is not "Mixup worse"; nor is no Mixup (`test_engine`)."""
    table = sims.run("phase_diagram", n="200", ratio="0.1,0.5,2", theta_norm="0,1", alpha="1", replicates=100)
    no_signal = table.sel(theta_norm=0)
    assert (no_signal["mce_mix_better"] == 0.5).all()
    assert (no_signal["mce_difference"] == 0).all()
    assert (no_signal["ece_mix_better"] == 1).all()


# --- quantiles and curves --------------------------------------------------------------------------


@pytest.mark.slow
def test_quantiles_are_those_of_the_draws(table_of):
    """The same key construction by hand: the mean of the quantiles of two blocks of 1000."""
    table = table_of("high_dimension")
    root = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), zlib.crc32(b"high_dimension"))
    t = np.concatenate([[0.0], table["t"].values]).astype(np.float32)
    quantiles = []
    for block in (0, 1):
        key = jax.random.fold_in(root, block)
        law = sample_scores(key, n=np.float32(200), p=100, theta_norm=np.float32(2.0), t=t, replicates=1000)
        ece = np.asarray(population_errors(law).ece, np.float64)
        quantiles.append(np.quantile(ece[1:] - ece[:1], [0.05, 0.95], axis=1))
    cell = table.sel(n=200, ratio=0.5, theta_norm=2.0)
    for name, wanted in zip(("q05", "q95"), np.mean(quantiles, axis=0), strict=True):
        np.testing.assert_allclose(cell[f"ece_difference_{name}"], wanted, rtol=1e-4, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "axis"), [("high_dimension", "ratio"), pytest.param("low_dimension", "n", marks=pytest.mark.slow)]
)
def test_curves_go_through_the_expectations_of_the_points(study, axis, table_of):
    table = table_of(study)
    curve = table["ece_difference_expected_curve"].sel({f"{axis}_curve": table[axis].values})
    assert table.sizes[f"{axis}_curve"] > 100
    np.testing.assert_allclose(curve, table["ece_difference_expected"], rtol=0, atol=MOST_TOLERANCE)


def test_refined_axes_hold_their_points_in_order():
    fine = refined(np.array([2.0, 0.3, 1.1]))
    assert np.isin([0.3, 1.1, 2.0], fine).all()
    assert (np.diff(fine) > 0).all()
    assert refined(np.array([30.0, 40.0]), whole=True).tolist() == list(range(30, 41))
    assert refined(np.array([5.0])).tolist() == [5.0]


# --- verification and publishing -------------------------------------------------------------------


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "study", ["phase_diagram", "high_dimension", pytest.param("low_dimension", marks=pytest.mark.slow)]
)
def test_monte_carlo_agrees_with_the_exact_expectations(study, table_of):
    """Largest |z| of at most 54 values below 5: false-alarm rate 3e-5 a study."""
    text, agrees = report(table_of(study))
    assert agrees, text


@pytest.mark.slow
def test_errors_whose_squares_have_no_single_precision_are_verified():
    """At |theta| = 10 an ECE is below 1e-20; its standard error is neither 0 nor wrong."""
    table = sims.run("phase_diagram", n="500", ratio="0.1,0.5,1", theta_norm="8,10", alpha="0.4,1", replicates=2000)
    assert (table["ece"].sel(theta_norm=10) < 1e-19).all()
    assert (table["ece_se"] > 1e-3 * table["ece"]).all()
    text, agrees = report(table)
    assert agrees, text


@pytest.mark.medium
def test_a_difference_that_is_wrong_is_seen(table_of):
    """Also in a cell whose standard error is 0, and in a part of a table."""
    table = table_of("phase_diagram").isel(ratio=[2, 0]).copy(deep=True)
    table["ece_difference_se"][0, 1, 0, 1] = 0.0
    table["ece_difference"][0, 1, 0, 1] += 1e-3
    text, agrees = report(table)
    assert not agrees
    assert "DIFFERS" in text


@pytest.mark.slow
def test_expectations_in_single_precision_are_within_the_tolerance():
    grid = STUDIES["phase_diagram"].grid(
        STUDIES["phase_diagram"].config(n="30,1000", ratio="0.05,0.7,8", theta_norm="0.25,0.63,2,4", alpha="0.2,1")
    )
    single, double = (xr.Dataset(expected_variables(grid, float64=float64)) for float64 in (False, True))
    for metric in ("ece", "rms_ece", "mce"):
        size = double[f"{metric}_expected"]
        for name, scale in (
            (metric, size),
            (f"{metric}_difference", size + abs(double[f"{metric}_difference_expected"])),
        ):
            error = abs(single[f"{name}_expected"] - double[f"{name}_expected"])
            assert (error <= np.minimum(TOLERANCE * scale, MOST_TOLERANCE)).all(), name


@pytest.mark.medium
@pytest.mark.few(1)
def test_figures_are_drawn_and_described_from_the_table_alone(grid_study, table):
    """Every number of training sets is stated; what has no draws states none."""
    for figure in STUDIES[grid_study].figures:
        assert figure.draw(table) is not None
        caption = figure.caption(table)
        assert "2000 training sets" in caption or figure.name in {"derivative_three_ways", "monotonicity"}
        assert "Drawn:" not in caption  # all is


@pytest.mark.slow
def test_every_study_is_published_with_its_figures(grid_study, folder_of, tmp_path):
    text = publish(folder_of(grid_study), tmp_path).read_text()
    for figure in STUDIES[grid_study].figures:
        assert f"![{figure.name}](figures/{figure.name}.png)" in text
        assert (tmp_path / "figures" / f"{figure.name}.png").stat().st_size > 10_000
    assert not list(tmp_path.rglob(".tmp-*"))


@pytest.mark.slow
def test_points_are_published_with_their_verification(folder_of, tmp_path, monkeypatch):
    """A row for each cell and setting of a slice, and none for a curve."""
    study = STUDIES["high_dimension"]
    monkeypatch.setitem(STUDIES, "high_dimension", replace(study, figures=()))
    text = publish(folder_of("high_dimension"), tmp_path).read_text()
    assert "agrees with the exact expectations" in (tmp_path / "verification.txt").read_text()
    assert "agrees with the exact expectations" in text
    rows = (tmp_path / "table.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 2 * 2
    assert rows[0].startswith("n,p,ratio,theta_norm,alpha,beta,t,") and "curve" not in rows[0]


# --- grids -----------------------------------------------------------------------------------------


def test_the_cells_of_a_shift_are_a_length_and_an_angle_of_the_unlabeled_mean():
    grid = STUDIES["pseudo_label_shift"].grid(
        STUDIES["pseudo_label_shift"].config(n="50", ratio="2", theta_norm="1.5", unlabeled_norm="0.5,3", angle="0,90")
    )
    assert grid.cells["unlabeled_norm"].tolist() == [0.5, 0.5, 3, 3] and grid.cells["angle"].tolist() == [0, 90, 0, 90]
    assert set(grid.cells["theta_norm"]) == {1.5} and set(grid.cells["n_unlabeled"]) == {1000}


def test_the_cells_of_low_dimension_have_a_fixed_p():
    grid = STUDIES["low_dimension"].grid(STUDIES["low_dimension"].config(n="30,1000", p="5,7", theta_norm="1"))
    assert grid.cells["p"].tolist() == [5, 7, 5, 7] and grid.cells["n"].tolist() == [30, 30, 1000, 1000]
