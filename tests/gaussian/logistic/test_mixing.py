"""The rule for lambda against moments of the Beta law and SciPy's integrals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

from mixjax.gaussian import mixup_weight
from mixjax.gaussian.logistic.mixing import mixing_rule

rule_of = jax.jit(mixing_rule, static_argnums=2)
LAWS = [(0.1, 0.1), (1.0, 1.0), (0.5, 3.0), (20.0, 20.0), (1e4, 1e4)]


def expectation(h, alpha, beta, nodes=12):
    rule = jax.tree.map(np.asarray, rule_of(*jnp.asarray([alpha, beta], float), nodes))
    return np.sum(rule.weight * h(rule.lam)) + (1 - np.sum(rule.weight)) * h(np.float64(1))


def symmetric(h):
    return lambda lam: 0.5 * (h(lam) + h(1 - lam))


@pytest.mark.parametrize("alpha, beta", LAWS)
def test_moments_are_those_of_the_law(alpha, beta):
    """Exact for polynomials up to degree 2 nodes + 1."""
    for power in range(1, 26):
        exact = np.exp(special.betaln(alpha + power, beta) - special.betaln(alpha, beta))
        other = np.exp(special.betaln(alpha, beta + power) - special.betaln(alpha, beta))
        found = expectation(symmetric(lambda lam, k=power: lam**k), alpha, beta)
        np.testing.assert_allclose(found, 0.5 * (exact + other), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("alpha, beta", [(1.0, 1.0), (2.0, 3.0), (1.5, 1.5)])
def test_a_smooth_function_is_integrated(alpha, beta):
    h = symmetric(lambda lam: np.tanh(2 * lam - 3 * (1 - lam)))
    density = lambda lam: lam ** (alpha - 1) * (1 - lam) ** (beta - 1) / special.beta(alpha, beta)  # noqa: E731
    exact, _ = integrate.quad(lambda lam: h(lam) * density(lam), 0, 1, epsabs=1e-13)
    np.testing.assert_allclose(expectation(h, alpha, beta, nodes=16), exact, atol=1e-10)


@pytest.mark.parametrize("alpha, beta", [(0.0, 0.0), (0.0, 2.0), (1.0, 0.0)])
def test_no_mixup_leaves_all_the_weight_at_the_end(alpha, beta):
    rule = rule_of(*jnp.asarray([alpha, beta]), 6)
    np.testing.assert_array_equal(rule.weight, np.zeros(6))
    assert np.isfinite(rule.lam).all()


@pytest.mark.medium
def test_the_derivative_at_no_mixup_is_that_along_equal_parameters():
    """E lambda (1 - lambda) = t/2 = alpha / (2 (2 alpha + 1)) has the derivative 1/2 at 0."""

    def mean_product(alpha):
        rule = rule_of(alpha, alpha, 6)
        return jnp.sum(rule.weight * rule.lam * (1 - rule.lam))

    np.testing.assert_allclose(jax.jit(jax.grad(mean_product))(0.0), 0.5, rtol=1e-12)
    np.testing.assert_allclose(mean_product(jnp.float64(0.7)), 0.5 * mixup_weight(0.7, 0.7), rtol=1e-12)
