"""Ridge-regularized least squares with Mixup in expectation over pairs and lambda, and its limit: both closed forms.

Not in the paper, whose classifier averages y x (Section 3.1). Here coefficients w are fitted to mixed rows by squared
loss. With pairs (i, j) drawn uniformly, i = j allowed, and t = E 2 lambda (1 - lambda) the paper's weight, the moments
of a mixed row are

    S_t = E xt xt' = (1-t) X'X/n + t xbar xbar',    m_t = E yt xt = (1-t) theta_hat(0) + t xbar ybar,

and w = (S_t + mu I)^-1 m_t: in directions other than xbar, Mixup only replaces the penalty by mu / (1-t).

Squared loss makes no claim of probability, so the plug-in is that of the paper, with the covariance of a class
estimated too and shrunk towards I:

    theta_hat = (1 + mu) (S_t - m_t m_t' + mu I)^-1 m_t = (1 + mu) w / (1 - m_t'w),    confidence s(2 theta_hat'x).

Without Mixup it tends to theta as n grows, for every mu; as mu grows it becomes the paper's estimator, at every t.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve
from jaxtyping import Array, Float

from mixjax.gaussian.estimators import weighted_estimator
from mixjax.gaussian.law import ScoreLaw
from mixjax.numerics.arguments import BELOW_ONE, aligned, check_scalars, checked
from mixjax.typing import ArrayLike


def ridge_coefficients(x: ArrayLike, y: ArrayLike, t: ArrayLike, *, penalty: ArrayLike) -> Float[Array, " p"]:
    """Minimize E (yt - w'xt)^2 + penalty |w|^2 over mixed rows.

    Args:
      x: inputs, shape [n, p].
      y: labels, shape [n].
      t: Mixup weight in [0, 1], `mixup_weight(alpha, beta)`; 0 is no Mixup.
      penalty: mu > 0.

    Returns:
      w, shape [p].

    Raises:
      ValueError: for shapes that do not fit.

    Cost: n p^2 + p^3 / 3. Accuracy: rounding, times the condition number of S_t + mu I.

    Example:
      >>> from mixjax.gaussian import ridge_coefficients
      >>> [round(float(w), 3) for w in ridge_coefficients([[1.0], [-2.0]], [1, -1], 0.0, penalty=0.5)]
      [0.5]
    """
    x, y, t, penalty = checked(x=x, y=y, t=t, penalty=penalty)
    check_scalars(t=t, penalty=penalty)
    cross = weighted_estimator(x, y, t)
    return _shrunk_solve(_second_moments(x, t), penalty, cross)


def ridge_estimator(x: ArrayLike, y: ArrayLike, t: ArrayLike, *, penalty: ArrayLike) -> Float[Array, " p"]:
    """Fit the theta_hat whose confidence that y = +1 is s(2 theta_hat'x), for `score_law`.

    Args:
      x, y, t, penalty: as for `ridge_coefficients`, with x divided by sigma.

    Returns:
      theta_hat, shape [p].

    Example:
      >>> from mixjax.gaussian import ridge_estimator
      >>> [round(float(w), 3) for w in ridge_estimator([[1.0], [-2.0]], [1, -1], 0.0, penalty=0.5)]
      [3.0]
    """
    x, y, t, penalty = checked(x=x, y=y, t=t, penalty=penalty)
    check_scalars(t=t, penalty=penalty)
    cross = weighted_estimator(x, y, t)
    return (1.0 + penalty) * _shrunk_solve(_second_moments(x, t) - jnp.outer(cross, cross), penalty, cross)


@jax.jit
def _second_moments(x: jax.Array, t: jax.Array) -> jax.Array:
    mean = jnp.mean(x, axis=0)
    return (1.0 - t) * (jnp.matmul(x.T, x, precision="highest") / x.shape[0]) + t * jnp.outer(mean, mean)


@jax.jit
def _shrunk_solve(moments: jax.Array, penalty: jax.Array, cross: jax.Array) -> jax.Array:
    return solve(moments + penalty * jnp.eye(len(cross), dtype=cross.dtype), cross, assume_a="pos")


def limit_ridge_scores(ratio: ArrayLike, theta_norm: ArrayLike, t: ArrayLike, *, penalty: ArrayLike) -> ScoreLaw:
    """Return the law of the score of `ridge_estimator` as p/n -> `ratio`, for sigma = 1.

    Args:
      ratio, theta_norm: c >= 0 and |theta| >= 0.
      t: Mixup weight in [0, 1); at 1 no rows are left.
      penalty: mu > 0.

    Returns:
      Laws of the broadcast shape. The gap is a difference: near calibration it has fewer digits.

    Example:
      >>> from mixjax.gaussian import limit_ridge_scores
      >>> round(float(limit_ridge_scores(0.5, 1.0, 0.0, penalty=0.5).mean), 3)
      1.243
    """
    values = checked({"t": BELOW_ONE}, ratio=ratio, theta_norm=theta_norm, t=t, penalty=penalty)
    return _limit_ridge_scores(*aligned(*values))


@jax.jit
def _limit_ridge_scores(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array, penalty: jax.Array) -> ScoreLaw:
    first, second = _resolvent_moments(ratio, penalty / (1.0 - t))
    square = theta_norm**2
    scale = (1.0 + penalty) / (1.0 + t * (square + ratio) * first)
    mean, var = jnp.broadcast_arrays(scale * square * first, scale**2 * (square + ratio) * second)
    return ScoreLaw(mean + 0.0 * var, var - mean)


def _resolvent_moments(ratio: jax.Array, shift: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return g_1 and g_2: c nu g^2 + (1 - c + nu) g = 1 for g_1, and g_2 = -dg_1/dnu; no term cancels."""
    linear = 1.0 - ratio + shift
    root = jnp.sqrt(linear**2 + 4.0 * ratio * shift)
    below = linear < 0
    few = (root - linear) / (2.0 * jnp.where(below, ratio * shift, 1.0))
    first = jnp.where(below, few, 2.0 / (root + jnp.where(below, 1.0, linear)))
    return first, first * (1.0 + ratio * first) / root
