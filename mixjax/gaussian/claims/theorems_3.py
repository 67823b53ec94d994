"""Theorems 3.1 to 3.5 as signed numbers: the ECE with Mixup against that of the plain classifier.

`theorems_5` has the same of the MCE, by the same functions: `helps` (3.1, 3.5 and 5.1), `hurts` (3.2 and 5.2) and
`improves_with_capacity` (3.3 and 5.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.capacity import derivative_at_zero, turning_ratio
from mixjax.gaussian.claims.claim import LARGEST_WEIGHT, Claim, Error, Values, dimension
from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.limits import best_weight, limit_scores
from mixjax.gaussian.ood import best_ood_weight, limit_ood_scores, mixup_helps_ood, sample_ood_scores
from mixjax.gaussian.population import population_ece
from mixjax.gaussian.samplers import sample_scores
from mixjax.gaussian.weights import mixup_weight


def chosen_weight(ratio: float, theta_norm: float) -> float:
    """Return the weight that calibrates in the limit p/n -> ratio, or the largest of a Beta law."""
    return min(float(best_weight(ratio, theta_norm)), LARGEST_WEIGHT)


def _sample(key: PRNGKeyArray, n: ArrayLike, p: ArrayLike, **options: Any) -> ScoreLaw:
    """Sample the plain and the mixed classifier on the same training sets, shape [2, sizes, replicates]."""
    t = np.array([[0.0], [options.pop("t")]], np.float32)
    return sample_scores(key, n=np.asarray(n, np.float32), p=np.asarray(p, np.float32), t=t, **options)


def helps(theorem: str, statement: str, error: Error, **options: Any) -> Claim:
    """Claim error(mix) - error < 0 at p = ratio n, with the weight chosen for (ratio, |theta|)."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, ratio: float, theta_norm: float) -> Values:
        t = chosen_weight(ratio, theta_norm)
        sizes = {"n": n, "p": dimension(n, ratio), "replicates": replicates}
        plain, mixed = error(_sample(key, **sizes, theta_norm=theta_norm, t=t, **options))
        return mixed - plain

    def limit(*, ratio: float, theta_norm: float) -> float:
        plain, mixed = error(limit_scores(ratio, theta_norm, np.array([0.0, chosen_weight(ratio, theta_norm)])))
        return float(mixed - plain)

    return Claim(theorem, statement, value, limit, stated=lambda ratio, theta_norm: ratio > 0 and theta_norm > 0)


def hurts(theorem: str, statement: str, error: Error) -> Claim:
    """Claim error - error(mix) < 0 at a fixed p and a fixed alpha = beta."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: float, theta_norm: float, alpha: float) -> Values:
        t = float(mixup_weight(alpha, alpha))
        plain, mixed = error(_sample(key, n, p, theta_norm=theta_norm, t=t, replicates=replicates))
        return plain - mixed

    def limit(*, p: float, theta_norm: float, alpha: float) -> float:
        plain, mixed = error(limit_scores(0.0, theta_norm, np.array([0.0, float(mixup_weight(alpha, alpha))])))
        return float(plain - mixed)

    return Claim(theorem, statement, value, limit, stated=lambda p, theta_norm, alpha: theta_norm > 0 and alpha > 0)


def improves_with_capacity(theorem: str, statement: str, error: Error, norm: float, condition: str = "") -> Claim:
    """Claim that D = d error / d alpha at 0+, beta = 1, has D(high) - D(low) < 0 and D(high) < 0, by the larger."""

    def value(
        key: PRNGKeyArray, n: ArrayLike, replicates: int, *, theta_norm: float, low: float, high: float
    ) -> Values:
        n = np.asarray(n, np.float32)
        p = np.stack([dimension(n, low), dimension(n, high)]).astype(np.float32)

        def errors(t: jax.Array) -> jax.Array:
            return error(sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t, replicates=replicates))

        zero = jnp.zeros((), np.float32)
        at_low, at_high = jax.jvp(errors, (zero,), (jnp.ones_like(zero),))[1]  # dt/dalpha = 1 at beta = 1
        return jnp.maximum(at_high - at_low, at_high)

    def limit(*, theta_norm: float, low: float, high: float) -> float:
        at_low, at_high = derivative_at_zero(np.array([low, high]), theta_norm, norm=norm)
        return float(jnp.maximum(at_high - at_low, at_high))

    return Claim(
        theorem,
        statement,
        value,
        limit,
        stated=lambda theta_norm, low, high: theta_norm > 0 and 0 < low < high,
        met=lambda theta_norm, low, high: bool(high <= turning_ratio(theta_norm, norm=norm)),
        condition=condition,
    )


def helps_out_of_domain(theorem: str, statement: str) -> Claim:
    """Claim ECE(mix) - ECE < 0 on test data of another mean, at p = ratio n and the weight best in the limit."""

    def weight(cell: Mapping[str, float]) -> float:
        return min(float(best_ood_weight(**cell)), LARGEST_WEIGHT)

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, ratio: float, **means: float) -> Values:
        t = np.array([[0.0], [weight({"ratio": ratio, **means})]], np.float32)
        n = np.asarray(n, np.float32)
        laws = sample_ood_scores(key, n=n, p=dimension(n, ratio), t=t, replicates=replicates, **means)
        plain, mixed = population_ece(laws)
        return mixed - plain

    def limit(**cell: float) -> float:
        plain, mixed = population_ece(limit_ood_scores(**cell, t=np.array([0.0, weight(cell)])))
        return float(mixed - plain)

    return Claim(theorem, statement, value, limit, stated=lambda **cell: bool(mixup_helps_ood(**cell)))


THEOREM_3_1 = helps("3.1", "Where p is comparable to n, some Beta(alpha, beta) makes ECE(mix) < ECE.", population_ece)
THEOREM_3_2 = hurts("3.2", "Where p/n tends to 0, every fixed Beta(alpha, beta) makes ECE(mix) > ECE.", population_ece)
THEOREM_3_3 = improves_with_capacity(
    "3.3",
    "The derivative of ECE(mix) in alpha at 0+ is negative, and decreases with p/n up to c_max.",
    population_ece,
    1,
    condition="|theta| is large enough for c_max: c_max <= turning_ratio(|theta|).",
)
THEOREM_3_4 = helps_out_of_domain(
    "3.4", "Where <theta' - theta, theta> <= p / (2n), some Beta(alpha, beta) makes ECE(mix) < ECE on theta'."
)
THEOREM_3_5 = helps(
    "3.5",
    "With an approximate inverse of the generator, some Beta(alpha, beta) makes ECE(mix) < ECE.",
    population_ece,
    sigma_estimate="paper",
)
