"""The pull of all pairs against its definition, written out, and its derivatives against automatic ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from mixjax.gaussian.logistic.mixing import mixing_rule
from mixjax.gaussian.logistic.pair_loss import logistic_pull
from tests.gaussian.logistic.squared import squared_pull

rule_of = jax.jit(mixing_rule, static_argnums=2)


def nodes(rng, dtype=np.float64, scale=4.0):
    v, chance = scale * rng.standard_normal(7), rng.random(7)
    return jnp.asarray(v, dtype), jnp.asarray(chance / chance.sum(), dtype)


def literal(v, chance, rule, smoothing, slope):
    """f(v) = 2 E [a l'(a v + (1 - a) e v'; (1 - eps)(a + (1 - a) e))], a = lambda' of a rule (nodes, weights)."""
    total, partner = np.zeros_like(v), chance[::2] / chance[::2].sum()  # partners are every other node
    for lam, weight in zip(*rule, strict=True):
        for own in (lam, 1 - lam):
            for e in (1, -1):
                label = (1 - smoothing) * (own + (1 - own) * e)
                logits = own * v[:, None] + (1 - own) * e * v[None, ::2]
                total += 2 * weight / 4 * own * (slope(logits, label) @ partner)
    return total


SLOPES = {
    logistic_pull: lambda u, s: (np.tanh(u / 2) - s) / 2,
    squared_pull: lambda u, s: u - s,
}


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("alpha, beta", [(1.0, 1.0), (0.4, 2.0), (6.0, 6.0)])
def test_it_is_the_definition(rng, alpha, beta, smoothing):
    """All that a squared loss has from its partners cancels where they are of either class, as v and -v here."""
    v, chance = nodes(rng)
    rule = rule_of(*jnp.asarray([alpha, beta]), 30)
    points, weights = special.roots_jacobi(60, beta - 1, alpha - 1)
    by_scipy = (1 + points) / 2, weights / weights.sum()
    for pull, slope in SLOPES.items():
        found = jax.jit(pull)(v, chance, rule, jnp.asarray(smoothing)).value
        exact = literal(np.asarray(v), np.asarray(chance), by_scipy, smoothing, slope)
        np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9)


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("pull", SLOPES)
def test_derivatives_are_those_of_the_value(rng, pull):
    v, chance = nodes(rng)
    rule = rule_of(*jnp.asarray([0.7, 0.7]), 8)
    of_v = jax.jit(lambda v: pull(v, chance, rule, jnp.asarray(0.1)))
    here, automatic = of_v(v), jax.jit(jax.jacfwd(lambda v: of_v(v).value))(v)
    np.testing.assert_allclose(jnp.diag(here.own) + here.partner, automatic, rtol=1e-9, atol=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("dtype, scale, rtol", [(np.float64, 300.0, 1e-12), (np.float32, 40.0, 1e-5)])
def test_large_logits_cancel_nowhere(rng, dtype, scale, rtol):
    """Against the sum that the rule stands for, in long double."""
    v, chance = nodes(rng, dtype, scale)
    rule = rule_of(jnp.asarray(1.0), jnp.asarray(1.0), 8)
    found = jax.jit(logistic_pull)(v, chance, jax.tree.map(lambda a: a.astype(dtype), rule), jnp.asarray(0.0, dtype))
    v, chance, rule = jax.tree.map(lambda a: np.asarray(a, np.longdouble), (v, chance, rule))
    slope = SLOPES[logistic_pull]
    exact = (1 - rule.weight.sum()) * slope(v, 1) + literal(v, chance, rule, 0, slope)
    assert all(np.isfinite(part).all() for part in found)
    np.testing.assert_allclose(found.value, exact, rtol=rtol, atol=rtol)
