"""ECE of K-class softmax scores whose law is known: of the predicted class, or class by class.

Not in the paper. For x = mu_y + e with e ~ N(0, I) and y uniform, the scores W x depend on x through its projection P x
onto the rows of W, and the truth given them is P(y = k | W x) = softmax_k(mu_k'P x - |P mu_k|^2 / 2). An ECE is the
mean of |E(truth - claim | claim)| over draws of x, with the claims in bins of equal mass. Each draw counts with its
probability of being right instead of a label, and the sign of a bin comes from other draws than the sum it multiplies:
an ECE of 0 has an estimate of mean 0.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PRNGKeyArray

from mixjax.numerics.arguments import as_floats
from mixjax.numerics.estimate import Estimate
from mixjax.numerics.options import check_option, check_size
from mixjax.numerics.threefry import single
from mixjax.random import normal
from mixjax.typing import ArrayLike

ClassKind = Literal["top-label", "class-wise"]

_BINS, _BATCHES = 32, 8


def class_ece(
    key: PRNGKeyArray,
    estimator: ArrayLike,
    means: ArrayLike,
    *,
    kind: ClassKind = "top-label",
    num_draws: int = 16_384,
) -> Estimate:
    """Estimate the population ECE of softmax(W x) for x | y ~ N(mu_y, I), from draws of x without labels.

    Args:
      key: used once. An entry's draws depend on its position in the batch: two calls with one key share their draws.
      estimator: W, such as `ClassSets.estimator`.
      means: mu_1, ..., mu_K of the classes, all equally likely.
      kind: "top-label", of the class with the largest score, or "class-wise", the mean of the ECEs of all K claims;
        static.
      num_draws: draws of x for each batch entry, rounded up to a multiple of 256; static.

    Returns:
      ECE and its standard error, shape [*batch]; NaN where W or the means are not finite.

    Raises:
      ValueError: for shapes that do not fit, or another kind.

    Accuracy: bins are exact as long as truth - claim keeps its sign within each
    (tests/gaussian/beyond/test_class_ece.py).

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax.gaussian import class_ece
      >>> found = class_ece(jax.random.key(0), 2 * jnp.eye(3), jnp.eye(3), num_draws=256)
      >>> round(float(found.value), 2)
      0.15
    """
    check_option("kind", kind, ClassKind)
    check_size("num_draws", num_draws)
    estimator, means = as_floats(estimator=estimator, means=means)
    if estimator.ndim < 2 or estimator.shape != means.shape or estimator.shape[-2] < 2:
        raise ValueError(
            f"estimator and means must have one shape [*batch, K, p], got {estimator.shape} and {means.shape}"
        )
    rows = -(-num_draws // (_BINS * _BATCHES)) * _BINS * _BATCHES
    flat = (array.reshape(-1, *array.shape[-2:]) for array in (estimator, means))
    found = _class_ece(single(key), *flat, kind=kind, num_draws=rows)
    return jax.tree.map(lambda part: part.reshape(estimator.shape[:-2]), found)


@partial(jax.jit, static_argnames=("kind", "num_draws"))
def _class_ece(
    key: PRNGKeyArray, estimator: jax.Array, means: jax.Array, *, kind: ClassKind, num_draws: int
) -> Estimate:
    finite = jnp.all(jnp.isfinite(estimator) & jnp.isfinite(means), axis=(1, 2))
    safe = jnp.where(finite[:, None, None], estimator, 1.0)
    _, values, directions = jnp.linalg.svd(safe, full_matrices=False)
    seen = values > values[:, :1] * (estimator.shape[-1] * jnp.finfo(estimator.dtype).eps)
    bases = jnp.where(seen[..., None], directions, 0.0)

    def entry_ece(entry: tuple[jax.Array, ...]) -> Estimate:
        number, *arrays = entry
        noise = normal(jax.random.fold_in(key, number), (num_draws, estimator.shape[-1]), estimator.dtype)
        claims, right = _claims(noise, *arrays, kind=kind)
        values = jnp.mean(jax.vmap(_batch_errors, in_axes=1)(claims, right - claims), axis=0)
        return Estimate(jnp.mean(values), jnp.std(values, ddof=1) / _BATCHES**0.5)

    found = lax.map(entry_ece, (lax.iota(jnp.uint32, len(estimator)), safe, means, bases))
    return jax.tree.map(lambda part: jnp.where(finite, part, jnp.nan), found)


def _claims(
    noise: jax.Array, estimator: jax.Array, means: jax.Array, basis: jax.Array, *, kind: ClassKind
) -> tuple[jax.Array, jax.Array]:
    """Return claimed and true probabilities of each draw, of the predicted class [draws, 1] or of all [draws, K]."""
    times = partial(jnp.matmul, precision="highest")
    x = noise + jnp.tile(means, (-(-len(noise) // len(means)), 1))[: len(noise)]  # the classes in turn
    claims = jax.nn.softmax(times(x, estimator.T))
    positions = times(means, basis.T)
    right = jax.nn.softmax(times(times(x, basis.T), positions.T) - 0.5 * jnp.sum(positions**2, axis=1)[None])
    if kind == "class-wise":
        return claims, right
    top = jnp.argmax(claims, axis=1, keepdims=True)
    return jnp.take_along_axis(claims, top, axis=1), jnp.take_along_axis(right, top, axis=1)


def _batch_errors(claim: jax.Array, residual: jax.Array) -> jax.Array:
    """Sum |mean residual| over bins, for each batch of draws."""
    size, order = len(claim), jnp.argsort(claim)
    positions = (lax.iota(order.dtype, size) // (size // _BINS), order // (size // _BATCHES))
    sums = jnp.zeros((_BINS, _BATCHES), residual.dtype).at[positions].add(residual[order])
    others = jnp.sum(sums, axis=1, keepdims=True) - sums
    return jnp.sum(jnp.sign(others) * sums, axis=0) * (_BATCHES / size)
