"""The exact joint law of the scores of any linear estimators, drawn without p-vectors.

Not in the paper; its estimators are linear. An estimator theta_hat_a = sum_i c_ai x_i, whose coefficients depend on the
labels but not on the noise e_i = x_i - y_i theta, is

    theta_hat_a = S_a theta + sum_r L_ar g_r,    S_a = sum_i c_ai y_i,    L L' = C C',

with g_r independent N(0, sigma^2 I_p). The scores need the parts of the g_r along theta, and the inner products of
their rests in the other p - 1 directions: a Wishart matrix, drawn by Bartlett's decomposition. For every n and p, r
linearly independent estimators cost r (r + 3) / 2 random numbers.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.samplers import law_of_parts, standard_normals
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.threefry import Source, single
from mixjax.random import centered_chisquare_from
from mixjax.typing import ArrayLike


def sample_linear_scores(
    key: PRNGKeyArray,
    signal: ArrayLike,
    loadings: ArrayLike,
    *,
    p: ArrayLike,
    theta_norm: ArrayLike,
    sigma: ArrayLike = 1.0,
) -> ScoreLaw:
    """Draw the score laws of estimators theta_hat_a = S_a theta + sum_r L_ar g_r that share their noise g.

    Args:
      key: used once. Draws depend on the position in the batch.
      signal: S of each estimator; 1 is unbiased.
      loadings: L, any matrix whose L L' is the Gram matrix of the coefficients, of at most 63 columns.
      p, theta_norm, sigma: as for `sample_scores`, of shapes that broadcast with [*batch].

    Returns:
      Laws of shape [*batch, estimators].

    Raises:
      ValueError: for shapes that do not fit.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_linear_scores
      >>> law = sample_linear_scores(jax.random.key(0), [1.0], [[0.1]], p=50, theta_norm=1.0)
      >>> law.mean.shape
      (1,)
    """
    signal, loadings, p, theta_norm, sigma = checked(
        signal=signal, loadings=loadings, p=p, theta_norm=theta_norm, sigma=sigma
    )
    if loadings.ndim < 2 or signal.shape != loadings.shape[:-1]:
        raise ValueError(
            "signal and loadings must have shapes [*batch, a] and [*batch, a, r], "
            f"got {signal.shape} and {loadings.shape}"
        )
    if loadings.shape[-1] > LARGEST_RANK:
        raise ValueError(f"loadings must have at most {LARGEST_RANK} columns, got {loadings.shape[-1]}")
    like = jnp.zeros(signal.shape[:-1], signal.dtype)
    _, p, theta_norm, sigma = jnp.broadcast_arrays(*aligned(like, p, theta_norm, sigma))
    if p.shape != like.shape:
        raise ValueError(f"p, theta_norm and sigma must broadcast to {like.shape}, got {p.shape}")
    return _sample_linear_scores(single(key), signal, loadings, p, theta_norm / sigma)


@jax.jit
def _sample_linear_scores(
    key: PRNGKeyArray, signal: jax.Array, loadings: jax.Array, p: jax.Array, theta: jax.Array
) -> ScoreLaw:
    source = Source.of(key, p.shape)
    theta = jnp.where(jnp.isnan(p), jnp.nan, theta)[..., None]
    rank = loadings.shape[-1]
    along = jnp.stack(standard_normals(source.fold_in(_ALONG), rank, p), axis=-1)
    error = (signal - 1.0) * theta + _times(loadings, along[..., None, :])
    across = partial(_times, loadings)
    lengths = [across(column[..., None, :]) ** 2 for column in _bartlett(source, p - 1.0, rank)]
    rounding = jnp.finfo(error.dtype).eps * (signal * theta + jnp.linalg.norm(loadings, axis=-1))
    return law_of_parts(theta, error, jnp.sum(jnp.stack(lengths), axis=0), rounding)


def _times(loadings: jax.Array, vector: jax.Array) -> jax.Array:
    """Multiply in full precision, also on accelerators whose matrix products round to less."""
    return jnp.sum(loadings * vector, axis=-1)


_ALONG, _DIAGONAL, _BELOW = 32, 33, 96  # purposes of the random words, of which the last two have one a column
LARGEST_RANK = _BELOW - _DIAGONAL  # one more column, and two would share their words


def _bartlett(source: Source, df: jax.Array, rank: int) -> list[jax.Array]:
    """Draw the columns of a lower triangular A whose A A' is Wishart with `df` degrees of freedom; 0 beyond df."""
    columns = []
    for number in range(rank):
        left = jnp.maximum(df - number, 0.0)
        length = jnp.sqrt(jnp.maximum(left + centered_chisquare_from(source.fold_in(_DIAGONAL + number), left), 0.0))
        below = standard_normals(source.fold_in(_BELOW + number), rank - 1 - number, df + 1.0)
        entries = [length, *(jnp.where(left > 0, entry, 0.0) for entry in below)]
        columns.append(jnp.stack([*[jnp.zeros_like(length)] * number, *entries], axis=-1))
    return columns
