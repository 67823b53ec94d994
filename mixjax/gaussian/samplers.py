r"""The exact finite-sample law of the score, drawn without ever forming a p-vector.

Paper: Section 3.1 (its estimators); the law itself is not in the paper. Take sigma = 1. Let A be the mean
of the noise y_i e_i, so that theta_hat(0) = theta + A, and D = xbar - ybar theta_hat(0). Given the labels,
A ~ N(0, I/n) and D ~ N(0, (1 - ybar^2) I/n) are independent, and for every Mixup weight t

    theta_hat(t) = kappa theta_hat(0) + t ybar D,    kappa = 1 - t (1 - ybar^2).

The score's law needs <theta_hat(t), theta> and |theta_hat(t)|^2 only. They follow from six numbers, whatever
n and p: ybar; A along theta and the length of the rest of A; D along theta, D along the rest of A, and the
length of what remains of D.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.gaussian.law import ScoreLaw
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.options import check_option, check_size
from mixjax.numerics.threefry import Source, Words, fold_in, key_words, single
from mixjax.random import centered_chisquare_from, normals, rademacher_mean_from
from mixjax.typing import ArrayLike

SigmaEstimate = Literal["known", "paper", "pooled"]


def sample_scores(
    key: PRNGKeyArray,
    *,
    n: ArrayLike,
    p: ArrayLike,
    theta_norm: ArrayLike,
    t: ArrayLike,
    sigma: ArrayLike = 1.0,
    replicates: int,
    sigma_estimate: SigmaEstimate = "known",
) -> ScoreLaw:
    r"""Sample score laws of independent training sets, exact at every n and p, at a cost that grows with neither.

    Draws are keyed by the key and the values of (n, p, theta_norm, sigma). So entries that differ only in t share their
    training sets, whatever the shape of the call. An entry is the same alone or in a grid, up to rounding. (Entries
    equal in all of these are equal: ask for replicates instead.) Changing n, p, theta_norm, t or sigma does not
    recompile.

    Args:
      key: spent.
      n: training sample size, whole numbers from 1 to 1e10, any int or float dtype.
      p: dimension, likewise.
      theta_norm: |theta| >= 0.
      t: Mixup weight, in [0, 1]; 0 is the plain estimator, a Beta law has t < 1/2 (`mixup_weight`).
      sigma: standard deviation of a coordinate given the label, > 0.
      replicates: training sets per entry; static.
      sigma_estimate: static. "known": the classifier knows sigma. "paper" or "pooled": it divides by
        sigma_hat^2 of `estimators.sigma_estimator` instead (Section 3.4, unknown sigma).

    Returns:
      Laws of shape broadcast(n, p, theta_norm, t, sigma) + (replicates,), of variance above 0. NaN where
      sigma_hat = 0 (with "paper", all labels equal: probability 2^(1-n)).

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_scores
      >>> law = sample_scores(jax.random.key(0), n=10**6, p=5, theta_norm=2.0, t=[0.0, 0.5], replicates=3)
      >>> law.mean.shape, law.mean[:, 0].round(1).tolist()
      ((2, 3), [4.0, 2.0])
    """
    arrays = aligned(*checked(n=n, p=p, theta_norm=theta_norm, t=t, sigma=sigma))
    check_size("replicates", replicates)
    check_option("sigma_estimate", sigma_estimate, SigmaEstimate)
    return _sample_scores(single(key), *arrays, replicates=replicates, sigma_estimate=sigma_estimate)


@partial(jax.jit, static_argnames=("replicates", "sigma_estimate"))
def _sample_scores(key: PRNGKeyArray, *values: jax.Array, replicates: int, sigma_estimate: SigmaEstimate) -> ScoreLaw:
    n, p, theta_norm, t, sigma = values
    source, n, p, theta = training_cells(key, n, p, theta_norm, sigma, replicates)
    noise = draw_noise(source, n, p)
    law = score_law_of(noise, n, p, theta, t[..., None])
    if sigma_estimate != "known":
        law = _divide_by_estimate(law, *_sigma_ratio(noise, source.fold_in(_SIGMA), n, p, sigma_estimate))
    return law


def training_cells(
    key: PRNGKeyArray, n: jax.Array, p: jax.Array, theta_norm: jax.Array, sigma: jax.Array, replicates: int
) -> tuple[Source, jax.Array, jax.Array, jax.Array]:
    """Key the draws of each cell, and return them with n, p and |theta| / sigma, each of shape [*cell, 1]."""
    wrong = jnp.isnan(p) | jnp.isnan(theta_norm) | jnp.isnan(sigma)  # not all that is drawn depends on them
    cell = jnp.broadcast_arrays(jnp.where(wrong, jnp.nan, n), p, theta_norm, sigma)
    source = cell_source(key, cell, replicates)
    n, p, theta_norm, sigma = (value[..., None] for value in cell)
    return source, n, p, theta_norm / sigma


def cell_source(key: PRNGKeyArray, cell: list[jax.Array], replicates: int) -> Source:
    """Make the source of [*cell, replicates] draws, from the key and the bits of the cell's values."""
    bits = [
        lax.bitcast_convert_type(value, np.uint32).reshape(*value.shape, value.dtype.itemsize // 4) for value in cell
    ]
    data = jnp.moveaxis(jnp.concatenate(bits, axis=-1), -1, 0)
    first, second = (jnp.broadcast_to(word, data.shape[1:]) for word in key_words(key))
    words: Words = (first, second)
    words, _ = lax.scan(lambda words, part: (fold_in(words, part), None), words, data)  # a loop compiles sooner
    position = lax.iota(np.uint32, replicates).reshape((1,) * cell[0].ndim + (replicates,))
    return Source((words[0][..., None], words[1][..., None]), position)


class Noise(NamedTuple):
    """The six numbers of a training set, each of shape [*cell, replicates].

    mean_label: ybar. along, across: sqrt(n) A along theta, and n |rest of A|^2 - (p - 1).
    difference_along, difference_aligned: sqrt(n / (1 - ybar^2)) D along theta, and along the rest of A (0 if p = 1);
    difference_across: the square of what remains of it, minus max(p - 2, 0).
    """

    mean_label: Float[Array, "*cell replicates"]
    along: Float[Array, "*cell replicates"]
    across: Float[Array, "*cell replicates"]
    difference_along: Float[Array, "*cell replicates"]
    difference_aligned: Float[Array, "*cell replicates"]
    difference_across: Float[Array, "*cell replicates"]


_LABELS, _NORMALS, _ACROSS, _DIFFERENCE, _SIGMA = range(5)  # what the words of a source are spent on


def draw_noise(source: Source, n: jax.Array, p: jax.Array) -> Noise:
    """Draw the six numbers from their exact joint law."""
    along, difference_along, difference_aligned = standard_normals(source.fold_in(_NORMALS), 3, n)
    return Noise(
        mean_label=rademacher_mean_from(source.fold_in(_LABELS), n),
        along=along,
        across=centered_chisquare_from(source.fold_in(_ACROSS), p - 1.0),
        difference_along=difference_along,
        difference_aligned=jnp.where(p >= 2, difference_aligned, 0.0),
        difference_across=centered_chisquare_from(source.fold_in(_DIFFERENCE), jnp.maximum(p - 2.0, 0.0)),
    )


def standard_normals(source: Source, count: int, like: jax.Array) -> tuple[jax.Array, ...]:
    """Draw `count` arrays once; the loop of one turn keeps XLA from drawing them again at each use.

    They have the dtype of `like`, which must not be 0 throughout (XLA does not know that).
    """

    def draw(_: object) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        pairs = (normals(source, stream, like.dtype) for stream in range(-(-count // 2)))
        return jnp.array(False), tuple(value for pair in pairs for value in pair)[:count]

    zeros = jnp.zeros(source.shape, like.dtype)
    return lax.while_loop(lambda state: state[0], draw, (jnp.any(like != 0), (zeros,) * count))[1]


def count_words(
    source: Source, n: jax.Array, hits: Callable[[jax.Array], jax.Array], shape: tuple[int, ...]
) -> jax.Array:
    """Count the hits among the first n words of each position, one by one; in the dtype of n."""

    def add_two(turn: jax.Array, count: jax.Array) -> jax.Array:
        for number, word in enumerate(source.words(turn)):
            count = count + (hits(word) & (2 * turn + number < n.astype(np.int32))).astype(np.int32)
        return count

    turns = jnp.ceil(0.5 * jnp.max(jnp.nan_to_num(n))).astype(np.int32)
    return lax.fori_loop(jnp.int32(0), turns, add_two, jnp.zeros(shape, np.int32)).astype(n.dtype)


def score_law_of(noise: Noise, n: jax.Array, p: jax.Array, theta: jax.Array, t: jax.Array) -> ScoreLaw:
    """Return the law at weight t for sigma = 1: mean <theta_hat, theta> and gap <theta_hat, theta_hat - theta>."""
    ybar = noise.mean_label
    spread = (1.0 - ybar) * (1.0 + ybar)
    kappa, push = 1.0 - t * spread, t * ybar
    scale, difference_scale = lax.rsqrt(n), jnp.sqrt(spread / n)
    a = scale * noise.along
    a_across = jnp.sqrt(jnp.maximum(p - 1.0 + noise.across, 0.0)) * scale
    d = difference_scale * noise.difference_along
    d_aligned = difference_scale * noise.difference_aligned
    d_across_square = difference_scale**2 * jnp.maximum(jnp.maximum(p - 2.0, 0.0) + noise.difference_across, 0.0)

    across_square = (kappa * a_across + push * d_aligned) ** 2 + push**2 * d_across_square
    error = kappa * a + push * d - t * spread * theta  # theta_hat(t) - theta along theta
    return law_of_parts(theta, error, across_square, rounding=jnp.finfo(error.dtype).eps * kappa * theta)


def law_of_parts(theta: jax.Array, error: jax.Array, across_square: jax.Array, rounding: jax.Array) -> ScoreLaw:
    """Return the law of theta_hat, which is theta + error along theta; along^2 > 0 keeps its variance above 0."""
    error = lax.optimization_barrier(error)  # one rounding for all its uses
    along = theta + error
    along = jnp.where(along == 0.0, rounding, along)
    mean = theta * along
    least = 4.0 * jnp.finfo(mean.dtype).eps * jnp.abs(mean) - mean
    return ScoreLaw(mean, jnp.maximum(along * error + across_square, least))


def _sigma_ratio(
    noise: Noise, spare: Source, n: jax.Array, p: jax.Array, sigma_estimate: SigmaEstimate
) -> tuple[jax.Array, jax.Array]:
    """Return S = sigma_hat^2 / sigma^2 and S - 1, each to full relative precision, from the D of the training set."""
    ybar = noise.mean_label
    spread = (1.0 - ybar) * (1.0 + ybar)
    across = jnp.maximum(jnp.maximum(p - 2.0, 0.0) + noise.difference_across, 0.0)
    ratio = (noise.difference_along**2 + noise.difference_aligned**2 + across) / p  # n |D|^2 / (p spread)
    aligned_excess = jnp.where(p >= 2, noise.difference_aligned**2 - 1.0, 0.0)
    excess = (noise.difference_along**2 - 1.0 + aligned_excess + noise.difference_across) / p  # ratio - 1
    if sigma_estimate == "paper":
        return spread * ratio, spread * excess - ybar**2
    mixed = spread > 0
    df = p * jnp.where(mixed, jnp.maximum(n - 2.0, 0.0), n - 1.0)
    rest = centered_chisquare_from(spare, df)
    pooled = (jnp.where(mixed, ratio, 0.0) + jnp.maximum(df + rest, 0.0) / p) / n
    return pooled, (jnp.where(mixed, excess, 0.0) + rest / p - 1.0) / n


def _divide_by_estimate(law: ScoreLaw, square: jax.Array, excess: jax.Array) -> ScoreLaw:
    """Return the law of the score divided by S = 1 + excess: mean / S, variance / S^2; NaN where S = 0."""
    square = jnp.where(square > 0, square, jnp.nan)
    return ScoreLaw(law.mean / square, (law.gap - law.mean * excess) / square**2)
