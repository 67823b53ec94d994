"""The study of Mixup of fits: its numbers from the draws themselves, in all p dimensions, its report and its figure."""

from __future__ import annotations

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mixjax.sims.cli import main
from mixjax.sims.figures.fits import fits_figures
from mixjax.sims.reports.fits import fits_report

from mixjax import sims
from mixjax.gaussian import (
    direction,
    logistic_coefficients,
    mixed_rows,
    population_ece,
    ridge_estimator,
    sample_data,
    score_law,
    weighted_estimator,
)


@pytest.fixture(scope="module")
def table():
    return sims.run("fits", n=20, ratio="0.25,1.5", theta_norm="1", alpha="1", ridge_penalty="0.5",
                    logistic_penalty="0.02", epochs=3, replicates=12)  # fmt: skip


@pytest.mark.slow
def test_numbers_are_those_of_the_draws(table):
    """p > n: the study works in the space of the rows, this in that of the columns; float32 of both to 1e-3."""
    key = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), zlib.crc32(b"fits 1.5"))
    theta = direction(30, np.float32(1))

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
    assert "| average | 1 | 1 | 0.234 | 0.234 |" in fits_report(table)


def test_the_figure_has_a_panel_for_each_fit(table):
    (figure,) = fits_figures()
    drawn = figure.draw(table)
    drawn.draw_without_rendering()
    assert [ax.get_title() for ax in drawn.axes] == ["average", r"ridge, $\mu = 0.5$", r"logistic, $\mu = 0.02$"]
    assert "12 literal training sets of n = 20" in figure.caption(table)


@pytest.mark.parametrize("wrong, words", [
    (["--ridge-penalty", "0"], "ridge_penalty must be above 0"),
    (["--epochs", "0"], "epochs must be a whole number from 1"),
    (["--replicates", "1"], "replicates must be a whole number from 10"),
])  # fmt: skip
def test_wrong_options_are_one_sentence(wrong, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["fits", *wrong]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
