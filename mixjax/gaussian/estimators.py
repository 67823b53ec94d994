r"""The estimators of the mean, computed from data: plain, and with Mixup in its three readings.

Paper: Section 3.1, (eq:C) and (eq:Cmix). With all pairs (i, j) mixed at one lambda,

    theta_hat(lambda) = n^-2 sum_ij (lambda x_i + (1-lambda) x_j)(lambda y_i + (1-lambda) y_j)
                      = [1 - 2 lambda (1-lambda)] theta_hat(0) + 2 lambda (1-lambda) xbar ybar,

and the paper's Mixup estimator is its expectation over lambda ~ Beta(alpha, beta). Training mixes a
finite number of random pairs instead; the mean of theta over those draws is the same.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.gaussian.weights import mixup_weight
from mixjax.numerics.arguments import as_floats, check_scalars, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike


def mean_estimator(x: ArrayLike, y: ArrayLike) -> Float[Array, " p"]:
    """Return theta_hat(0), the mean of y_i x_i.

    Args:
      x, y: data, shapes [n, p] and [n].

    Returns:
      An estimate of shape [p]; NaN if n = 0.

    Example:
      >>> from mixjax.gaussian import mean_estimator
      >>> mean_estimator([[1.0, 2.0], [-1.0, 0.0]], [1, -1]).tolist()
      [1.0, 1.0]
    """
    x, y = as_floats(x=x, y=y)
    check_data(x, y)
    return jnp.mean(y[:, None] * x, axis=0)


def weighted_estimator(x: ArrayLike, y: ArrayLike, t: ArrayLike) -> Float[Array, " p"]:
    """Return theta_hat(t) = (1 - t) theta_hat(0) + t xbar ybar, the Mixup estimator of one weight.

    Args:
      x, y: data, shapes [n, p] and [n].
      t: Mixup weight in [0, 1], one number.

    Returns:
      An estimate of shape [p].

    Example:
      >>> from mixjax.gaussian import weighted_estimator
      >>> weighted_estimator([[1.0, 2.0], [-1.0, 0.0]], [1, -1], 0.25).tolist()
      [0.75, 0.75]
    """
    x, y, t = checked(x=x, y=y, t=t)
    check_scalars(t=t)
    return (1.0 - t) * mean_estimator(x, y) + t * jnp.mean(x, axis=0) * jnp.mean(y)


def mixup_estimator(x: ArrayLike, y: ArrayLike, *, alpha: ArrayLike, beta: ArrayLike) -> Float[Array, " p"]:
    """Return the paper's Mixup estimator: all pairs, in expectation over lambda ~ Beta(alpha, beta).

    Args:
      x, y: data, shapes [n, p] and [n].
      alpha: >= 0, one number; 0 is no Mixup.
      beta: > 0, one number.

    Returns:
      An estimate of shape [p].

    Example:
      >>> from mixjax.gaussian import mixup_estimator
      >>> [round(v, 3) for v in mixup_estimator([[1.0, 2.0], [-1.0, 0.0]], [1, -1], alpha=1, beta=1).tolist()]
      [0.667, 0.667]
    """
    x, y, alpha, beta = checked(x=x, y=y, alpha=alpha, beta=beta)
    check_scalars(alpha=alpha, beta=beta)
    return weighted_estimator(x, y, mixup_weight(alpha, beta))


def fixed_lam_estimator(x: ArrayLike, y: ArrayLike, *, lam: ArrayLike) -> Float[Array, " p"]:
    """Mix all pairs at one lambda and average: the estimator of weight t = 2 lambda (1 - lambda).

    Args:
      x, y: data, shapes [n, p] and [n].
      lam: lambda in [0, 1], one number; the weight is largest, 1/2, at 1/2.

    Returns:
      An estimate of shape [p].

    Example:
      >>> from mixjax.gaussian import fixed_lam_estimator
      >>> fixed_lam_estimator([[1.0, 2.0], [-1.0, 0.0]], [1, -1], lam=0.5).tolist()
      [0.5, 0.5]
    """
    x, y, lam = checked(x=x, y=y, lam=lam)
    check_scalars(lam=lam)
    return weighted_estimator(x, y, 2.0 * lam * (1.0 - lam))


def random_pairs_estimator(
    key: PRNGKeyArray,
    x: ArrayLike,
    y: ArrayLike,
    *,
    alpha: ArrayLike,
    beta: ArrayLike,
    num_pairs: int,
) -> Float[Array, " p"]:
    """Average x y over finitely many mixed pairs, as training does.

    Its expectation given the data is `mixup_estimator`; its ECE is not the same.

    Args:
      key, x, y, alpha, beta, num_pairs: as for `mixed_rows`.

    Returns:
      An estimate of shape [p].

    Example:
      >>> import jax
      >>> from mixjax.gaussian import random_pairs_estimator
      >>> random_pairs_estimator(jax.random.key(0), [[1.0, 2.0]], [1.0], alpha=1.0, beta=1.0, num_pairs=3).tolist()
      [1.0, 2.0]
    """
    mixed_x, mixed_y = mixed_rows(key, x, y, alpha=alpha, beta=beta, num_pairs=num_pairs)
    return jnp.mean(mixed_y[:, None] * mixed_x, axis=0)


def mixed_rows(
    key: PRNGKeyArray,
    x: ArrayLike,
    y: ArrayLike,
    *,
    alpha: ArrayLike,
    beta: ArrayLike,
    num_pairs: int,
) -> tuple[Float[Array, "num_pairs p"], Float[Array, " num_pairs"]]:
    """Draw mixed rows lambda x_i + (1 - lambda) x_j with their mixed labels.

    Args:
      key: spent.
      x, y: data, shapes [n, p] and [n].
      alpha, beta: shapes of lambda's Beta law, one number each; alpha = 0 is no Mixup (lambda = 0).
      num_pairs: how many pairs, each with its own i, j (i = j allowed) and lambda; static.

    Returns:
      Rows of shape [num_pairs, p] and labels of shape [num_pairs].

    Example:
      >>> import jax
      >>> from mixjax.gaussian import mixed_rows
      >>> rows, labels = mixed_rows(jax.random.key(0), [[1.0, 2.0]], [1.0], alpha=1.0, beta=1.0, num_pairs=3)
      >>> rows.shape, labels.tolist()
      ((3, 2), [1.0, 1.0, 1.0])
    """
    x, y, alpha, beta = checked(x=x, y=y, alpha=alpha, beta=beta)
    check_data(x, y)
    check_scalars(alpha=alpha, beta=beta)
    check_size("num_pairs", num_pairs)
    key_first, key_second, key_lam = jax.random.split(single(key), 3)
    i, j = (jax.random.randint(k, (num_pairs,), 0, x.shape[0], np.int32) for k in (key_first, key_second))
    wrong = jnp.isnan(alpha) | jnp.isnan(beta)
    shapes = jnp.where(alpha > 0, alpha, 1.0), jnp.where(wrong, 1.0, beta)
    drawn = jax.random.beta(key_lam, *shapes, (num_pairs,), x.dtype)
    lam = jnp.where(wrong, jnp.nan, jnp.where(alpha > 0, drawn, 0.0))
    mixed_x = lam[:, None] * x[i] + (1.0 - lam)[:, None] * x[j]
    return mixed_x, lam * y[i] + (1.0 - lam) * y[j]


def pseudo_label_estimators(
    x: ArrayLike, y: ArrayLike, unlabeled: ArrayLike, t: ArrayLike
) -> dict[str, Float[Array, " p"]]:
    """Run Algorithm 1 (Section 4): estimate, label the unlabeled data by the sign of its score, estimate from all.

    Args:
      x, y: labeled data, shapes [n, p] and [n].
      unlabeled: n_u >= 0 further inputs, shape [n_u, p].
      t: Mixup weight of the last step, in [0, 1], one number.

    Returns:
      "init", the plain estimator of the labeled data; "final", that of all data with pseudo-labels; "mix", the
      Mixup estimator of these; each of shape [p].

    Example:
      >>> from mixjax.gaussian import pseudo_label_estimators
      >>> found = pseudo_label_estimators([[1.0, 0.0]], [1.0], [[-3.0, 2.0]], 0.0)
      >>> found["init"].tolist(), found["final"].tolist()
      ([1.0, 0.0], [2.0, -1.0])
    """
    x, y, unlabeled, t = checked(x=x, y=y, unlabeled=unlabeled, t=t)
    check_scalars(t=t)
    initial = mean_estimator(x, y)
    if unlabeled.ndim != 2 or unlabeled.shape[1] != x.shape[1]:
        raise ValueError(f"unlabeled must have shape [n_u, {x.shape[1]}], got {unlabeled.shape}")
    pseudo_labels = jnp.sign(jnp.sum(unlabeled * initial[None, :], axis=1))
    all_x, all_y = jnp.concatenate([x, unlabeled]), jnp.concatenate([y, pseudo_labels])
    return {"init": initial, "final": mean_estimator(all_x, all_y), "mix": weighted_estimator(all_x, all_y, t)}


def sigma_estimator(x: ArrayLike, y: ArrayLike, *, sigma_estimate: str = "paper") -> Float[Array, ""]:
    """Estimate sigma from the residuals r_i = x_i - y_i theta_hat(0).

    Args:
      x, y: data, shapes [n, p] and [n].
      sigma_estimate: "paper", sqrt(|sum_i r_i|^2 / (p n)), the norm outside the sum as in Section 3.4 (not consistent
        for fixed p; 0 when all labels are equal), or "pooled", sqrt(sum_i |r_i|^2 / (p n)). Static.

    Returns:
      One number >= 0.

    Example:
      >>> from mixjax.gaussian import sigma_estimator
      >>> round(float(sigma_estimator([[3.0, 0.0], [1.0, 0.0]], [1, 1], sigma_estimate="pooled")), 3)
      0.707
    """
    x, y = as_floats(x=x, y=y)
    check_data(x, y)
    residuals = x - y[:, None] * mean_estimator(x, y)[None, :]
    if sigma_estimate == "paper":
        return jnp.sqrt(jnp.sum(jnp.sum(residuals, axis=0) ** 2) / x.size)
    if sigma_estimate == "pooled":
        return jnp.sqrt(jnp.sum(residuals**2) / x.size)
    raise ValueError(f'sigma_estimate must be "paper" or "pooled", got {sigma_estimate!r}')


def check_data(x: jax.Array, y: jax.Array) -> None:
    """Raise ValueError unless x is [n, p] and y is [n]."""
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(f"x and y must have shapes [n, p] and [n], got {x.shape} and {y.shape}")
