"""Scores of classifiers on features h_hat(x), by literal simulation of x = g(z), which keeps only sums over bins.

Paper: Section 3.4 and the proof of Theorem 3.5. A classifier theta_hat has the score v = theta_hat' h_hat(g(z)) and
claims P(y = +1) = s(2v). A test draw has z ~ N(y theta, I) with y = +1 and -1 in turn. It counts not with y but with
P(y = +1 | z) = s(2 theta'z), which has the same mean given v and less noise.

The bins are those of u = v / |theta_hat|, equal in width for s(a u): about as many draws each, and 0 is an edge. Draws
come in 16 batches, which are spread over the local devices without exchange; a draw depends on the key and its own
number only, and so do the sums, to rounding, on any number of devices.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.numerics.arguments import as_floats
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import Source, Words, key_words, single
from mixjax.random import normals
from mixjax.typing import ArrayLike

_BATCHES = 16
_BLOCK = 4096  # draws at a time: what stays in a core's cache
_MOST_BLOCKS = 64  # at a time, on an accelerator


@runtime_checkable
class Map(Protocol):
    """A pytree that maps rows: `LeakyReluNetwork` or `CouplingFlow`."""

    def __call__(self, rows: jax.Array, /) -> jax.Array:
        """Map each row."""

    def scores(self, rows: jax.Array, classifiers: jax.Array, /) -> jax.Array:
        """Return <classifier, output>."""

    def inverse(self) -> Map:
        """Return the inverse."""


class ScoreBins(NamedTuple):
    """Sums over test draws, for each batch, classifier and bin of u. A pytree.

    Attributes:
      draws: number of draws.
      posterior: sum of P(y = +1 | z).
      residual: sum of P(y = +1 | z) - s(2v).
      edges: of u, the infinite ends included, shape [bins + 1].

    Example:
      >>> from mixjax.generative import ScoreBins
      >>> ScoreBins._fields
      ('draws', 'posterior', 'residual', 'edges')
    """

    draws: Float[Array, "batches classifiers bins"]
    posterior: Float[Array, "batches classifiers bins"]
    residual: Float[Array, "batches classifiers bins"]
    edges: Float[Array, " edges"]


def simulate_scores(
    key: PRNGKeyArray,
    generator: Map,
    inverse: Map,
    classifiers: ArrayLike,
    theta: ArrayLike,
    *,
    num_draws: int = 1 << 20,
    num_bins: int = 64,
) -> ScoreBins:
    """Simulate the scores of some classifiers on the same test draws.

    Args:
      key: used once.
      generator, inverse: g, from p to d, and h_hat, from d to p.
      classifiers: theta_hat of each, shape [classifiers, p].
      theta: mean of z given y = +1, shape [p].
      num_draws: least number of draws of z, rounded up to a multiple of 65,536; static.
      num_bins: even, so that 0 is an edge; static.

    Returns:
      Sums for `simulated_ece` and `density_error`. NaN for a classifier that is 0.

    Raises:
      ValueError: for shapes that do not fit, an odd number of bins, or 2^31 draws and more.

    Classifiers, theta and the maps' arrays are data: changing them does not recompile.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax.generative import linear_generator, simulate_scores
      >>> g, theta = linear_generator([[2.0]]), jnp.ones(1)
      >>> float(simulate_scores(jax.random.key(0), g, g.inverse(), theta[None], theta, num_draws=1).draws.sum())
      65536.0
    """
    check_size("num_draws", num_draws)
    check_size("num_bins", num_bins, least=2)
    classifiers, theta = as_floats(classifiers=classifiers, theta=theta)
    if num_bins % 2:
        raise ValueError(f"num_bins must be even, got {num_bins}")
    if theta.ndim != 1 or classifiers.ndim != 2 or classifiers.shape[1:] != theta.shape or not classifiers.size:
        shapes = f"{classifiers.shape} and {theta.shape}"
        raise ValueError(f"classifiers and theta must have shapes [classifiers, p] and [p], got {shapes}")
    blocks = -(-num_draws // (_BATCHES * _BLOCK))
    options = {"blocks": blocks, "together": _together(blocks), "num_bins": num_bins, "mesh": _mesh()}
    return _simulate(single(key), (generator, inverse), classifiers, theta, **options)


def _together(blocks: int) -> int:
    """Return how many blocks are drawn at a time: a divisor of `blocks`, so that every draw is in exactly one batch."""
    most = 1 if jax.default_backend() == "cpu" else min(blocks, _MOST_BLOCKS)
    return next(size for size in range(most, 0, -1) if blocks % size == 0)


def _mesh() -> Mesh:
    """Return a mesh of as many local devices as divide the batches."""
    devices = jax.local_devices()
    return Mesh(np.array(devices[: math.gcd(_BATCHES, 1 << (len(devices).bit_length() - 1))]), ("batches",))


@partial(jax.jit, static_argnames=("blocks", "together", "num_bins", "mesh"))
def _simulate(
    key: PRNGKeyArray,
    maps: tuple[Map, Map],
    classifiers: jax.Array,
    theta: jax.Array,
    *,
    blocks: int,
    together: int,
    num_bins: int,
    mesh: Mesh,
) -> ScoreBins:
    norms = jnp.linalg.norm(classifiers, axis=1)
    sharpness = 1.702 / jnp.sqrt(1.0 + theta @ theta)  # s(a u) is next to the law of u ~ N(0, 1 + theta^2)
    sharpness = sharpness.astype(theta.dtype)

    def batch(number: jax.Array, words: Words, maps: tuple[Map, Map], *arrays: Any) -> jax.Array:
        def step(sums: jax.Array, turn: jax.Array) -> tuple[jax.Array, None]:
            first = (number * np.uint32(blocks) + turn * np.uint32(together)) * np.uint32(_BLOCK)
            index = first + lax.iota(np.uint32, together * _BLOCK)
            return sums + _block_sums(words, index, maps, *arrays, num_bins=num_bins), None

        start = jnp.zeros((3, len(classifiers), num_bins), theta.dtype)
        return lax.scan(step, start, lax.iota(np.uint32, blocks // together))[0]

    def share(numbers: jax.Array, *rest: Any) -> jax.Array:
        return lax.map(lambda number: batch(number, *rest), numbers)

    here, everywhere = PartitionSpec("batches"), PartitionSpec()
    spread = jax.shard_map(share, mesh=mesh, in_specs=(here, *[everywhere] * 5), out_specs=here, check_vma=False)
    rates = sharpness / norms
    sums = spread(lax.iota(np.uint32, _BATCHES), key_words(key), maps, classifiers, theta, rates)
    inner = np.arange(1, num_bins) / num_bins
    edges = jnp.asarray(np.concatenate([[-np.inf], np.log(inner / (1 - inner)), [np.inf]]), theta.dtype) / sharpness
    return ScoreBins(sums[:, 0], sums[:, 1], sums[:, 2], edges)


def _block_sums(
    words: Words,
    index: jax.Array,
    maps: tuple[Map, Map],
    classifiers: jax.Array,
    theta: jax.Array,
    rates: jax.Array,
    *,
    num_bins: int,
) -> jax.Array:
    """Return sums over the draws of these numbers, shape [3, classifiers, bins]; `rates` takes a score to a u."""
    generator, inverse = maps
    rows = _draw(words, index, theta)
    scores = inverse.scores(generator(rows), classifiers)
    posterior = jnp.broadcast_to(jax.nn.sigmoid(2.0 * (rows @ theta))[:, None], scores.shape)
    bins = jnp.floor(num_bins * jax.nn.sigmoid(scores * rates[None])).astype(np.int32)
    bins = jnp.clip(bins, 0, num_bins - 1) + num_bins * lax.iota(np.int32, len(classifiers))[None]
    values = (jnp.ones_like(scores), posterior, posterior - jax.nn.sigmoid(2.0 * scores))
    empty = jnp.zeros(len(classifiers) * num_bins, theta.dtype)
    sums = [empty.at[bins.ravel()].add(value.ravel()) for value in values]
    nan_for_none = 0.0 * rates[None, :, None]  # the rate of a classifier that is 0 is infinite
    return jnp.stack(sums).reshape(3, len(classifiers), num_bins) + nan_for_none


def _draw(words: Words, index: jax.Array, theta: jax.Array) -> jax.Array:
    """Draw z by its numbers, shape [draws, p]: y = +1 for even ones, -1 for odd ones.

    In a loop of one turn, without which XLA would draw the noise again for each of its uses.
    """
    half = (len(theta) + 1) // 2
    source = Source(words, jnp.broadcast_to(index[None], (half, len(index))))
    stream = lax.iota(np.uint32, half)[:, None]
    labels = 1 - 2 * (index & np.uint32(1)).astype(np.int32)

    def draw(_: object) -> tuple[jax.Array, jax.Array]:
        noise = jnp.concatenate(normals(source, stream, theta.dtype))[: len(theta)]
        return jnp.array(False), noise + theta[:, None] * labels.astype(theta.dtype)[None]

    start = (index[0] < np.uint32(2**32 - 1), jnp.zeros((len(theta), len(index)), theta.dtype))
    return lax.while_loop(lambda state: state[0], draw, start)[1].T
