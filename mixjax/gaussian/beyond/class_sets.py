"""Training sets of K classes in the 2K - 1 coordinates that their classifiers depend on, and their limit.

Not in the paper. The averaging classifier of `classes` sees the data through the sum of each class,

    S_k = n_k mu_k + sqrt(n_k) g_k,    g_k ~ N(0, I_p) independent,    (n_1, ..., n_K) ~ Multinomial(n, 1/K),

and a softmax score W x sees the sums through their inner products with the means and with each other. Rotate the K
means into the first K - 1 axes: g_k is K - 1 normals and a rest in the other p - K + 1 directions. The K rests have a
Wishart matrix of inner products, and so do the rows of its triangular root, drawn by Bartlett's decomposition. A
training set in p dimensions thus has the same law as one in 2K - 1, jointly for every weight t.

As p/n -> c the sums tend to those with n_k = n / K and orthogonal rests of length sqrt(p).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.gaussian.samplers import cell_source, count_words, standard_normals
from mixjax.numerics.arguments import LARGEST_COUNT, POINTS, Rule, aligned, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import Source, single
from mixjax.random import centered_chisquare_from
from mixjax.typing import ArrayLike

MAX_CLASSES = 60
_LABELS, _NORMALS, _LENGTHS = 18, 19, 20  # purposes of the random words


class ClassSets(NamedTuple):
    """Training sets of K classes in 2K - 1 coordinates; sigma = 1. A pytree.

    Attributes:
      shares: n_k / n, shape [*cell, replicates, K].
      sums: S_k / n, shape [*cell, replicates, K, 2K - 1].
      means: mu_k, of the same shape.

    Example:
      >>> from mixjax.gaussian import limit_class_sets
      >>> limit_class_sets(0.5, 1.0, num_classes=3).estimator(0.2).shape
      (1, 3, 5)
    """

    shares: Float[Array, "*cell replicates K"]
    sums: Float[Array, "*cell replicates K coordinates"]
    means: Float[Array, "*cell replicates K coordinates"]

    def estimator(self, t: ArrayLike) -> Float[Array, "*cell replicates K coordinates"]:
        """Return W(t), the `class_estimator` of the data; `t` in [0, 1] broadcasts with [*cell]."""
        (t,) = checked(t=t)
        num_classes, total = self.sums.shape[-2], jnp.sum(self.sums, axis=-2, keepdims=True)
        t, total, shares = aligned(t[..., None, None, None].astype(total.dtype), total, self.shares[..., None])
        return (1.0 - t) * (num_classes * self.sums - total) + t * (num_classes * shares - 1.0) * total


def sample_class_sets(
    key: PRNGKeyArray, *, n: ArrayLike, p: ArrayLike, theta_norm: ArrayLike, num_classes: int, replicates: int
) -> ClassSets:
    """Draw independent training sets, exact at every n and p.

    Args:
      key: used once. An entry's draws depend on its values of (n, p, theta_norm).
      n: training sample size, a whole number from 1 to 1e7.
      p: dimension, a whole number from K to 1e10.
      theta_norm: |theta| >= 0, the length of the means of `class_means`.
      num_classes: K, from 2 to 60; static.
      replicates: training sets per entry; static.

    Returns:
      Sets of shape broadcast(n, p, theta_norm) + (replicates,).

    Time: O(n) for the labels, whatever p. The law is tested in tests/gaussian/beyond/test_class_sets.py.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_class_sets
      >>> sets = sample_class_sets(jax.random.key(0), n=9, p=100, theta_norm=1.0, num_classes=3, replicates=1)
      >>> (9 * sets.shares).round().tolist()
      [[2.0, 2.0, 5.0]]
    """
    _check_classes(num_classes)
    check_size("replicates", replicates)
    dimension = Rule(
        f"a whole number from {num_classes} to 1e10",
        lambda v: (v >= num_classes) & (v <= LARGEST_COUNT) & (v == v.round()),
    )
    arrays = checked({"n": POINTS, "p": dimension}, n=n, p=p, theta_norm=theta_norm)
    cell = jnp.broadcast_arrays(*aligned(*arrays))
    return _sample_class_sets(single(key), *cell, num_classes=num_classes, replicates=replicates)


def _check_classes(num_classes: int) -> None:
    check_size("num_classes", num_classes, least=2)
    if num_classes > MAX_CLASSES:
        raise ValueError(f"num_classes must be at most {MAX_CLASSES}, got {num_classes}")


@partial(jax.jit, static_argnames=("num_classes", "replicates"))
def _sample_class_sets(
    key: PRNGKeyArray, n: jax.Array, p: jax.Array, theta_norm: jax.Array, *, num_classes: int, replicates: int
) -> ClassSets:
    n = jnp.where(jnp.isnan(p + theta_norm), jnp.nan, n)
    source = cell_source(key, [n, p, theta_norm], replicates)
    n, p, theta_norm = (jnp.broadcast_to(value[..., None], source.shape) for value in (n, p, theta_norm))
    counts = _class_counts(source.fold_in(_LABELS), n, num_classes)
    means = _means(theta_norm, num_classes)
    sums = counts[..., None] * means + jnp.sqrt(counts)[..., None] * _noise(source, p, num_classes)
    return _nan_where(jnp.isnan(n + p), ClassSets(counts / n[..., None], sums / n[..., None, None], means))


def _nan_where(wrong: jax.Array, sets: ClassSets) -> ClassSets:
    """Replace every number of the wrong sets by NaN."""

    def replaced(leaf: jax.Array) -> jax.Array:
        return jnp.where(wrong.reshape(wrong.shape + (1,) * (leaf.ndim - wrong.ndim)), jnp.nan, leaf)

    return jax.tree.map(replaced, sets)


def _noise(source: Source, p: jax.Array, num_classes: int) -> jax.Array:
    """Draw g_k: K - 1 normals, and a row of the triangular root of the rests' Wishart matrix; 0 beyond p."""
    below = np.tril_indices(num_classes, -1)
    wide = _with_inner_axis(source.fold_in(_NORMALS), -(-3 * len(below[0]) // 2))  # two at a position
    normals = jnp.concatenate(standard_normals(wide, 2, p[..., None]), axis=-1)
    axes = normals[..., : 2 * len(below[0])].reshape(*p.shape, num_classes, num_classes - 1)
    column = np.arange(num_classes).reshape((1,) * p.ndim + (num_classes,)).astype(p.dtype)
    freedom = jnp.maximum(p[..., None] - (num_classes - 1.0) - column, 0.0)
    squares = freedom + centered_chisquare_from(_with_inner_axis(source.fold_in(_LENGTHS), num_classes), freedom)
    rests = jnp.sqrt(jnp.maximum(squares, 0.0))[..., None] * _broadcastable(p, np.eye(num_classes))
    entries = normals[..., 2 * len(below[0]) : 3 * len(below[0])]
    rests = rests.at[..., below[0], below[1]].set(jnp.where(freedom[..., below[1]] > 0, entries, 0.0))
    return jnp.concatenate([axes, rests], axis=-1)


def _with_inner_axis(source: Source, size: int) -> Source:
    """Add a last axis of `size` positions."""
    inner = np.arange(size, dtype=np.uint32).reshape((1,) * source.position.ndim + (size,))
    keys = (source.key[0][..., None], source.key[1][..., None])
    return Source(keys, source.position[..., None] * np.uint32(size) + inner, source.purpose)


def _class_counts(source: Source, n: jax.Array, num_classes: int) -> jax.Array:
    """Draw Multinomial(n, 1/K) label by label; 1/K is rounded to 32 binary digits."""
    starts = np.array([k * 2**32 // num_classes for k in range(1, num_classes)], np.uint32)
    starts = starts.reshape((1,) * len(source.shape) + (num_classes - 1,))
    later = count_words(source, n[..., None], lambda word: word[..., None] >= starts, (*source.shape, num_classes - 1))
    beyond = jnp.concatenate([n[..., None], later, jnp.zeros_like(n)[..., None]], axis=-1)
    return beyond[..., :-1] - beyond[..., 1:]


def _means(theta_norm: jax.Array, num_classes: int) -> jax.Array:
    """Place the simplex of `class_means` in the first K - 1 axes; the K others are 0."""
    corners, _ = np.linalg.qr(np.eye(num_classes) - 1.0 / num_classes)
    corners = corners[:, : num_classes - 1] * (num_classes / (num_classes - 1.0)) ** 0.5
    return theta_norm[..., None, None] * _broadcastable(theta_norm, np.pad(corners, [(0, 0), (0, num_classes)]))


def _broadcastable(cells: jax.Array, matrix: np.ndarray) -> np.ndarray:
    """Reshape a matrix to broadcast with [*cell, K, coordinates]."""
    return matrix.reshape((1,) * cells.ndim + matrix.shape).astype(cells.dtype)


def limit_class_sets(ratio: ArrayLike, theta_norm: ArrayLike, *, num_classes: int) -> ClassSets:
    """Return the limit of training sets as p/n -> `ratio`: one replicate, with shares 1/K and orthogonal rests.

    Args:
      ratio, theta_norm: c >= 0 and |theta| >= 0.
      num_classes: K, from 2 to 60; static.

    Example:
      >>> from mixjax.gaussian import limit_class_sets
      >>> limit_class_sets(0.5, 1.0, num_classes=3).sums.shape
      (1, 3, 5)
    """
    _check_classes(num_classes)
    ratio, theta_norm = jnp.broadcast_arrays(*aligned(*checked(ratio=ratio, theta_norm=theta_norm)))
    ratio, theta_norm = ratio[..., None], theta_norm[..., None]
    means = _means(theta_norm, num_classes)
    rests = _broadcastable(ratio, np.pad(np.eye(num_classes), [(0, 0), (num_classes - 1, 0)]))
    sums = means / num_classes + jnp.sqrt(ratio / num_classes)[..., None, None] * rests
    shares = jnp.full(sums.shape[:-1], 1.0 / num_classes, ratio.dtype)
    return _nan_where(jnp.isnan(ratio + theta_norm), ClassSets(shares, sums, means))
