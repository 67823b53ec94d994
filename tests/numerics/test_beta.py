"""Beta draws against SciPy's law and their moments; each file-wide level is 1e-6."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.numerics.beta import beta_from
from mixjax.numerics.threefry import Source

SHAPES = [(0.02, 0.02), (0.2, 0.2), (1.0, 1.0), (5.0, 2.0), (0.3, 4.0), (2.0, 0.5), (60.0, 90.0)]


@pytest.fixture(scope="module")
def draws(module_key):
    alpha, beta = np.array(SHAPES, np.float32).T[..., None]
    source = Source.of(module_key, (len(SHAPES), 100_000)).fold_in(7)
    return np.asarray(jax.jit(lambda a, b: beta_from(source, a, b))(alpha, beta), float)


@pytest.mark.parametrize("index", range(len(SHAPES)), ids=[str(s) for s in SHAPES])
def test_law(index, draws, rng):
    """KS, in float32: both samples are rounded to 1e-6, since what is next to 1 is 1."""
    ours, theirs = draws[index], rng.beta(*SHAPES[index], 200_000)
    assert ((ours >= 0) & (ours <= 1)).all()
    assert stats.ks_2samp(np.round(ours, 6), np.round(theirs, 6), method="asymp").pvalue > 1e-6 / 3 / len(SHAPES)


@pytest.mark.parametrize("index", range(len(SHAPES)), ids=[str(s) for s in SHAPES])
def test_moments(index, draws):
    """Mean, and the mean of lambda (1 - lambda) of which Mixup's weight is made, within 5.2 standard errors."""
    alpha, beta = SHAPES[index]
    total, lam = alpha + beta, draws[index]
    for sample, expected in ((lam, alpha / total), (lam * (1 - lam), alpha * beta / (total * (total + 1)))):
        assert abs(sample.mean() - expected) < 5.2 * sample.std() / np.sqrt(lam.size)


def test_entries_depend_on_their_position_alone(key):
    @jax.jit
    def whole_and_part(key):
        source = Source.of(key, (50,))
        part = source._replace(position=source.position[20:30])
        return [beta_from(s, np.float32(0.5), np.float32(2.0)) for s in (source, part)]

    one, other = whole_and_part(key)
    np.testing.assert_allclose(one[20:30], other, rtol=1e-6)


@jax.jit
def few(key, alpha):
    return beta_from(Source.of(key, (3,)), alpha, np.float32(1.0))


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_impossible_shapes_are_nan(alpha, key):
    assert np.isnan(few(key, np.float32(alpha))).all()
