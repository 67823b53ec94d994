"""Moments merged from parts are those of the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.sims.engine.moments import Moments, merged, moments_of, stored_form

MOMENTS = jax.jit(moments_of, static_argnums=0)


def stored(values, wanted):
    """The arrays of a shard."""
    return stored_form({name: np.asarray(array) for name, array in MOMENTS("x", values, wanted).items()})


def of_all(x):
    return Moments(np.full(len(x), float(x.shape[1])), x.mean(1), ((x - x.mean(1)[:, None]) ** 2).sum(1))


def test_merged_moments_are_those_of_all(rng):
    parts = [rng.normal(3.0, 2.0, (4, size)) for size in (5, 1, 17)]
    merged = of_all(parts[0]).merge(of_all(parts[1])).merge(of_all(parts[2]))
    everything = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(merged.mean, everything.mean(1), rtol=1e-14)
    np.testing.assert_allclose(merged.standard_deviation, everything.std(1, ddof=1), rtol=1e-13)
    np.testing.assert_allclose(merged.standard_error, everything.std(1, ddof=1) / 23**0.5, rtol=1e-13)


def test_merging_does_not_cancel(rng):
    """A spread of 1 about a mean of 1e9: sums of squares would keep nothing of it."""
    parts = [1e9 + rng.normal(size=(1, 1000)) for _ in range(50)]
    merged = of_all(parts[0])
    for part in parts[1:]:
        merged = merged.merge(of_all(part))
    exact = (np.concatenate(parts, 1) - 1e9).std(1, ddof=1)  # the subtraction is exact, the mean about 0
    np.testing.assert_allclose(merged.standard_deviation, exact, rtol=1e-8)  # means are rounded to 1e-7


def test_merging_with_nothing_is_the_identity():
    some, nothing = Moments(*np.ones((3, 2))), Moments(*np.zeros((3, 2)))
    for both in (some.merge(nothing), nothing.merge(some)):
        np.testing.assert_array_equal(both.mean, some.mean)
        np.testing.assert_array_equal(both.m2, some.m2)


def test_one_replicate_has_no_spread():
    single = Moments(np.ones(1), np.ones(1), np.zeros(1))
    assert np.isnan(single.standard_deviation)
    assert np.isnan(single.standard_error)


@pytest.mark.medium
def test_merged_is_block_by_block_and_cell_by_cell(rng):
    """Two blocks of three cells, the first in two parts; a value with NaN in it."""
    values = rng.normal(size=(2, 3, 40))
    values[1, 2, :5] = np.nan
    wanted = np.ones(40, bool)
    blocks = [[stored(values[0, :2], wanted), stored(values[0, 2:], wanted)], [stored(values[1], wanted)]]
    found = merged(blocks)["x"]
    together = np.moveaxis(values, 0, 1).reshape(3, -1)
    np.testing.assert_array_equal(found.count, [80, 80, 75])
    np.testing.assert_allclose(found.mean, np.nanmean(together, axis=1), rtol=1e-13)
    np.testing.assert_allclose(found.standard_deviation, np.nanstd(together, axis=1, ddof=1), rtol=1e-13)


def test_unwanted_replicates_are_left_out(rng):
    values = rng.normal(size=(2, 10))
    found = stored(values, np.arange(10) < 7)
    np.testing.assert_array_equal(found["x.count"], [7, 7])
    np.testing.assert_allclose(found["x.mean"], values[:, :7].mean(axis=1), rtol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 3e-21, 1e-36, 3e25])
def test_no_spread_is_too_small_or_too_large_for_single_precision(rng, scale):
    """Of float32 values, whose squares underflow or overflow; two blocks, to the rounding of float32."""
    values = (scale * (2.0 + rng.normal(size=(2, 3, 200)))).astype(np.float32)
    found = merged([stored(block, np.ones(200, bool))] for block in values)["x"]
    together = np.moveaxis(values, 0, 1).reshape(3, -1).astype(float)
    np.testing.assert_allclose(found.standard_deviation, together.std(axis=1, ddof=1), rtol=1e-5)


def test_what_does_not_underflow_keeps_its_bits(rng):
    """The sum of squares of float32 as it was stored before, which can still be read."""
    values = rng.normal(3.0, 2.0, (4, 40)).astype(np.float32)
    found = stored(values, np.ones(40, bool))
    deviations = values - np.asarray(found["x.mean"])[:, None]
    np.testing.assert_array_equal(found["x.m2"], np.asarray(jnp.sum(deviations**2, axis=-1)))
    before = merged([[{**found, "x.m2": found["x.m2"].astype(np.float32)}]])["x"]
    np.testing.assert_array_equal(before.m2, found["x.m2"])
