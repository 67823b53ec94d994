"""Theorems 3.3 and 5.3 as signed numbers: the derivative in alpha, and whether it falls with p/n."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.capacity import derivative_at_zero, turning_ratio
from mixjax.gaussian.claims.claim import Claim, Error, Values
from mixjax.gaussian.maximum import population_mce
from mixjax.gaussian.population import population_ece
from mixjax.gaussian.samplers import sample_scores
from mixjax.typing import ArrayLike, Real

LEVELS = np.array([0.25, 0.5, 0.75, 1.0])  # of p/n, in units of c_max


def improves_with_capacity(error: Error, norm: Real) -> dict[str, Any]:
    """Claim that D = d error / d alpha at 0+, beta = 1, is negative and falls from each level to the next.

    The signed number is the largest of D and its steps over the four levels of p/n.
    """

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, theta_norm: Real, c_max: Real) -> Values:
        n = np.asarray(n, np.float32)
        p = np.maximum(1.0, np.rint(c_max * LEVELS[:, None] * n)).astype(np.float32)

        def errors(t: jax.Array) -> jax.Array:
            return error(sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t, replicates=replicates))

        zero = jnp.zeros((), np.float32)
        return _largest(jax.jvp(errors, (zero,), (jnp.ones_like(zero),))[1])  # dt/dalpha = 1 at beta = 1

    def limit(*, theta_norm: Real, c_max: Real) -> float:
        return float(_largest(derivative_at_zero(c_max * LEVELS, theta_norm, norm=norm)))

    return {"value": value, "limit": limit}


def _largest(derivative: jax.Array) -> jax.Array:
    return jnp.maximum(derivative.max(axis=0), jnp.diff(derivative, axis=0).max(axis=0))


_STATEMENT = (
    "For every c_max > 0 and p/n -> c in (0, c_max), when theta is sufficiently large, the derivative of {error}(mix) "
    "in alpha at 0+ is negative and decreases with c, with high probability, for every beta."
)
_TESTED = (
    "The derivative D at p/n = c_max/4, c_max/2, 3 c_max/4 and c_max, of independent training sets: the largest of D "
    "and its steps, negative where D is and falls throughout. beta only scales D."
)

THEOREM_3_3 = Claim(
    "3.3",
    _STATEMENT.format(error="ECE"),
    _TESTED,
    **improves_with_capacity(population_ece, 1),
    stated=lambda theta_norm, c_max: bool(c_max <= turning_ratio(theta_norm)),
    reading='"theta is sufficiently large" depends on c_max. It is what the paper asks for, and we add how large: '
    "c_max <= turning_ratio(|theta|), which grows about as |theta|^4, so that every c_max is reached.",
)
THEOREM_5_3 = Claim(
    "5.3",
    _STATEMENT.format(error="MCE"),
    _TESTED,
    **improves_with_capacity(population_mce, np.inf),
    stated=lambda theta_norm, c_max: theta_norm > 0,
    met=lambda **_: False,
    reading="No theta is sufficiently large: D = -v sech^2(v)/2 at the v* of the largest gap (beta = 1); v sech^2 v "
    "peaks at v = .7717, v* is above that for every rho < 1 and grows with p/n, so that D rises towards 0. The proof "
    "takes a decreasing function for an increasing one. That v* lies beyond the peak is exact: at v* the slopes of "
    "both curves agree, so that v sech^2 v takes the same value at rho v* and at v*, to either side of its one peak. "
    "At theta = 0 D is 0 for every p/n.",
    favorable="Half of it holds: D is negative at every theta other than 0.",
)
