r"""ECE of K-class softmax scores whose law is known: of the predicted class, or class by class.

Not in the paper. For x = mu_y + e with e ~ N(0, I) and y uniform, the scores W x tell of x its projection P x onto the
rows of W, and what is right given them is P(y = k | W x) = softmax_k(mu_k'P x - |P mu_k|^2 / 2). An ECE is the mean of
|E(right - claim | claim)|, over draws of x, with the claims in bins of equal mass. Each draw is worth its probability
of being right instead of a label; and the sign of a bin comes from other draws than what it multiplies, so that what is
0 has an estimate of mean 0.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.numerics.arguments import as_floats, check_size
from mixjax.numerics.estimate import Estimate
from mixjax.numerics.threefry import single
from mixjax.random import normal

__all__ = ["ClassKind", "class_ece"]

ClassKind = Literal["top-label", "class-wise"]

_BINS, _BATCHES = 32, 8


def class_ece(
    key: PRNGKeyArray,
    weights: Float[Array, "*batch K p"],
    means: Float[Array, "*batch K p"],
    *,
    kind: ClassKind = "top-label",
    draws: int = 16_384,
) -> Estimate:
    """Population ECE of softmax(W x) for x | y ~ N(mu_y, I), by simulation of x and without labels.

    Args:
      key: spent. Draws are keyed by the position in the batch: two calls with one key have the same draws.
      weights: W; of `ClassSets.estimator`, or any.
      means: mu_1, ..., mu_K of the classes, all equally likely.
      kind: "top-label", of the class with the largest score, or "class-wise", mean of the ECEs of all K claims; static.
      draws: of x, a batch entry; rounded up to a multiple of 256; static.

    Returns:
      ECE and its standard error, shape [*batch]; NaN for weights that are not finite.

    Raises:
      ValueError: for shapes that do not fit, or another kind.

    Accuracy: bins are exact as long as the sign of right - claim does not change within one
    (tests/gaussian/beyond/test_class_ece.py).
    """
    if kind not in get_args(ClassKind):
        raise ValueError(f"kind must be one of {get_args(ClassKind)}, got {kind!r}")
    check_size("draws", draws)
    weights, means = as_floats(weights=weights, means=means)
    if weights.ndim < 2 or weights.shape != means.shape or weights.shape[-2] < 2:
        raise ValueError(f"weights and means must have one shape [*batch, K, p], got {weights.shape} and {means.shape}")
    rows = -(-draws // (_BINS * _BATCHES)) * _BINS * _BATCHES
    flat = (array.reshape(-1, *array.shape[-2:]) for array in (weights, means))
    found = _class_ece(single(key), *flat, kind=kind, draws=rows)
    return jax.tree.map(lambda part: part.reshape(weights.shape[:-2]), found)


@partial(jax.jit, static_argnames=("kind", "draws"))
def _class_ece(key: PRNGKeyArray, weights: jax.Array, means: jax.Array, *, kind: ClassKind, draws: int) -> Estimate:
    finite = jnp.all(jnp.isfinite(weights) & jnp.isfinite(means), axis=(1, 2))
    safe = jnp.where(finite[:, None, None], weights, 1.0)
    _, values, directions = jnp.linalg.svd(safe, full_matrices=False)
    seen = values > values[:, :1] * (weights.shape[-1] * jnp.finfo(weights.dtype).eps)
    bases = jnp.where(seen[..., None], directions, 0.0)

    def of_entry(entry: tuple[jax.Array, ...]) -> Estimate:
        number, *arrays = entry
        noise = normal(jax.random.fold_in(key, number), (draws, weights.shape[-1]), weights.dtype)
        claims, right = _claims(noise, *arrays, kind=kind)
        values = jnp.mean(jax.vmap(_of_batches, in_axes=1)(claims, right - claims), axis=0)
        return Estimate(jnp.mean(values), jnp.std(values, ddof=1) / _BATCHES**0.5)

    found = lax.map(of_entry, (lax.iota(jnp.uint32, len(weights)), safe, means, bases))
    return jax.tree.map(lambda part: jnp.where(finite, part, jnp.nan), found)


def _claims(
    noise: jax.Array, weights: jax.Array, means: jax.Array, basis: jax.Array, *, kind: ClassKind
) -> tuple[jax.Array, jax.Array]:
    """What is claimed and what is right for each draw, of one class or of each: shapes [draws, 1 or K]."""
    times = partial(jnp.matmul, precision="highest")
    x = noise + jnp.tile(means, (-(-len(noise) // len(means)), 1))[: len(noise)]  # the classes in turn
    claims = jax.nn.softmax(times(x, weights.T))
    places = times(means, basis.T)
    right = jax.nn.softmax(times(times(x, basis.T), places.T) - 0.5 * jnp.sum(places**2, axis=1)[None])
    if kind == "class-wise":
        return claims, right
    top = jnp.argmax(claims, axis=1, keepdims=True)
    return jnp.take_along_axis(claims, top, axis=1), jnp.take_along_axis(right, top, axis=1)


def _of_batches(claim: jax.Array, residual: jax.Array) -> jax.Array:
    """The sum over bins of |mean residual|, of each batch of draws."""
    size, order = len(claim), jnp.argsort(claim)
    places = (lax.iota(order.dtype, size) // (size // _BINS), order // (size // _BATCHES))
    sums = jnp.zeros((_BINS, _BATCHES), residual.dtype).at[places].add(residual[order])
    others = jnp.sum(sums, axis=1, keepdims=True) - sums
    return jnp.sum(jnp.sign(others) * sums, axis=0) * (_BATCHES / size)
