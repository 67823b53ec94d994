"""The study beyond the paper: its numbers from the draws themselves, its signs, and its figures."""

from __future__ import annotations

import zlib

import jax
import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import (
    expected_errors,
    imbalanced_ece,
    limit_scores,
    population_ece,
    sample_training_sets,
    with_positive_rate,
)
from mixjax.sims.reports.beyond import beyond_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table():
    return sims.run("beyond", n=60, ratio="0.25,4", theta_norm="1", alpha="1", epochs="1,30", positive_rate="0.5,0.9",
                    imbalanced_ratio="0.05,1", classes="2,4", classes_ratio="0.05,2",
                    class_sets=30, draws=5000, replicates=150)  # fmt: skip


def test_unequal_classes_are_those_of_the_draws(table):
    key = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), zlib.crc32(b"beyond imbalance"))
    sets = sample_training_sets(key, n=np.float32(60), p=np.float32([3, 60]), theta_norm=np.float32(1), replicates=150)
    sets = with_positive_rate(sets, np.float32(0.9))
    plain, mixed = (
        imbalanced_ece(sets.scores(np.float32(t)), positive_rate=0.9, bias=np.float32(np.log(9))) for t in (0, 1 / 3)
    )
    cell = table.sel(positive_rate=0.9, error="top-label, bias")
    change = np.asarray(mixed - plain, float)
    np.testing.assert_allclose(cell["change"], change.mean(axis=-1), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(cell["change_se"], change.std(axis=-1, ddof=1) / np.sqrt(150), rtol=1e-2)


def test_few_pairs_undo_mixup_and_many_are_its_expectation(table):
    """At p/n = 4 one epoch is worse than no Mixup, thirty are better; the excess is c tau / (pairs / n) of variance."""
    cell = table.isel(alpha=0, theta_norm=0).sel(ratio=4)
    once, often = (cell["ece_pairs"] - cell["ece_plain"]).values
    worst = 5 * float(cell["ece_pairs_se"].max())
    assert once > worst and often < -worst
    assert (np.abs(cell["excess"].sel(epochs=30)) < 0.1 * cell["excess"].sel(epochs=1)).all()


def test_equal_classes_have_one_error(table):
    np.testing.assert_allclose(*table["change"].sel(positive_rate=0.5).values[[0, 2]], atol=1e-5)
    np.testing.assert_allclose(*table["change_limit"].sel(positive_rate=0.5).values[[0, 1]], atol=1e-5)


def test_two_classes_are_the_papers(table):
    """The change of the limit by quadrature, within 5 standard errors."""
    ratio = table["class_ratio"].values
    plain, mixed = (population_ece(limit_scores(ratio, 1.0, t)) for t in (0.0, 1 / 3))
    row = table.sel(classes=2, kind="top-label")
    assert (np.abs(row["classes_plain"] - plain) < 5 * row["classes_plain_se"] + 1e-6).all()
    assert (np.abs(row["classes_mix"] - mixed) < 5 * row["classes_mix_se"] + 1e-6).all()


def test_training_sets_of_two_classes_are_the_papers(table):
    """The change of 30 training sets at n = 60 beside its expectation, within 5 standard errors; both kinds alike."""
    row, t = table.sel(classes=2), np.array([0.0, 1 / 3])
    ece = np.asarray(expected_errors(n=60, p=np.array([[3], [120]]), theta_norm=1.0, t=t).ece)
    error = 5 * row["classes_change_se"] + 1e-3
    assert (np.abs(row["classes_change"] - (ece[:, 1] - ece[:, 0])) < error).all()
    np.testing.assert_allclose(*row["classes_change"].values, atol=1e-3)


def test_k_classes_need_as_many_dimensions_and_the_table_tells(table):
    """p/n = 0.05 at n = 60 is p = 3 for 2 classes, and 4 for 4."""
    for kind in table["kind"].values:
        cell = table.sel(kind=kind, classes_ratio=0.05)
        assert cell["classes_p"].values.tolist() == [3, 4]
        np.testing.assert_allclose(cell["classes_used_ratio"], [3 / 60, 4 / 60])


def test_the_report_finds_the_boundary_of_the_limit(table):
    """|theta| = 1, t = 1/3: c_crit = 0.2340 (`critical_ratio`)."""
    assert "| 0.5 | 0.234 | 0.234 | 0.234 |" in beyond_report(table)
