"""The laws of Brownian motion's maximum and range, against the series that the code does not use there."""

from __future__ import annotations

import jax
import mpmath
import numpy as np
import pytest

from mixjax.numerics.brownian import maximum_tail, range_tail

POINTS = [0.0, 0.05, 0.2, 0.45, 0.8, 0.99, 1.0, 1.01, 1.5, 2.5, 4.0, 7.0]


def between_walls(name, x):
    """P(> x) by the eigenfunctions of an interval, of which large x needs many."""
    x, terms = mpmath.mpf(x), range(int(10 + 10 * x))
    h = [mpmath.mpf(k) + mpmath.mpf(1) / 2 for k in terms]
    if name == "maximum":
        return 1 - mpmath.fsum((-1) ** k * 2 / (mpmath.pi * h[k]) * mpmath.exp(-((h[k] * mpmath.pi / x) ** 2) / 2)
                               for k in terms)  # fmt: skip
    return 1 - mpmath.fsum((8 / x**2 + 2 / (g * mpmath.pi) ** 2) * mpmath.exp(-2 * (g * mpmath.pi / x) ** 2) for g in h)


def reflected(name, x):
    """P(> x) by reflections, of which small x needs many."""
    terms = range(1, int(20 + 40 / x))
    if name == "maximum":
        return 4 * mpmath.fsum((-1) ** (k - 1) * mpmath.ncdf(-(2 * k - 1) * mpmath.mpf(x)) for k in terms)
    return 8 * mpmath.fsum((-1) ** (k - 1) * k * mpmath.ncdf(-k * mpmath.mpf(x)) for k in terms)


@pytest.mark.medium
@pytest.mark.parametrize(("name", "tail"), [("maximum", maximum_tail), ("range", range_tail)])
def test_against_the_other_series(name, tail):
    """In float64 to 1e-13 of the tail; in float32, where x itself is rounded, to 1e-6."""
    compiled = jax.jit(jax.vmap(tail))
    with mpmath.workdps(60):
        exact = [1.0 if x == 0 else float((reflected if x < 1 else between_walls)(name, x)) for x in POINTS]
    np.testing.assert_allclose(compiled(np.array(POINTS)), exact, rtol=1e-13)
    np.testing.assert_allclose(compiled(np.array(POINTS, np.float32)), exact, atol=1e-6)
    assert compiled(np.array([np.inf, np.inf]))[0] == 0
    assert np.isnan(compiled(np.array([np.nan, 1.0]))[0])


@pytest.mark.parametrize(("tail", "mean"), [(maximum_tail, np.sqrt(np.pi / 2)), (range_tail, np.sqrt(8 / np.pi))])
def test_means(tail, mean):
    """E max |B| and E range, in closed form, are the integrals of the tails."""
    x = np.linspace(0, 10, 2001)
    np.testing.assert_allclose(np.trapezoid(jax.jit(jax.vmap(tail))(x), x), mean, atol=1e-9)
