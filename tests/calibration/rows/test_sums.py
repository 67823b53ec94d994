"""Sums that do not drift."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration.rows.sums import mean, over, prefix_sums, product_less, total


@jax.jit
def sums_and_runs(values, starts, ends):
    prefix = prefix_sums(values)
    return total(values), *prefix, over(prefix, starts, ends)


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [0, 1, 257, 70_000])
def test_float32_sums(size, rng):
    values = rng.random(size).astype(np.float32)
    exact = np.concatenate([[0.0], np.cumsum(values.astype(np.float64))])
    ends = rng.integers(0, size + 1, 20)
    starts = np.maximum(ends - 3, 0)
    whole, high, low, runs = sums_and_runs(values, starts, ends)
    np.testing.assert_allclose(whole, exact[-1], rtol=4e-7)
    np.testing.assert_allclose(np.asarray(high, np.float64) + np.asarray(low, np.float64), exact, atol=1e-9 * size)
    np.testing.assert_allclose(runs, exact[ends] - exact[starts], atol=2e-7)


def test_counts_are_exact(rng):
    values = rng.integers(0, 2, 1000).astype(np.int32)
    (sums,) = jax.jit(prefix_sums)(values)
    np.testing.assert_array_equal(sums, np.concatenate([[0], np.cumsum(values)]))


def test_products_are_compared_exactly(rng):
    a, b, c, d = rng.integers(0, 2**31, (4, 2000))
    c[:1000], d[:1000] = b[:1000], a[:1000] + rng.integers(-1, 2, 1000)  # equal, or all but
    words = [x.astype(np.int32) for x in (a, b, c, np.clip(d, 0, 2**31 - 1))]
    expected = [int(p) * int(q) < int(r) * int(s) for p, q, r, s in zip(*words, strict=True)]
    np.testing.assert_array_equal(jax.jit(product_less)(*words), expected)


def test_a_mean_ignores_what_does_not_count():
    found = jax.jit(mean)
    np.testing.assert_allclose(found(np.array([1.0, np.inf, 4.0]), np.array([2.0, 0.0, 1.0])), 2.0)
    assert np.isnan(found(np.array([1.0, np.nan]), np.array([1, 0])))
    assert np.isnan(found(np.array([1.0, 2.0]), np.array([0, 0])))


@pytest.mark.slow
def test_gradients_of_running_sums(rng):
    """d/dv of the sum of rows 3 to 400 is 1 there."""
    gradient = jax.jit(jax.grad(lambda v: over(prefix_sums(v), np.int32(3), np.int32(400))))(rng.random(600))
    np.testing.assert_array_equal(gradient, (np.arange(600) >= 3) & (np.arange(600) < 400))
