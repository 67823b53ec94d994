"""Beta draws against SciPy's law and their moments; each file-wide level is 1e-6."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.numerics.beta import beta_from
from mixjax.numerics.threefry import Source

SHAPES = [(0.02, 0.02), (0.2, 0.2), (1.0, 1.0), (5.0, 2.0), (0.3, 4.0), (2.0, 0.5), (60.0, 90.0)]
IMPOSSIBLE = [(0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (1.0, np.inf)]
SIZE = len(SHAPES) + len(IMPOSSIBLE), 20_000


@jax.jit
def draw(key, shift):
    alpha, beta = np.array([*SHAPES, *IMPOSSIBLE], np.float32).T[..., None]
    source = Source.of(key, SIZE).fold_in(7)
    return beta_from(source._replace(position=source.position + shift), alpha, beta)


@pytest.fixture(scope="module")
def draws(module_key):
    return np.asarray(draw(module_key, np.uint32(0)), float)


@pytest.mark.parametrize("index", range(len(SHAPES)), ids=[str(s) for s in SHAPES])
def test_law(index, draws, rng):
    """KS, in float32: both samples are rounded to 1e-6, since what is next to 1 is 1."""
    ours, theirs = draws[index], rng.beta(*SHAPES[index], 100_000)
    assert ((ours >= 0) & (ours <= 1)).all()
    assert stats.ks_2samp(np.round(ours, 6), np.round(theirs, 6), method="asymp").pvalue > 1e-6 / 3 / len(SHAPES)


@pytest.mark.parametrize("index", range(len(SHAPES)), ids=[str(s) for s in SHAPES])
def test_moments(index, draws):
    """Mean, and the mean of lambda (1 - lambda) of which Mixup's weight is made, within 5.2 standard errors."""
    alpha, beta = SHAPES[index]
    total, lam = alpha + beta, draws[index]
    for sample, expected in ((lam, alpha / total), (lam * (1 - lam), alpha * beta / (total * (total + 1)))):
        assert abs(sample.mean() - expected) < 5.2 * sample.std() / np.sqrt(lam.size)


def test_entries_depend_on_their_position_alone(draws, module_key):
    shifted = draw(module_key, np.uint32(10))
    np.testing.assert_allclose(shifted[: len(SHAPES), :-10], draws[: len(SHAPES), 10:], rtol=1e-6)


def test_impossible_shapes_are_nan(draws):
    assert np.isnan(draws[len(SHAPES) :]).all() and not np.isnan(draws[: len(SHAPES)]).any()
