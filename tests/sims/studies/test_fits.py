"""The study of Mixup of fits: its numbers from the draws themselves, in all p dimensions, its report and its figure."""

from __future__ import annotations

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import (
    class_mean,
    logistic_coefficients,
    mixed_rows,
    population_ece,
    ridge_estimator,
    sample_data,
    score_law,
    weighted_estimator,
)
from mixjax.sims.configuration import work_of
from mixjax.sims.figures.fits import fits_figures
from mixjax.sims.reports.fits import fits_report
from mixjax.sims.studies import fits

pytestmark = pytest.mark.medium

OPTIONS = {"n": 20, "ratio": "0.25,1.5", "theta_norm": "1", "alpha": "1", "ridge_penalty": "0.5",
           "logistic_penalty": "0.02", "epochs": 3, "replicates": 12}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    """The table of given numbers: at p/n = 1.5 no Mixup has an ECE of 0.2 and Mixup one of 0.1 and noise."""
    work = work_of("fits", **OPTIONS)
    coarse = np.sort(np.append(fits.RATIOS[::12], fits.RATIOS[85:87]))  # which the boundary, 0.234, is between
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits, "RATIOS", coarse)
        return made(work)


def made(work):
    rng = np.random.default_rng(0)
    pieces = {}
    for name, change in (("ratio-0.25", 0.1), ("ratio-1.5", -0.1)):
        ece = np.full((12, 1, 3, 2), 0.2)
        ece[..., 1] += change + 0.01 * rng.standard_normal((12, 1, 3))
        pieces[name] = {"ece": ece, "signed": ece, "accuracy": 1 - ece}
    pieces["ratio-1.5"]["ece"][3, 0, 2] = np.nan  # a fit that did not converge
    origin = {"study": "fits", "replicates": 12}
    return work.study.table(work.config, pieces).assign_attrs(origin).assign_attrs(pieces=pieces)


def test_the_table_is_that_of_its_pieces(table):
    ece = table.attrs["pieces"]["ratio-1.5"]["ece"][:, 0]
    change = ece[..., 1] - ece[..., 0]
    cell = table.sel(ratio=1.5, theta_norm=1, alpha=1)
    np.testing.assert_allclose(cell["change"], np.nanmean(change, axis=0), rtol=1e-12)
    error = [change[:, fit][np.isfinite(change[:, fit])].std(ddof=1) / np.sqrt(n) for fit, n in enumerate((12, 12, 11))]
    np.testing.assert_allclose(cell["change_se"], error, rtol=1e-12)
    np.testing.assert_allclose(cell["not_converged"], [0, 0, 1 / 12])
    np.testing.assert_allclose(cell["ece_mix"] - cell["ece_plain"], cell["change"], atol=1e-12)


@pytest.mark.slow
def test_numbers_are_those_of_the_draws():
    """p > n: the study works in the space of the rows, this in that of the columns; float32 of both to 1e-3."""
    table = sims.run("fits", **OPTIONS)
    key = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), zlib.crc32(b"fits 1.5"))
    theta = class_mean(30, np.float32(1))

    @jax.jit
    def estimates(key):
        key_data, key_pairs = jax.random.split(key)
        x, y = sample_data(key_data, n=20, theta=theta)
        rows, labels = mixed_rows(key_pairs, x, y, alpha=1, beta=1, num_pairs=60)
        found = [
            *(weighted_estimator(x, y, t) for t in (0, 1 / 3)),
            *(ridge_estimator(x, y, t, penalty=0.5) for t in (0, 1 / 3)),
            *(logistic_coefficients(*part, penalty=0.02) / 2 for part in ((x, y), (rows, labels))),
        ]
        return population_ece(score_law(jnp.stack(found), theta))

    ece = np.array([estimates(part) for part in jax.random.split(key, 12)], float).reshape(12, 3, 2)
    cell = table.sel(ratio=1.5, theta_norm=1, alpha=1)
    np.testing.assert_allclose(cell["ece_plain"], ece[..., 0].mean(axis=0), rtol=1e-3)
    np.testing.assert_allclose(cell["ece_mix"], ece[..., 1].mean(axis=0), rtol=1e-3)
    change = ece[..., 1] - ece[..., 0]
    np.testing.assert_allclose(cell["change"], change.mean(axis=0), rtol=0, atol=2e-4)
    np.testing.assert_allclose(cell["change_se"], change.std(axis=0, ddof=1) / np.sqrt(12), rtol=2e-2)
    assert (table["not_converged"] == 0).all()


def test_the_report_finds_the_boundary_of_the_average(table):
    """|theta| = 1, t = 1/3: c_crit = 0.2340 (`critical_ratio`), found again as a sign change of the limit."""
    report = fits_report(table)
    assert "| average | 1 | 1 | 0.234 | 0.234 |" in report
    assert "at most 8.33% of a cell" in report


def test_confidence_is_accuracy_and_gap(table):
    whole = (table["not_converged"] == 0).all("alpha")  # or else means are over other training sets
    for arm in ("plain", "mix"):
        apart = table[f"confidence_{arm}"] - table[f"accuracy_{arm}"] - table[f"signed_{arm}"]
        np.testing.assert_allclose(apart.where(whole, 0.0), 0.0, atol=1e-7)
    plain = table["confidence_plain_limit"] - table["accuracy_plain_limit"]
    assert (np.abs(plain) <= table["ece_plain_limit"] + 1e-9).all()


def test_figures_have_a_panel_for_each_fit_and_for_accuracy_and_confidence(table):
    changes, weakest = fits_figures()
    drawn = changes.draw(table)
    assert [ax.get_ylabel() for ax in drawn.axes] == ["average", "ridge\n$\\mu = $0.5", "logistic\n$\\mu = $0.02"]
    assert [ax.get_ylabel() for ax in weakest.draw(table).axes] == ["accuracy", "mean confidence"]
    for figure in (changes, weakest):
        assert "12 literal training sets of n = 20" in figure.caption(table)
