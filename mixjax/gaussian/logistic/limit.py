r"""The limit of penalized logistic regression with Mixup and label smoothing: the classifier that people train.

Not in the paper, whose classifier averages y x. As n, p grow with p/n -> c the score v = w'x / 2 of a test point has
the law y v ~ N(m/2, q/4), with m and q of `fixed_point`; the loss is that of `pair_loss`. docs/logistic.md derives it,
and says what is proven, what is argued, and what was checked.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, masked_law
from mixjax.gaussian.limits import increasing_root
from mixjax.gaussian.logistic.fixed_point import Problem, Spectrum, fitted_moments
from mixjax.gaussian.logistic.mixing import RULES
from mixjax.gaussian.logistic.pair_loss import logistic_pull
from mixjax.numerics.arguments import COUNT, NOT_NEGATIVE, aligned, checked
from mixjax.typing import ArrayLike

_LEAST_DIGITS = 1e-3  # of the variance, of which mean + gap keeps what the rounding of the mean leaves


def limit_logistic_scores(
    ratio: ArrayLike,
    theta_norm: ArrayLike,
    *,
    penalty: ArrayLike,
    alpha: ArrayLike = 0.0,
    beta: ArrayLike | None = None,
    smoothing: ArrayLike = 0.0,
) -> ScoreLaw:
    r"""Return the law of the score of a logistic fit as p/n -> `ratio`, for sigma = 1.

    The fit minimizes the mean logistic loss over all pairs of rows and lambda ~ Beta(alpha, beta), with labels
    (1 - eps) y, plus (mu/2) |w|^2: `mixup_logistic_coefficients` in the limit.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0.
      penalty: mu > 0.
      alpha, beta: of Mixup, >= 0; alpha = 0, the default, is no Mixup, whatever beta is. beta=None means alpha.
      smoothing: eps in [0, 1).

    Returns:
      Laws of the broadcast shape, for `population_ece` and its neighbors. Differentiable in every argument, as an
      implicit function (twice by `jax.hessian`; `grad` of `grad` raises). NaN where there is no classifier (both ratio
      and theta_norm 0), and where

      * Newton's method has not converged: in float64 seen only where ratio / penalty is above 1e5 or smoothing above
        .999, for |theta| up to 1e3;
      * mean + gap keeps less than three digits of the variance, which is about 1 / penalty of the mean: for ratio =
        |theta| = 1, penalties above 8e3 in float32 and above 4e12 in float64.

    Raises:
      ValueError: for values out of range.

    Accuracy (tests/gaussian/logistic/test_limit.py) of mean and variance, relative. float64: 1e-7 for penalties from
    1e-3 on; at 1e-4 1e-6 for soft labels, and 1e-4 for hard ones just beyond `separable_ratio`, where logits bend most.
    float32: 1e-4 for penalties from 1e-3 to 300 and ratios up to 8, and for stronger penalties 1e-4 of the mean and
    6e-8 mean / variance of the variance; NaN where soft labels are met to its rounding, as they are where p is many
    times n and the penalty is weak. `with jax.enable_x64(True)` has these limits too.

    Example:
      >>> from mixjax.gaussian import limit_logistic_scores, population_accuracy
      >>> laws = limit_logistic_scores(1.0, 1.0, penalty=1e-4, alpha=[0.0, 1.0])  # without and with Mixup
      >>> [round(float(accuracy), 3) for accuracy in population_accuracy(laws)]
      [0.711, 0.582]
    """
    beta = alpha if beta is None else beta
    values = checked(
        RULES, ratio=ratio, theta_norm=theta_norm, penalty=penalty, alpha=alpha, beta=beta, smoothing=smoothing
    )
    ratio, theta_norm, *rest = jnp.broadcast_arrays(*aligned(*values))
    spectrum = Spectrum(*(part[..., None] for part in (jnp.ones_like(ratio), theta_norm**2, ratio)))
    return _laws(Problem(spectrum, *rest))


def predict_logistic_scores(
    eigenvalues: ArrayLike,
    theta_squared: ArrayLike,
    n: ArrayLike,
    *,
    penalty: ArrayLike,
    alpha: ArrayLike = 0.0,
    beta: ArrayLike | None = None,
    smoothing: ArrayLike = 0.0,
) -> ScoreLaw:
    r"""Predict the law of the score of a logistic fit to n rows, for any covariance that the classes share.

    Rows are y theta + Sigma^(1/2) z. It uses only n, the spectrum of Sigma, and where theta lies in it. With the
    moments of real features it says what Mixup, smoothing or a penalty will do, before anything is trained.

    Args:
      eigenvalues: s_k >= 0 of Sigma, shape [..., p].
      theta_squared: squared coordinates of theta in the eigenbasis, shape [..., p].
      n: rows that are fitted, >= 1.
      penalty, alpha, beta, smoothing: as for `limit_logistic_scores`.

    Returns:
      Laws of the broadcast of [...] with the other arguments; NaN as for `limit_logistic_scores`: prefer float64 with
      weak penalties.

    Raises:
      ValueError: for values out of range, and last axes that differ.

    Example:
      >>> import numpy as np
      >>> from mixjax.gaussian import population_signed_gap, predict_logistic_scores
      >>> decaying = 1.0 / np.arange(1, 101) ** 2
      >>> law = predict_logistic_scores(decaying, decaying, 50, penalty=0.01, alpha=[0.0, 1.0])
      >>> [round(float(gap), 3) for gap in population_signed_gap(law)]
      [-0.054, -0.097]
    """
    beta = alpha if beta is None else beta
    rules = RULES | {"n": COUNT, "eigenvalues": NOT_NEGATIVE, "theta_squared": NOT_NEGATIVE}
    eigenvalues, theta_squared, *rest = checked(
        rules, eigenvalues=eigenvalues, theta_squared=theta_squared, n=n, penalty=penalty, alpha=alpha, beta=beta,
        smoothing=smoothing,
    )  # fmt: skip
    shapes = eigenvalues.shape, theta_squared.shape
    if () in shapes or shapes[0][-1] != shapes[1][-1] or shapes[0][-1] == 0:
        raise ValueError(f"eigenvalues and theta_squared must end in the same p > 0, got {shapes[0]} and {shapes[1]}")
    wide = aligned(eigenvalues, theta_squared, *(part[..., None] for part in rest))
    eigenvalues, theta_squared, n, *rest = jnp.broadcast_arrays(*wide)
    spectrum = Spectrum(eigenvalues, theta_squared, 1.0 / n)
    return _laws(Problem(spectrum, *(part[..., 0] for part in rest)))


@jax.jit
def _laws(problem: Problem) -> ScoreLaw:
    """Solve problem after problem on a CPU, where each ends when it has converged, and many at once elsewhere."""
    shape = problem.penalty.shape
    flat = jax.tree.map(lambda part: part.reshape(-1, *part.shape[len(shape) :]), problem)
    together = None if jax.default_backend() == "cpu" else 1024
    m, q = lax.map(lambda one: fitted_moments(one, logistic_pull), flat, batch_size=together)
    mean, var = 0.5 * m.reshape(shape), 0.25 * q.reshape(shape)
    resolved = 0.5 * jnp.finfo(mean.dtype).eps * mean <= _LEAST_DIGITS * var
    return masked_law(mean, jnp.where(resolved, var - mean, jnp.nan))


def separable_ratio(theta_norm: ArrayLike) -> Float[Array, "*batch"]:
    r"""Find the p/n from which on the two classes of a training set are separable by a hyperplane through 0.

    Beyond it, the plain logistic fit without a penalty is infinite. Gordon's comparison of the margin gives

    .. math:: c^* = \min_{a \ge 0} E \left(\sqrt{1 + a^2}\, g - a |\theta|\right)_+^2, \qquad g \sim N(0, 1).

    Args:
      theta_norm: |theta| >= 0.

    Returns:
      c* in [0, 1/2] of its shape: 1/2 without signal (Cover 1965), and 0 where it underflows.

    Reference: Candes and Sur (2020) and Deng, Kammoun and Thrampoulidis (2022) derive such thresholds for logistic data
    and for this mixture.

    Example:
      >>> from mixjax.gaussian import separable_ratio
      >>> [round(float(ratio), 3) for ratio in separable_ratio([0.0, 1.0, 2.0])]
      [0.5, 0.27, 0.048]
    """
    (b,) = checked(theta_norm=theta_norm)
    return _separable_ratio(b)


@jax.jit
def _separable_ratio(b: jax.Array) -> jax.Array:
    """Minimize ((1 + k^2) Phi(-k) - k phi(k)) / (1 - x^2) over k = b x = a b / sqrt(1 + a^2), x in [0, 1)."""
    inside = (b > 0) & (b < 0.9 * jnp.sqrt(-2.0 * jnp.log(jnp.finfo(b.dtype).tiny)))  # beyond, Phi(-b) is 0
    safe = jnp.where(inside, b, 1.0)

    def tail(k: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        density, beyond = jnp.exp(-0.5 * k**2) / jnp.sqrt(2.0 * jnp.pi), ndtr(-k)
        return density, beyond, (1.0 + k**2) * beyond - k * density

    def slope(x: jax.Array) -> jax.Array:
        density, beyond, square = tail(safe * x)
        return x * square - safe * (1.0 - x**2) * (density - safe * x * beyond)

    x = increasing_root(slope, jnp.zeros_like(safe), jnp.ones_like(safe))
    smallest = tail(safe * x)[2] / (1.0 - x**2)
    outside = jnp.where(b > 0, 0.0, jnp.where(b == 0, 0.5, jnp.nan))
    return jnp.where(inside, smallest, outside)
