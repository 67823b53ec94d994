"""The p/n from which on training sets are separable, beside linear programming."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from mixjax.gaussian import separable_ratio

pytestmark = pytest.mark.medium


def test_separable_ratio_at_its_ends_and_beyond():
    found = separable_ratio(np.array([0.0, 1e-30, 1e-6, 30.0, 1e3]))
    np.testing.assert_allclose(found, [0.5, 0.5, 0.5, 0.0, 0.0], atol=1e-6)
    assert np.isfinite(jax.vmap(jax.grad(separable_ratio))(jnp.array([1e-6, 0.5, 8.0]))).all()
    assert np.isnan(jax.jit(separable_ratio)(jnp.array([-1.0, np.nan, np.inf]))).all()


def separable(rng, n, p, theta_norm):
    """Is there a w with y x'w >= 1 for all rows? By linear programming."""
    y = rng.choice([-1.0, 1.0], n)
    x = rng.standard_normal((n, p))
    x[:, 0] += theta_norm * y
    found = optimize.linprog(np.zeros(p), A_ub=-(y[:, None] * x), b_ub=-np.ones(n), bounds=(None, None))
    return found.status == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(("theta_norm", "margin"), [(0.0, 0.2), (1.0, 0.4), (1.5, 0.6)])
def test_training_sets_are_separable_from_there_on(rng, theta_norm, margin):
    """At n = 600 none of four sets below the threshold, and all of them above it.

    The longer theta, the wider is the step in p/n: at 1.5, 15 of 20 sets are separable a fifth above the threshold,
    and 40 of 40 half above it.
    """
    n, threshold = 600, float(separable_ratio(theta_norm))
    for factor, expected in ((1 - margin, False), (1 + margin, True)):
        p = round(factor * threshold * n)
        assert {separable(rng, n, p, theta_norm) for _ in range(4)} == {expected}
