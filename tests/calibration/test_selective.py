"""Selective risk from its definition: for every threshold, who is answered and who of these is wrong."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration import aurc, excess_aurc, risk_coverage, selective_accuracy

SIZE = 12


@pytest.fixture
def rows(rng):
    """With ties and weights."""
    confidence = rng.choice([0.2, 0.5, 0.55, 0.7, 0.9, 1.0], SIZE).astype(np.float32)
    return confidence, rng.random(SIZE) < 0.6, rng.choice([0.5, 1.0, 2.0], SIZE).astype(np.float32)


def literal(confidence, correct, weights):
    """(threshold, coverage, risk) of each row, the most confident first."""
    points = []
    for threshold in -np.sort(-confidence):
        answered = confidence >= threshold
        mass = weights[answered].sum()
        points.append((threshold, mass / weights.sum(), (weights * ~correct)[answered].sum() / mass))
    return np.array(points, np.float64).T


@pytest.mark.medium
def test_the_curve_and_its_area(rows):
    confidence, correct, weights = rows
    for w in (np.ones_like(weights), weights):
        expected = literal(confidence, correct, w)
        found = risk_coverage(confidence, correct, weights=w)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        order = np.argsort(-confidence, kind="stable")
        area = np.average(expected[2], weights=w[order])
        np.testing.assert_allclose(aurc(confidence, correct, weights=w), area, rtol=1e-6)
        e = np.average(~correct, weights=w)
        best = e + (1 - e) * np.log(1 - e)
        np.testing.assert_allclose(excess_aurc(confidence, correct, weights=w), area - best, rtol=1e-5)


def test_masked_rows_repeat_the_end_of_the_curve(rng, rows):
    confidence, correct, _ = rows
    where = rng.permutation(SIZE) < 7
    expected = literal(confidence[where], correct[where], np.ones(7))
    found = risk_coverage(np.where(where, confidence, np.nan), np.where(where, correct, 5), where=where)
    np.testing.assert_allclose(found, np.pad(expected, ((0, 0), (0, SIZE - 7)), mode="edge"), rtol=1e-6)


@pytest.mark.slow
def test_selective_accuracy_answers_enough(rows):
    """At every coverage that is reached exactly, just above, and between; ties are answered together."""
    confidence, correct, _ = rows
    _, coverage, risk = literal(confidence, correct, np.ones(SIZE))
    accuracy = jax.jit(lambda share: selective_accuracy(confidence, correct, coverage=share))
    for k in range(SIZE + 1):
        for share in (np.float32(k / SIZE), np.float32((k + 1e-3) / SIZE)):
            if share <= 1:
                enough = np.flatnonzero(coverage.astype(np.float32) >= share)[0]
                np.testing.assert_allclose(accuracy(share), 1 - risk[enough], rtol=1e-6)


@pytest.mark.parametrize("wrong", [0, 1, 30, 199, 200])
def test_a_perfect_ranking_has_no_excess(wrong):
    """...but e / N at most, which is the limit's; equal confidences have the error rate for an area."""
    correct = np.arange(200) < 200 - wrong
    excess = excess_aurc(np.linspace(1, 0, 200), correct)
    assert -1e-12 <= excess <= wrong / 200**2 + 1e-12
    np.testing.assert_allclose(aurc(np.full(200, 0.5), correct), wrong / 200, rtol=1e-12)


def test_wrong_coverage():
    for coverage, message in ((1.5, r"in \[0, 1\], got 1.5"), ([0.5, 1], "one number")):
        with pytest.raises(ValueError, match=f"coverage must be {message}"):
            selective_accuracy([0.5], [1], coverage=coverage)
    assert np.isnan(jax.jit(lambda share: selective_accuracy([0.5], [1], coverage=share))(1.5))
