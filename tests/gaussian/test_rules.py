"""The rule of a chi law against its moments, SciPy's distribution, and an integrand with a power at the kink."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from mixjax.gaussian.rules import chi_rule

rule = jax.jit(lambda df, kinks: chi_rule(df, kinks, 28))  # of four kinks


@pytest.mark.parametrize("df", [1, 2, 3, 10, 1000, 10**8])
def test_chi_rule_has_the_moments(df):
    """E (X/df)^k = df (df+2) ... (df+2k-2) / df^k, wherever the panels are cut."""
    nodes, weights = (np.asarray(a) for a in rule(float(df), np.array([0.0, 0.7, 1.0, 1.5]) * df**0.5))
    for degree in range(6):
        moment = np.prod((df + 2.0 * np.arange(degree)) / df)
        np.testing.assert_allclose(np.sum(weights * (nodes**2 / df) ** degree, axis=1), moment, rtol=1e-7)
    assert (nodes >= 0).all()
    assert (weights >= 0).all()


@pytest.mark.parametrize("df", [1, 4, 50])
def test_chi_rule_has_the_distribution(df):
    """The probability below each kink, by SciPy: the kink is where a panel ends."""
    kinks = np.sqrt(df) * np.array([0.3, 0.9, 1.0, 1.3])
    nodes, weights = (np.asarray(a) for a in rule(float(df), kinks))
    below = np.sum(np.where(nodes <= kinks[:, None], weights, 0.0), axis=1)
    np.testing.assert_allclose(below, stats.chi.cdf(kinks, df), rtol=0, atol=1e-9)


def test_chi_rule_resolves_a_power_at_the_kink():
    """E max(kink - s, 0)^(3/2), the kind of singularity that the two roots leave, by SciPy."""
    kinks = np.array([3.0, 6.0, 7.0, 8.0])
    nodes, weights = (np.asarray(a) for a in rule(50.0, kinks))
    found = np.sum(weights * np.maximum(kinks[:, None] - nodes, 0.0) ** 1.5, axis=1)
    exact = [integrate.quad(lambda s, k=k: (k - s) ** 1.5 * stats.chi.pdf(s, 50), 0, k, epsabs=1e-14)[0] for k in kinks]
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9)


def test_chi_rule_without_freedom_is_a_point():
    nodes, weights = rule(0.0, np.ones(4))
    np.testing.assert_array_equal(nodes, 0)
    np.testing.assert_allclose(np.asarray(weights).sum(axis=1), 1, rtol=1e-12)
