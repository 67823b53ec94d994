"""Logistic regression of given rows with soft labels, by Newton's method.

Not in the paper, whose classifier averages y x (Section 3.1). Rows x with labels y in [-1, 1], mixed by
`estimators.mixed_rows` or not, are fitted by

    mean of log(1 + exp(w'x)) - (1 + y)/2 w'x,    plus (mu/2) |w|^2.

The logit of P(y = +1) is w'x. In the paper's confidence s(2v) the score is therefore v = w'x / 2, and `score_law` takes
w / 2, which tends to theta without Mixup as n grows. The penalty mu > 0 keeps w finite where the classes are separable,
which they are from p/n = `separable_ratio` on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve
from jaxtyping import Array, Float

from mixjax.gaussian.estimators import check_data
from mixjax.numerics.arguments import Rule, check_scalars, checked
from mixjax.typing import ArrayLike

MAX_STEPS = 100
LABELS = Rule("in [-1, 1]", lambda y: (y >= -1.000001) & (y <= 1.000001))  # mixed labels are rounded


def logistic_coefficients(x: ArrayLike, y: ArrayLike, *, penalty: ArrayLike) -> Float[Array, " p"]:
    """Fit w of the penalized logistic loss, without an intercept.

    Args:
      x: rows, shape [rows, p].
      y: soft labels in [-1, 1], shape [rows]; hard ones are -1 and +1.
      penalty: mu > 0, on the scale of the mean loss (scikit-learn's C is 1 / (mu rows)).

    Returns:
      w, shape [p]; NaN where Newton's method has not converged within 100 steps (for finite data: not seen in tests).

    Raises:
      ValueError: for shapes that do not fit, and labels that are not in [-1, 1].

    Accuracy (tests/gaussian/logistic/test_fit.py): the gradient is below 1e-12 in float64; in float32 logits are
    within 1e-3 of the largest, for mu >= 1e-3.
    Cost: rows p^2 + p^3 / 3 a step, and some 10 steps.

    Example:
      >>> from mixjax.gaussian import logistic_coefficients
      >>> [round(float(w), 3) for w in logistic_coefficients([[1.0], [-1.0]], [1, -1], penalty=0.1)]
      [1.634]
    """
    x, y, penalty = checked({"y": LABELS}, x=x, y=y, penalty=penalty)
    check_data(x, y)
    check_scalars(penalty=penalty)
    return fit_rows(x, y, penalty)


@jax.jit
def fit_rows(x: jax.Array, y: jax.Array, penalty: jax.Array) -> jax.Array:
    """Fit w to rows and soft labels that are checked."""

    def mean_loss(logits: jax.Array) -> LossOfLogits:
        chance = jax.nn.sigmoid(logits)
        residual = 0.5 * (jnp.tanh(0.5 * logits) - y) / x.shape[0]
        return LossOfLogits(residual, (chance * jax.nn.sigmoid(-logits) / x.shape[0])[:, None] * x)

    return damped_newton(x, penalty, mean_loss)


class LossOfLogits(NamedTuple):
    """The derivatives of a loss in the logits X w, at one point."""

    gradient: Float[Array, " rows"]
    hessian_x: Float[Array, "rows p"]  # the Hessian in the logits, times X


def damped_newton(x: jax.Array, penalty: jax.Array, loss: Callable[[jax.Array], LossOfLogits]) -> jax.Array:
    """Minimize loss(X w) + (penalty/2) |w|^2 over w by steps of length log(1 + d)/d; NaN without convergence.

    d is the largest change of a logit in a full step, and each step lowers the loss. (The loss is self-concordant in
    the sense of F. Bach, "Self-concordant analysis for logistic regression", EJS 4 (2010), which this step is from.)
    """

    def step(coefficients: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = jnp.matmul(x, coefficients, precision="highest")
        gradient, hessian_x = loss(logits)
        slope = jnp.matmul(gradient, x, precision="highest") + penalty * coefficients
        hessian = jnp.matmul(x.T, hessian_x) + penalty * jnp.eye(x.shape[1], dtype=x.dtype)
        full = -solve(hessian, slope, assume_a="pos")
        change = jnp.max(jnp.abs(jnp.matmul(x, full, precision="highest")))
        return coefficients + damping(change) * full, change / (1.0 + jnp.max(jnp.abs(logits)))

    return repeated(step, jnp.zeros(x.shape[1], x.dtype), MAX_STEPS)


def repeated(step: Callable[[jax.Array], tuple[jax.Array, jax.Array]], start: jax.Array, most: int) -> jax.Array:
    """Repeat a step, which returns a point and how far it has moved, until it settles; NaN after the `most` steps.

    The last of quadratically shrinking steps is below the root of the rounding.
    """
    enough = jnp.sqrt(jnp.finfo(start.dtype).eps)

    def unfinished(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return (state[1] > enough) & (state[2] < most)

    first = (start, jnp.array(jnp.inf, start.dtype), jnp.array(0))
    last, moved, _ = lax.while_loop(unfinished, lambda state: (*step(state[0]), state[2] + 1), first)
    return jnp.where(moved <= enough, last, jnp.nan)


def damping(change: jax.Array) -> jax.Array:
    """Return log(1 + d)/d, the length of a step whose largest change of a logit is d."""
    return jnp.where(change > 0, jnp.log1p(change) / jnp.where(change > 0, change, 1.0), 1.0)
