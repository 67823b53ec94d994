"""Venn-Abers prediction: against isotonic fits with the new row in them, in fractions and by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.recalibration import VennAbers, fit_venn_abers
from tests.calibration.exact import isotonic
from tests.recalibration.samples import N, few, options_of_few

GRID = (np.arange(41) / 40).astype(np.float32)  # confidences of rows, between them, and beyond


def refitted(confidence, correct, weights=None):
    """p0 and p1 on the grid: for each new row and each label, the isotonic fit to all rows."""

    def at(new, label):
        masses = None if weights is None else np.append(weights, 1.0)
        return isotonic(np.append(confidence, new), np.append(correct, label), masses)[-1]

    return np.array([[at(new, label) for new in GRID] for label in (0, 1)], float)


def sample(rng, size=N):
    confidence = GRID[2 * rng.integers(1, 20, size)]
    return confidence, (rng.random(size) < confidence).astype(int)


def padded_grid():
    """The grid in the shape of the rows, so that the map compiles once."""
    return np.append(GRID, np.zeros(N - len(GRID), np.float32))


def bounds(fitted):
    return np.stack([np.asarray(bound)[: len(GRID)] for bound in fitted.bounds(padded_grid())])


@pytest.mark.medium
def test_isotonic_fits_with_the_new_row_agree(rng):
    for size in (3, 20, 20):
        confidence, correct = sample(rng, size)
        fitted = fit_venn_abers(*few(confidence, correct), **options_of_few(size))
        p0, p1 = refitted(confidence, correct)
        np.testing.assert_allclose(bounds(fitted), [p0, p1], atol=2e-6)
        np.testing.assert_allclose(fitted(padded_grid())[: len(GRID)], p1 / (1 - p0 + p1), atol=2e-6)


CERTAIN = (np.zeros(4, int), np.ones(4, int), np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))


@pytest.mark.medium
def test_counts_are_exact(rng):
    """Without weights all corners are found in whole numbers: the fractions of the definition, rounded once."""
    confidence, correct = sample(rng)
    fitted = fit_venn_abers(confidence.astype(float), correct)
    found = [np.asarray(bound) for bound in fitted.bounds(GRID.astype(float))]
    np.testing.assert_allclose(found, refitted(confidence, correct), rtol=4e-16)


@pytest.mark.medium
@pytest.mark.parametrize("correct", CERTAIN, ids=["wrong", "right", "separated", "upside down"])
def test_few_rows_and_one_kind(correct):
    confidence = np.array([0.2, 0.4, 0.6, 0.8], np.float32)
    fitted = fit_venn_abers(*few(confidence, correct), **options_of_few(4))
    np.testing.assert_allclose(bounds(fitted), refitted(confidence, correct), atol=2e-7)


@pytest.mark.medium
def test_scikit_learn_agrees(rng):
    isotonic_regression = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    confidence, correct = sample(rng, 60)
    fitted = fit_venn_abers(*few(confidence, correct), **options_of_few(60))
    for label, found in zip((0, 1), bounds(fitted), strict=True):
        for new, value in zip(GRID[::8], found[::8], strict=True):
            rows = np.append(confidence, new), np.append(correct, label)
            assert value == pytest.approx(isotonic_regression().fit(*rows).predict([new])[0], abs=1e-6)


def test_weighted_rows_are_worth_a_number_of_rows(rng):
    """...(sum w)^2 / sum w^2, whatever the unit; masked ones none."""
    confidence, correct = sample(rng)
    weights, where = rng.integers(0, 4, N).astype(np.float32), rng.random(N) < 0.4
    kept = where & (weights > 0)
    masses = weights[kept].astype(float) * weights[kept].sum() / (weights[kept] ** 2).sum()
    expected = refitted(confidence[kept], correct[kept], masses)
    hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    for unit in (1.0, 1e-3):
        fitted = fit_venn_abers(*hidden, weights=np.float32(unit) * weights, where=where)
        np.testing.assert_allclose(bounds(fitted), expected, atol=2e-6)


@pytest.mark.medium
def test_one_of_two_is_calibrated(rng):
    """The true probability is between the bounds but for noise, which many rows of few confidences leave little of.

    Of 2000 rows at each confidence: within five standard errors at each of 19, false-alarm rate 1.1e-5.
    """
    confidence = np.repeat(GRID[2:40:2], 2000).astype(float)
    correct = rng.random(len(confidence)) < confidence**2
    truth = GRID[2:40:2].astype(float) ** 2
    p0, p1 = (np.asarray(bound) for bound in fit_venn_abers(confidence, correct).bounds(GRID[2:40:2].astype(float)))
    noise = 5 * np.sqrt(truth * (1 - truth) / 2000)
    assert ((p0 - noise <= truth) & (truth <= p1 + noise)).all()
    assert (p0 <= p1).all() and (p1 - p0 < 2e-3).all()


@pytest.mark.medium
def test_what_it_is_applied_to():
    fitted = VennAbers(np.array([0.5, np.inf]), np.array([0.0, 0.25, 0.0]), np.array([0.75, 1.0, 1.0]))
    p0, p1 = fitted.bounds(np.array([[0.0, 0.5], [np.nan, 1.0]]))
    np.testing.assert_array_equal(p0, [[0.0, 0.25], [np.nan, 0.25]])
    np.testing.assert_array_equal(p1, [[0.75, 0.75], [np.nan, 1.0]])
    np.testing.assert_allclose(fitted([0.5]), 0.75 / 1.5)
