r"""The theorems of the paper as signed numbers of a training set, negative where the theorem's statement is true of it.

Paper: Theorems 3.1 to 3.4, 4.1 to 4.3, 5.1 to 5.3, and 3.5 in its special case of an unknown sigma. A `Claim` has the
hypothesis as a predicate of a configuration (what stays while n grows), the condition that the paper omits, if there
is one, the signed number of training sets of size n, and its limit.

"There exist alpha, beta" is read as: chosen for the configuration, before the data, as those of the calibrated limit.
A Beta law reaches weights below 1/2 only, so that the choice is at most `LARGEST_WEIGHT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.gaussian.capacity import turning_ratio
from mixjax.gaussian.limits import best_weight, derivative_at_zero, limit_scores
from mixjax.gaussian.maximum import population_mce
from mixjax.gaussian.population import population_ece
from mixjax.gaussian.samplers import sample_scores
from mixjax.gaussian.score_law import ScoreLaw
from mixjax.gaussian.weights import mixup_weight

__all__ = ["CLAIMS", "LARGEST_WEIGHT", "Claim"]

LARGEST_WEIGHT = 0.499  # alpha = beta = 249.5

Error = Callable[[ScoreLaw], jax.Array]
Values = Float[Array, "sizes replicates"]


class Claim(NamedTuple):
    """A theorem as a measurement. The functions take a configuration's numbers by name.

    Attributes:
      theorem: its number in the paper.
      statement: what it says.
      value: (key, n, replicates, **configuration) -> a signed number of each training set, shape [len(n), replicates];
        negative where the statement is true of it. `n` is a sequence of whole numbers.
      limit: of `value` as n grows.
      stated: whether a configuration satisfies the hypothesis of the paper.
      met: whether it satisfies the condition too.
      condition: what the statement omits and the measurement shows to be needed; empty if nothing is.
    """

    theorem: str
    statement: str
    value: Callable[..., Values]
    limit: Callable[..., float]
    stated: Callable[..., bool]
    met: Callable[..., bool] = lambda **_: True
    condition: str = ""


def chosen_weight(ratio: float, theta_norm: float) -> float:
    """The weight that calibrates in the limit p/n -> ratio, or the largest that is to be had."""
    return min(float(best_weight(ratio, theta_norm)), LARGEST_WEIGHT)


def _sample(key: PRNGKeyArray, n: ArrayLike, p: ArrayLike, **options: Any) -> ScoreLaw:
    """Laws of the plain classifier and of the mixed one on the same training sets, shape [2, sizes, replicates]."""
    t = np.array([[0.0], [options.pop("t")]], np.float32)
    return sample_scores(key, n=np.asarray(n, np.float32), p=np.asarray(p, np.float32), t=t, **options)


def _dimension(n: ArrayLike, ratio: float) -> np.ndarray:
    return np.maximum(1.0, np.rint(ratio * np.asarray(n, np.float64)))


def _helps(theorem: str, statement: str, error: Error, **options: Any) -> Claim:
    """Theorems 3.1, 3.5 and 5.1: error(mix) - error at p = ratio n, with the weight chosen for (ratio, |theta|)."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, ratio: float, theta_norm: float) -> Values:
        t = chosen_weight(ratio, theta_norm)
        sizes = {"n": n, "p": _dimension(n, ratio), "replicates": replicates}
        plain, mixed = error(_sample(key, **sizes, theta_norm=theta_norm, t=t, **options))
        return mixed - plain

    def limit(*, ratio: float, theta_norm: float) -> float:
        plain, mixed = error(limit_scores(ratio, theta_norm, np.array([0.0, chosen_weight(ratio, theta_norm)])))
        return float(mixed - plain)

    return Claim(theorem, statement, value, limit, stated=lambda ratio, theta_norm: ratio > 0 and theta_norm > 0)


def _hurts(theorem: str, statement: str, error: Error) -> Claim:
    """Theorems 3.2 and 5.2: error - error(mix) at a fixed p and a fixed alpha = beta."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: float, theta_norm: float, alpha: float) -> Values:
        t = float(mixup_weight(alpha, alpha))
        plain, mixed = error(_sample(key, n, p, theta_norm=theta_norm, t=t, replicates=replicates))
        return plain - mixed

    def limit(*, p: float, theta_norm: float, alpha: float) -> float:
        plain, mixed = error(limit_scores(0.0, theta_norm, np.array([0.0, float(mixup_weight(alpha, alpha))])))
        return float(plain - mixed)

    return Claim(theorem, statement, value, limit, stated=lambda p, theta_norm, alpha: theta_norm > 0 and alpha > 0)


def _improves_with_capacity(theorem: str, statement: str, error: Error, norm: float, condition: str = "") -> Claim:
    """Theorems 3.3 and 5.3: D = d error / d alpha at 0+, beta = 1; the larger of D(high) - D(low) and D(high)."""

    def value(
        key: PRNGKeyArray, n: ArrayLike, replicates: int, *, theta_norm: float, low: float, high: float
    ) -> Values:
        n = np.asarray(n, np.float32)
        p = np.stack([_dimension(n, low), _dimension(n, high)]).astype(np.float32)

        def errors(t: jax.Array) -> jax.Array:
            return error(sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t, replicates=replicates))

        zero = jnp.zeros((), np.float32)
        at_low, at_high = jax.jvp(errors, (zero,), (jnp.ones_like(zero),))[1]  # dt/dalpha = 1 at beta = 1
        return jnp.maximum(at_high - at_low, at_high)

    def limit(*, theta_norm: float, low: float, high: float) -> float:
        at_low, at_high = derivative_at_zero(np.array([low, high]), theta_norm, beta=1.0, norm=norm)
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


def _all() -> tuple[Claim, ...]:
    return (
        _helps("3.1", "Where p is comparable to n, some Beta(alpha, beta) makes ECE(mix) < ECE.", population_ece),
        _hurts("3.2", "Where p/n tends to 0, every fixed Beta(alpha, beta) makes ECE(mix) > ECE.", population_ece),
        _improves_with_capacity(
            "3.3",
            "The derivative of ECE(mix) in alpha at 0+ is negative, and decreases with p/n up to c_max.",
            population_ece,
            1,
            condition="|theta| is large enough for c_max: c_max <= turning_ratio(|theta|).",
        ),
        _helps(
            "3.5",
            "With an approximate inverse of the generator, some Beta(alpha, beta) makes ECE(mix) < ECE.",
            population_ece,
            sigma_estimate="paper",
        ),
        _helps("5.1", "Where p is comparable to n, some Beta(alpha, beta) makes MCE(mix) < MCE.", population_mce),
        _hurts("5.2", "Where p/n tends to 0, every fixed Beta(alpha, beta) makes MCE(mix) > MCE.", population_mce),
        _improves_with_capacity(
            "5.3",
            "The derivative of MCE(mix) in alpha at 0+ is negative, and decreases with p/n up to c_max.",
            population_mce,
            np.inf,
        ),
    )


CLAIMS: dict[str, Claim] = {claim.theorem: claim for claim in _all()}
