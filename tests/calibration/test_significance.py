"""The calibration test: its level, its power, and its statistic from the definition."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration.significance import calibration_test


def literal(confidence, correct, num_bins):
    """T_m in units of its standard deviation, pair by pair."""
    bins = np.minimum(np.floor(confidence * num_bins), num_bins - 1)
    r, v = correct - confidence, confidence * (1 - confidence)
    count = np.array([(bins == b).sum() for b in bins])
    same = (bins[:, None] == bins[None]) & ~np.eye(len(r), dtype=bool)
    statistic = (same * np.outer(r, r) / count[:, None]).sum()
    return statistic / np.sqrt(2 * (same * np.outer(v, v) / count[:, None] ** 2).sum())


@pytest.mark.medium
def test_the_statistic_is_the_largest_of_its_definition(rng, key):
    confidence, correct = rng.random(60), rng.random(60) < 0.7
    found = calibration_test(key, confidence, correct, max_bins=20, num_draws=9)
    expected = {m: literal(confidence, correct, m) for m in (2, 4, 8, 16)}
    np.testing.assert_allclose(found.statistic, max(expected.values()), rtol=1e-10)
    assert expected[int(found.bins_used)] == max(expected.values())


@pytest.mark.slow
def test_level(rng, key):
    """Of 1000 samples of calibrated scores at most 5 % are rejected at 5 %: within 3.3 standard errors, 5e-4."""
    confidence = rng.beta(4, 1.5, (1000, 60)).astype(np.float32)
    correct = rng.random(confidence.shape) < confidence
    test = jax.jit(jax.vmap(lambda k, c, y: calibration_test(k, c, y, max_bins=16, num_draws=99).p_value))
    p_values = np.asarray(test(jax.random.split(key, 1000), confidence, correct))
    for level in (0.05, 0.2):
        error = np.sqrt(level * (1 - level) / 1000)
        assert abs((p_values <= level + 1e-6).mean() - level) < 3.3 * error


@pytest.mark.slow
def test_power(rng, key):
    """A broad deviation is found, and one that averages out in wide bins."""
    confidence = rng.random(3000)
    broad = (rng.random(3000) < confidence**1.3).astype(float)
    wave = rng.random(3000) < np.clip(confidence + 0.2 * np.sign(np.sin(32 * np.pi * confidence)), 0, 1)
    test = jax.jit(lambda correct: calibration_test(key, confidence, correct, max_bins=64, num_draws=49))
    assert test(broad).p_value == 1 / 50
    found = test(wave.astype(float))
    assert found.p_value == 1 / 50
    assert found.bins_used >= 32


def padded(confidence, correct):
    """In 60 rows, of which the others may hold anything."""
    where = np.arange(60) < len(confidence)
    columns = (np.pad(np.array(part, float), (0, 60 - len(part)), constant_values=9) for part in (confidence, correct))
    return *columns, where


@pytest.fixture
def tested(key):
    """With 9 draws, in one program for all."""
    return jax.jit(lambda c, y, where: calibration_test(key, c, y, where=where, max_bins=20, num_draws=9))


@pytest.mark.slow
def test_masked_rows_do_not_count(rng, tested):
    confidence, correct, where = rng.random(60), rng.random(60) < 0.5, rng.random(60) < 0.7
    masked = tested(np.where(where, confidence, np.nan), correct.astype(float), where)
    alone = tested(*padded(confidence[where], correct[where]))
    np.testing.assert_allclose(masked.statistic, alone.statistic, rtol=1e-10)


@pytest.mark.few(1)
@pytest.mark.parametrize("others", [[], [0.3]])
def test_wrong_rows_that_were_certain(tested, others):
    """Under the hypothesis there are none, and the statistic has no deviation; one alone has no other to agree with."""
    confidence = np.array([1.0] * 20 + [0.0] * 5 + others)
    right = (confidence > 0.5).astype(int)
    for wrong, p_value in ((0, 1.0), (1, 1.0), (2, 0.1), (20, 0.1)):
        found = tested(*padded(confidence, np.where(np.arange(len(right)) < wrong, 0, right)))
        np.testing.assert_allclose(found.p_value, p_value)
        assert np.isinf(found.statistic) == (wrong > 1)


@pytest.mark.slow
def test_degenerate_and_wrong_input(key, tested):
    assert tested(*padded([0.5], [1])).p_value == 1
    assert np.isnan(tested(*padded([], [])).p_value)
    with pytest.raises(ValueError, match="correct must be 0 or 1"):
        calibration_test(key, [0.5], [0.3], max_bins=2, num_draws=1)
    with pytest.raises(ValueError, match="max_bins must be at least 2"):
        calibration_test(key, [0.5], [1], max_bins=1)
    with pytest.raises(TypeError, match="key must be made by"):
        calibration_test(0, [0.5], [1])
