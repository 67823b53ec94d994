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
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.gaussian.weights import mixup_weight
from mixjax.numerics.arguments import as_floats, check_scalars, check_size, checked
from mixjax.numerics.threefry import single


def mean_estimator(x: Float[Array, "n p"], y: Float[Array, " n"]) -> Float[Array, " p"]:
    """theta_hat(0), the mean of y_i x_i. NaN if n = 0."""
    x, y = as_floats(x=x, y=y)
    check_data(x, y)
    return jnp.mean(y[:, None] * x, axis=0)


def weighted_estimator(x: Float[Array, "n p"], y: Float[Array, " n"], t: ArrayLike) -> Float[Array, " p"]:
    """theta_hat(t) = (1 - t) theta_hat(0) + t xbar ybar, the Mixup estimator of one weight t in [0, 1].

    Raises:
      ValueError: for shapes that do not fit, or t out of its range (NaN under `jit`).
    """
    x, y, t = checked(x=x, y=y, t=t)
    check_scalars(t=t)
    return (1.0 - t) * mean_estimator(x, y) + t * jnp.mean(x, axis=0) * jnp.mean(y)


def mixup_estimator(
    x: Float[Array, "n p"], y: Float[Array, " n"], *, alpha: ArrayLike, beta: ArrayLike
) -> Float[Array, " p"]:
    """The paper's Mixup estimator: all pairs, in expectation over lambda ~ Beta(alpha, beta).

    Raises:
      ValueError: for shapes that do not fit, alpha < 0 or beta <= 0 (NaN under `jit`).
    """
    x, y, alpha, beta = checked(x=x, y=y, alpha=alpha, beta=beta)
    check_scalars(alpha=alpha, beta=beta)
    return weighted_estimator(x, y, mixup_weight(alpha, beta))


def fixed_lam_estimator(x: Float[Array, "n p"], y: Float[Array, " n"], *, lam: ArrayLike) -> Float[Array, " p"]:
    """All pairs mixed at one lambda in [0, 1]: weight t = 2 lambda (1 - lambda), 1/2 at lambda = 1/2.

    Raises:
      ValueError: for shapes that do not fit, or lam out of its range (NaN under `jit`).
    """
    x, y, lam = checked(x=x, y=y, lam=lam)
    check_scalars(lam=lam)
    return weighted_estimator(x, y, 2.0 * lam * (1.0 - lam))


def random_pairs_estimator(
    key: PRNGKeyArray,
    x: Float[Array, "n p"],
    y: Float[Array, " n"],
    *,
    alpha: ArrayLike,
    beta: ArrayLike,
    num_pairs: int,
) -> Float[Array, " p"]:
    """The mean of x y over finitely many mixed pairs, each with its own i, j (i = j allowed) and lambda.

    What training does. Its expectation given the data is `mixup_estimator`; its ECE is not the same.

    Args:
      key: spent.
      x, y: data, shapes [n, p] and [n].
      alpha, beta: of lambda's Beta law; alpha = 0 is no Mixup (lambda = 0).
      num_pairs: how many pairs; static.

    Raises:
      ValueError: for shapes that do not fit, num_pairs < 1, alpha < 0 or beta <= 0 (these two: NaN under `jit`).
    """
    mixed_x, mixed_y = mixed_rows(key, x, y, alpha=alpha, beta=beta, num_pairs=num_pairs)
    return jnp.mean(mixed_y[:, None] * mixed_x, axis=0)


def mixed_rows(
    key: PRNGKeyArray,
    x: Float[Array, "n p"],
    y: Float[Array, " n"],
    *,
    alpha: ArrayLike,
    beta: ArrayLike,
    num_pairs: int,
) -> tuple[Float[Array, "num_pairs p"], Float[Array, " num_pairs"]]:
    """Rows lambda x_i + (1 - lambda) x_j with their labels, of the pairs of `random_pairs_estimator`; its arguments."""
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
    x: Float[Array, "n p"], y: Float[Array, " n"], unlabeled: Float[Array, "n_u p"], t: ArrayLike
) -> dict[str, Float[Array, " p"]]:
    """Algorithm 1 (Section 4): estimate, label the unlabelled data by the sign of its score, estimate from all.

    Args:
      x, y: labelled data, shapes [n, p] and [n].
      unlabeled: n_u >= 0 further inputs, shape [n_u, p].
      t: Mixup weight of the last step, in [0, 1].

    Returns:
      "init", the plain estimator of the labelled data; "final", that of all data with pseudo-labels; "mix", the
      Mixup estimator of these.

    Raises:
      ValueError: for shapes that do not fit, or t out of its range (NaN under `jit`).
    """
    x, y, unlabeled, t = checked(x=x, y=y, unlabeled=unlabeled, t=t)
    check_scalars(t=t)
    initial = mean_estimator(x, y)
    if unlabeled.ndim != 2 or unlabeled.shape[1] != x.shape[1]:
        raise ValueError(f"unlabeled must have shape [n_u, {x.shape[1]}], got {unlabeled.shape}")
    pseudo_labels = jnp.sign(jnp.sum(unlabeled * initial[None, :], axis=1))
    all_x, all_y = jnp.concatenate([x, unlabeled]), jnp.concatenate([y, pseudo_labels])
    return {"init": initial, "final": mean_estimator(all_x, all_y), "mix": weighted_estimator(all_x, all_y, t)}


def sigma_estimator(
    x: Float[Array, "n p"], y: Float[Array, " n"], *, sigma_estimate: str = "paper"
) -> Float[Array, ""]:
    """An estimate of sigma from the residuals x_i - y_i theta_hat(0).

    Args:
      x, y: data, shapes [n, p] and [n].
      sigma_estimate: "paper", sqrt(|sum_i r_i|^2 / (p n)), the norm outside the sum as in Section 3.3
        (not consistent for fixed p; 0 when all labels are equal), or "pooled", sqrt(sum_i |r_i|^2 / (p n)).
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
