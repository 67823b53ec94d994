"""Mixup with finitely many random pairs, as in training, instead of the expectation over pairs: the exact law.

Paper: Section 3.1 takes the expectation over lambda and all pairs. With M pairs (i, j) drawn uniformly, i = j allowed,
each with its own lambda and mixed label yt = lambda y_i + (1 - lambda) y_j,

    theta_hat = M^-1 sum_k yt_k (lambda_k x_i + (1 - lambda_k) x_j) = sum_i c_i x_i

is a linear estimator (`linear`): its mean given the data is the paper's, and its noise is larger. The coefficients take
O(n + M) operations to draw, whatever p. In the limit p/n -> c, M/n -> r, with t the paper's weight,

    mean = (1-t) |theta|^2,    var = (1-t)^2 (|theta|^2 + c) + c tau / r,    tau = E (lambda^2 + (1 - lambda)^2)^2,

so that random pairs undo some of the shrinkage: after one epoch (r = 1) at lambda ~ Beta(1, 1), nearly all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.beyond.linear import LARGEST_RANK, sample_linear_scores
from mixjax.gaussian.law import ScoreLaw, masked_law
from mixjax.gaussian.weights import mixup_weight
from mixjax.numerics.arguments import aligned, check_scalars, checked
from mixjax.numerics.beta import beta_from
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import Source, single
from mixjax.typing import ArrayLike


def limit_pairs_scores(
    ratio: ArrayLike, theta_norm: ArrayLike, *, alpha: ArrayLike, beta: ArrayLike, pairs_ratio: ArrayLike
) -> ScoreLaw:
    """Return the law of the score as p/n -> `ratio` and the number of pairs / n -> `pairs_ratio`, for sigma = 1.

    Args:
      ratio, theta_norm: c >= 0 and |theta| >= 0.
      alpha, beta: of lambda's Beta law; alpha = 0 is a resampled training set without Mixup.
      pairs_ratio: r > 0; inf is the paper's expectation over pairs.

    Returns:
      Laws of the broadcast shape.

    Example:
      >>> from mixjax.gaussian import limit_pairs_scores
      >>> round(float(limit_pairs_scores(1.0, 1.0, alpha=1.0, beta=1.0, pairs_ratio=1.0).var), 3)
      1.356
    """
    ratio, theta_norm, pairs_ratio, alpha, beta = aligned(
        *checked(ratio=ratio, theta_norm=theta_norm, pairs_ratio=pairs_ratio, alpha=alpha, beta=beta)
    )
    t, tau = mixup_weight(alpha, beta), _mean_square_share(alpha, beta)
    keep, square = 1.0 - t, theta_norm**2
    return masked_law(keep * square, keep * (keep * ratio - t * square) + ratio * tau / pairs_ratio)


def _mean_square_share(alpha: jax.Array, beta: jax.Array) -> jax.Array:
    """Return tau = E (1 - 2 lambda (1 - lambda))^2 for lambda ~ Beta(alpha, beta)."""
    total = alpha + beta
    second = (alpha / total) * ((alpha + 1.0) / (total + 1.0)) * (beta / (total + 2.0)) * ((beta + 1.0) / (total + 3.0))
    return 1.0 - 2.0 * mixup_weight(alpha, beta) + 4.0 * second  # E lambda^2 (1 - lambda)^2


def sample_pairs_scores(
    key: PRNGKeyArray,
    *,
    n: int,
    num_pairs: Sequence[int],
    p: ArrayLike,
    theta_norm: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    sigma: ArrayLike = 1.0,
    replicates: int,
) -> ScoreLaw:
    """Draw score laws of three kinds of classifier of the same training sets: plain, the paper's Mixup, and M pairs.

    Args:
      key: used once. Each entry has training sets of its own; labels, pairs and lambda are common to all.
      n: training sample size; static.
      num_pairs: up to 61 increasing numbers M; static. The first pairs of a larger M are those of a smaller one.
      p, theta_norm, sigma: as for `sample_scores`.
      alpha, beta: of lambda's Beta law, scalars; alpha = 0 is no Mixup (lambda = 0).
      replicates: training sets per entry; static.

    Returns:
      Laws of shape [2 + len(num_pairs), *broadcast(p, theta_norm, sigma), replicates]: plain, the paper's, and each M.

    Raises:
      ValueError: for numbers of pairs that do not increase, or more than 61.

    Cost: O(n + pairs) a replicate, once for all entries.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_pairs_scores
      >>> key = jax.random.key(0)
      >>> law = sample_pairs_scores(key, n=9, num_pairs=(9,), p=5, theta_norm=1.0, alpha=1.0, beta=1.0, replicates=3)
      >>> law.mean.shape
      (3, 3)
    """
    p, theta_norm, sigma, alpha, beta = checked(p=p, theta_norm=theta_norm, sigma=sigma, alpha=alpha, beta=beta)
    check_scalars(alpha=alpha, beta=beta)
    for name, size in (("n", n), ("replicates", replicates), *(("num_pairs", size) for size in num_pairs)):
        check_size(name, size)
    if list(num_pairs) != sorted(set(num_pairs)) or not num_pairs:
        raise ValueError(f"num_pairs must increase, got {tuple(num_pairs)}")
    if len(num_pairs) > LARGEST_RANK - 2:
        raise ValueError(f"num_pairs must be at most {LARGEST_RANK - 2} numbers, got {len(num_pairs)}")
    key_weights, key_noise = jax.random.split(single(key))
    signal, loadings = _estimators(key_weights, alpha, beta, n, tuple(num_pairs), replicates)
    p = jnp.where(jnp.isnan(alpha + beta), jnp.nan, p)  # the plain classifier does not depend on them
    p, theta_norm, sigma = jnp.broadcast_arrays(*aligned(p, theta_norm, sigma))
    batch = (*p.shape, replicates)
    law = sample_linear_scores(
        key_noise,
        jnp.broadcast_to(signal, (*batch, signal.shape[-1])),
        jnp.broadcast_to(loadings, (*batch, *loadings.shape[-2:])),
        p=p[..., None],
        theta_norm=theta_norm[..., None],
        sigma=sigma[..., None],
    )
    return jax.tree.map(lambda part: jnp.moveaxis(part, -1, 0), law)


@partial(jax.jit, static_argnames=("n", "num_pairs", "replicates"))
def _estimators(
    key: PRNGKeyArray, alpha: jax.Array, beta: jax.Array, n: int, num_pairs: tuple[int, ...], replicates: int
) -> tuple[jax.Array, jax.Array]:
    """Return signals [replicates, a] and loadings [replicates, a, r] of plain, Mixup, and each number of pairs."""
    t = mixup_weight(alpha, beta)

    def of_set(key: PRNGKeyArray) -> tuple[jax.Array, jax.Array]:
        key_labels, key_pairs = jax.random.split(key)
        y = jax.random.rademacher(key_labels, (n,), t.dtype)
        mean_label = jnp.mean(y)
        drawn = _pair_coefficients(key_pairs, y, alpha, beta, num_pairs)
        columns = jnp.stack([y / n, jnp.full_like(y, 1.0 / n), *drawn], axis=1)
        signal, loadings = jnp.sum(columns * y[:, None], axis=0), jnp.linalg.qr(columns, mode="r").T

        def with_mixup(part: jax.Array) -> jax.Array:
            """Replace the mean of the x_i, which comes second, by the paper's Mixup."""
            return part.at[1].set((1.0 - t) * part[0] + t * mean_label * part[1])

        return with_mixup(signal), with_mixup(loadings)

    return jax.lax.map(of_set, jax.random.split(key, replicates))


def _pair_coefficients(
    key: PRNGKeyArray, y: jax.Array, alpha: jax.Array, beta: jax.Array, num_pairs: tuple[int, ...]
) -> list[jax.Array]:
    """Return c of the first M pairs, for each M."""
    total, before, found = jnp.zeros_like(y), 0, []
    for number, last in enumerate(num_pairs):
        count = last - before
        key_first, key_second, key_lam = jax.random.split(jax.random.fold_in(key, number), 3)
        first, second = (jax.random.randint(k, (count,), 0, len(y), np.int32) for k in (key_first, key_second))
        lam = beta_from(Source.of(key_lam, (count,)), jnp.where(alpha > 0, alpha, 1.0), beta)
        lam = jnp.where(alpha > 0, lam, alpha)
        mixed = lam * y[first] + (1.0 - lam) * y[second]
        total = total.at[first].add(lam * mixed).at[second].add((1.0 - lam) * mixed)
        before = last
        found.append(total / last)
    return found
