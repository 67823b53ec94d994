"""Learn h_hat by the paper's criterion, as a leaky-ReLU network in Flax.

Paper: Section 3.4, h_hat = argmin_h max_k W(h(x) | y = k, N(k theta*, I)) with theta* = 1_p / sqrt(p). W is the sliced
Wasserstein distance to the target's known quantiles, a fifth of it along theta*, the only direction in which the
classes differ; `python -m benchmarks distances` compares it with others (docs/generative.md). The criterion matches
laws, so that h_hat is an inverse of g up to maps that keep both, such as rotations about theta*, to which scores are
blind.

The loss has kinks: those of the activation, of the sort and of the larger of two classes. In float32 a change in the
last digit of one number sooner or later moves a row across one of them, and the training ends at another network, a few
per cent away and no worse (docs/generative.md). In float64 that does not happen: the same change is 1e-15 at the end.

The paper's "the choice of theta* will not impact the training" is wrong: no map makes two classes easier to tell apart,
and an invertible one not harder. The criterion can be 0 for an inverse of g only if |theta*| is that of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PRNGKeyArray

from mixjax.generative.network import LeakyReluNetwork
from mixjax.generative.start import affine_network, affine_start
from mixjax.generative.wasserstein import class_distances
from mixjax.numerics.arguments import POSITIVE, as_floats, check_scalars, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.random import normal
from mixjax.typing import ArrayLike, Real

if TYPE_CHECKING:
    from flax import nnx


def learn_inverse(
    key: PRNGKeyArray,
    x: ArrayLike,
    y: ArrayLike,
    *,
    theta: ArrayLike,
    width: int = 64,
    num_hidden: int = 2,
    slope: Real = 0.3,
    num_steps: int = 1000,
    batch_size: int = 256,
    learning_rate: Real = 3e-3,
) -> LeakyReluNetwork:
    """Learn h_hat from rows x = g(z) and their labels, by Adam with a cosine schedule from `affine_start`.

    Args:
      key: used once.
      x: rows, shape [m, d].
      y: labels -1 and +1, shape [m].
      theta: theta*, the target mean of class +1, shape [p]; `gaussian.class_mean(p, 1)` in the paper.
      width, num_hidden: of the network's hidden layers; width even, 2p or more.
      slope: of its activation, > 0.
      num_steps: steps of Adam.
      batch_size: rows of each class in a step, drawn with replacement; m // 2 if that is less.
      learning_rate: at the first step; 0 at the last.

    Returns:
      h_hat, from d to p dimensions, in float64 where JAX has that enabled and x, y or theta have it, or else in
      float32. Training has the same precision.

    Raises:
      ImportError: without flax and optax: pip install 'mixjax[generative]'.
      ValueError: for shapes, sizes, rows or labels that do not fit, d < p, and as `affine_start`.

    Example:
      >>> import jax, numpy as np
      >>> from mixjax.generative import learn_inverse
      >>> x, y = np.random.default_rng(0).normal(size=(20, 2)), np.tile([-1.0, 1.0], 10)
      >>> learn_inverse(jax.random.key(0), x, y, theta=[1.0], width=2, num_hidden=1, num_steps=1)(x).shape
      (20, 1)
    """
    rows, labels, target, dtype = _checked_data(x, y, theta)
    for name, size in (("num_steps", num_steps), ("batch_size", batch_size), ("num_hidden", num_hidden)):
        check_size(name, size)
    check_size("width", width, least=2 * target.size)
    if width % 2:
        raise ValueError(f"width must be even, got {width}")
    rules = {"learning_rate": POSITIVE, "slope": POSITIVE}
    numbers = checked(rules, learning_rate=learning_rate, slope=slope)
    check_scalars(**dict(zip(rules, numbers, strict=True)))
    train = _training(num_steps, min(batch_size, len(rows) // 2), learning_rate)
    key_start, key_training = jax.random.split(single(key))
    center, scale = rows.mean(axis=0), max(rows.std(axis=0).max(), np.finfo(dtype).tiny)
    rows = (rows - center) / scale  # so that a step means the same whatever the units of x
    affine = affine_start(rows, labels, target)
    start = affine_network(key_start, affine, width=width, num_hidden=num_hidden, slope=slope, dtype=dtype)
    by_class = jnp.asarray(rows[np.argsort(labels, kind="stable")], dtype)
    lower = jnp.int32(np.sum(labels < 0))
    with jax.numpy_dtype_promotion("standard"):  # Adam promotes its count of steps
        learned = train(key_training, start, by_class, lower, jnp.asarray(target, dtype))
    first = learned.matrices[0] / jnp.asarray(scale, dtype)
    shift = learned.biases[0] - first @ jnp.asarray(center, dtype)
    return LeakyReluNetwork((first, *learned.matrices[1:]), (shift, *learned.biases[1:]), learned.slope)


def _checked_data(*given: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.dtype]:
    """Return rows, labels and theta on the host, and the precision of the training, or raise ValueError."""
    arrays = as_floats(**dict(zip(("x", "y", "theta"), given, strict=True)))
    x, y, theta = (np.asarray(values, np.float64) for values in arrays)
    if x.ndim != 2 or y.shape != x.shape[:1] or theta.ndim != 1 or not theta.size:
        raise ValueError(f"x, y, theta must have shapes [m, d], [m] and [p], got {x.shape}, {y.shape}, {theta.shape}")
    if x.shape[1] < theta.size:
        raise ValueError(f"d must be at least p, got d = {x.shape[1]} and p = {theta.size}")
    if not (np.isfinite(x).all() and np.isfinite(theta).all()):
        raise ValueError("x and theta must be finite")
    if wrong := [label for label in np.unique(y) if label not in (-1, 1)]:
        raise ValueError(f"y must be -1 or +1, got {wrong[0]:g}")
    if min(np.sum(y < 0), np.sum(y > 0)) < 2:
        raise ValueError(f"each class must have two rows or more, got {np.sum(y < 0)} of -1 and {np.sum(y > 0)} of +1")
    return x, y, theta, arrays[0].dtype


@lru_cache
def _training(num_steps: int, batch_size: int, learning_rate: Real) -> Callable[..., LeakyReluNetwork]:
    """Return (key, start, rows, lower, theta) -> the trained network; the first `lower` rows are those of class -1."""
    try:
        import optax
        from flax import nnx
    except ImportError:
        raise ImportError("learn_inverse needs flax and optax: pip install 'mixjax[generative]'") from None
    optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, num_steps))

    @jax.jit
    def train(
        key: PRNGKeyArray, start: LeakyReluNetwork, rows: jax.Array, lower: jax.Array, theta: jax.Array
    ) -> LeakyReluNetwork:
        graph, weights = nnx.split(_layers_of(start))

        def loss(weights: Any, key: PRNGKeyArray) -> jax.Array:
            key_slices, key_lower, key_upper = jax.random.split(key, 3)
            first = jax.random.randint(key_lower, (batch_size,), 0, lower)
            second = jax.random.randint(key_upper, (batch_size,), lower, len(rows))
            outputs = _network_of(nnx.merge(graph, weights), start.slope)(rows[jnp.concatenate([first, second])])
            slices = jnp.linalg.qr(normal(key_slices, (len(theta), len(theta)), theta.dtype))[0].T
            return jnp.max(class_distances(outputs[:batch_size], outputs[batch_size:], theta, slices))

        def step(state: tuple[Any, Any], key: PRNGKeyArray) -> tuple[tuple[Any, Any], None]:
            weights, moments = state
            updates, moments = optimizer.update(jax.grad(loss)(weights, key), moments)
            return (optax.apply_updates(weights, updates), moments), None

        (weights, _), _ = lax.scan(step, (weights, optimizer.init(weights)), jax.random.split(key, num_steps))
        return _network_of(nnx.merge(graph, weights), start.slope)

    return train


def _layers_of(network: LeakyReluNetwork) -> nnx.List:
    """Copy the affine layers into modules of Flax."""
    from flax import nnx

    def layer(matrix: jax.Array, bias: jax.Array) -> nnx.Linear:
        made = nnx.Linear(matrix.shape[1], matrix.shape[0], rngs=nnx.Rngs(0))
        made.kernel, made.bias = nnx.Param(matrix.T), nnx.Param(bias)
        return made

    return nnx.List(map(layer, network.matrices, network.biases))


def _network_of(layers: nnx.List, slope: jax.Array) -> LeakyReluNetwork:
    matrices = tuple(layer.kernel[...].T for layer in layers)
    return LeakyReluNetwork(matrices, tuple(layer.bias[...] for layer in layers), slope)
