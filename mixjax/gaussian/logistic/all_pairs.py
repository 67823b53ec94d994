"""Logistic regression with Mixup in expectation, over all pairs of rows and over lambda: what the limit describes.

The fit minimizes the loss of `pair_loss` on the rows at hand. (Random pairs, as nets see them, are
`estimators.mixed_rows` and `fit`: with ever more pairs they become this.) A pair of a row with itself is one of them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from mixjax.gaussian.estimators import check_data
from mixjax.gaussian.logistic.fit import LABELS, LossOfLogits, damped_newton, fit_rows
from mixjax.gaussian.logistic.mixing import RULES, MixingRule, mixing_rule
from mixjax.numerics.arguments import check_scalars, checked
from mixjax.typing import ArrayLike

_MIXING_NODES = 16


def mixup_logistic_coefficients(
    x: ArrayLike,
    y: ArrayLike,
    *,
    penalty: ArrayLike,
    alpha: ArrayLike = 0.0,
    beta: ArrayLike | None = None,
    smoothing: ArrayLike = 0.0,
) -> Float[Array, " p"]:
    r"""Fit w of the penalized logistic loss, averaged over all n^2 pairs and over lambda ~ Beta(alpha, beta).

    Args:
      x: rows, shape [n, p].
      y: labels in [-1, 1], shape [n].
      penalty: mu > 0, on the scale of the mean loss.
      alpha, beta: of Mixup, >= 0; alpha = 0 is no Mixup, and beta=None means alpha.
      smoothing: eps in [0, 1); labels become (1 - eps) y.

    Returns:
      w, shape [p]; the logit of P(y = +1) is w'x, so that `score_law` takes w / 2. NaN where Newton's method has not
      converged within 100 steps.

    Raises:
      ValueError: for shapes that do not fit, and values out of range.

    Accuracy (tests/gaussian/logistic/test_all_pairs.py): 1e-9 of the fit to every pair written out, in float64.
    Cost: 16 n^2 tanh, n^2 p and p^3 / 3 a step (p at most n), and some 10 steps; memory n^2.

    Example:
      >>> from mixjax.gaussian import mixup_logistic_coefficients
      >>> fit = mixup_logistic_coefficients([[1.0], [-1.0]], [1, -1], penalty=0.1, alpha=1.0)
      >>> round(float(fit[0]), 3)
      1.348
    """
    beta = alpha if beta is None else beta
    x, y, penalty, alpha, beta, smoothing = checked(
        RULES | {"y": LABELS}, x=x, y=y, penalty=penalty, alpha=alpha, beta=beta, smoothing=smoothing
    )
    check_data(x, y)
    check_scalars(penalty=penalty, alpha=alpha, beta=beta, smoothing=smoothing)
    return _fit(x, y, penalty, alpha, beta, smoothing)


@jax.jit
def _fit(
    x: jax.Array, y: jax.Array, penalty: jax.Array, alpha: jax.Array, beta: jax.Array, smoothing: jax.Array
) -> jax.Array:
    rule, labels = mixing_rule(alpha, beta, _MIXING_NODES), (1.0 - smoothing) * y

    def fit(rows: jax.Array) -> jax.Array:
        return lax.cond(
            ~(jnp.sum(rule.weight) <= 0),  # also of NaN
            lambda: damped_newton(rows, penalty, lambda logits: _pair_loss(logits, rows, labels, rule)),
            lambda: fit_rows(rows, labels, penalty),
        )

    if x.shape[1] <= x.shape[0]:
        return fit(x)
    basis, triangle = jnp.linalg.qr(x.T)  # w is in the span of the rows
    return jnp.matmul(basis, fit(triangle.T), precision="highest")


Slopes = tuple[jax.Array, jax.Array]  # the gradient in the logits [n], and the Hessian [n, n]


def _pair_loss(u: jax.Array, x: jax.Array, labels: jax.Array, rule: MixingRule) -> LossOfLogits:
    """Return the derivatives of the mean over pairs (i, j) of l(lambda u_i + (1 - lambda) u_j; mixed label)."""

    def add_node(sums: Slopes, node: MixingRule) -> tuple[Slopes, None]:
        lam, weight = node.lam, node.weight / len(u) ** 2
        pairs = (lam * part[:, None] + (1.0 - lam) * part[None, :] for part in (u, labels))
        slope, curvature = _derivatives(*pairs)
        gradient = lam * jnp.sum(slope, axis=1) + (1.0 - lam) * jnp.sum(slope, axis=0)
        own = lam**2 * jnp.sum(curvature, axis=1) + (1.0 - lam) ** 2 * jnp.sum(curvature, axis=0)
        hessian = jnp.diag(own) + lam * (1.0 - lam) * (curvature + curvature.T)
        return (sums[0] + weight * gradient, sums[1] + weight * hessian), None

    slope, curvature = (part * (1.0 - jnp.sum(rule.weight)) / len(u) for part in _derivatives(u, labels))
    (gradient, hessian), _ = lax.scan(add_node, (slope, jnp.diag(curvature)), rule)
    return LossOfLogits(gradient, jnp.matmul(hessian, x, precision="highest"))


def _derivatives(u: jax.Array, label: jax.Array) -> Slopes:
    """Return the first and second derivative of l(u; label)."""
    tanh = jnp.tanh(0.5 * u)
    return 0.5 * (tanh - label), 0.25 * (1.0 - tanh) * (1.0 + tanh)
