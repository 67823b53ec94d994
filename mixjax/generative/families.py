"""Random generators of the three families, each injective by construction and as curved as its arguments set.

Paper: Definition 3.2 leaves g open. Matrices have the singular values of a given condition number, in geometric
progression around 1, between random orthogonal frames, so that no draw is close to one that is not injective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.generative.coupling import CouplingFlow, coupling_generator
from mixjax.generative.network import LeakyReluNetwork, check_chain, leaky_relu_generator
from mixjax.numerics.arguments import NOT_NEGATIVE, Rule, check_scalars, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.random import normal
from mixjax.typing import ArrayLike

_ONE_OR_MORE = Rule("1 or more, and finite", lambda v: (v >= 1) & (v < math.inf))


def sample_linear(key: PRNGKeyArray, *, p: int, d: int, condition: ArrayLike = 4.0) -> LeakyReluNetwork:
    """Draw g(z) = A z.

    Args:
      key: used once.
      p, d: dimensions of z and x, p <= d; static.
      condition: as for `sample_leaky_relu`.

    Example:
      >>> import jax
      >>> from mixjax.generative import sample_linear
      >>> round(float(sample_linear(jax.random.key(0), p=2, d=3, condition=4.0).lipschitz_bound()), 3)
      2.0
    """
    return sample_leaky_relu(key, widths=(p, d), condition=condition)


def sample_leaky_relu(
    key: PRNGKeyArray,
    *,
    widths: Sequence[int],
    slope: ArrayLike = 0.3,
    condition: ArrayLike = 2.0,
    bias_scale: ArrayLike = 0.5,
) -> LeakyReluNetwork:
    """Draw a network that expands, layer by layer.

    Args:
      key: used once.
      widths: (p, ..., d), none smaller than the one before; static.
      slope: of the activation below 0, > 0; without effect for one layer.
      condition: condition number of each matrix, >= 1.
      bias_scale: standard deviation of the biases of hidden layers, >= 0: it spreads the kinks.

    Raises:
      ValueError: for widths that decrease (d < p), and arrays in place of numbers.

    Example:
      >>> import jax
      >>> from mixjax.generative import sample_leaky_relu
      >>> network, z = sample_leaky_relu(jax.random.key(0), widths=(2, 3)), jax.numpy.ones((1, 2))
      >>> network.inverse()(network(z)).round(3).tolist()
      [[1.0, 1.0]]
    """
    for width in widths:
        check_size("widths", width)
    condition, bias_scale = checked(
        {"condition": _ONE_OR_MORE, "bias_scale": NOT_NEGATIVE}, condition=condition, bias_scale=bias_scale
    )
    check_scalars(condition=condition, bias_scale=bias_scale)
    shapes = tuple(zip(widths[1:], widths[:-1], strict=True))
    check_chain(shapes)
    keys = jax.random.split(single(key), 2 * len(shapes)).reshape(-1, 2)
    return leaky_relu_generator(*_layers(keys, shapes, condition, bias_scale), slope=slope)


@partial(jax.jit, static_argnums=1)
def _layers(
    keys: jax.Array, shapes: tuple[tuple[int, int], ...], condition: jax.Array, bias_scale: jax.Array
) -> tuple[list[jax.Array], list[jax.Array]]:
    """Draw the matrix and the bias of each layer; the last has none."""
    matrices = [_conditioned(k[0], shape, condition) for k, shape in zip(keys, shapes, strict=True)]
    biases = [bias_scale * normal(k[1], shape[:1], bias_scale.dtype) for k, shape in zip(keys, shapes, strict=True)]
    biases[-1] = jnp.zeros_like(biases[-1])
    return matrices, biases


def _conditioned(key: PRNGKeyArray, shape: tuple[int, int], condition: jax.Array) -> Float[Array, "out in"]:
    """Draw a matrix with singular values from condition^-1/2 to condition^1/2."""
    key_left, key_right = jax.random.split(key)
    sides = ((key_left, shape[0]), (key_right, shape[1]))
    left, right = (jnp.linalg.qr(normal(k, (size, shape[1]), condition.dtype))[0] for k, size in sides)
    powers = jnp.linspace(-0.5, 0.5, shape[1], dtype=condition.dtype) if shape[1] > 1 else jnp.zeros(1, condition.dtype)
    return (left * (condition**powers)[None]) @ right.T


def sample_coupling(
    key: PRNGKeyArray,
    *,
    p: int,
    num_layers: int = 4,
    width: int = 16,
    max_log_scale: ArrayLike = 0.5,
    shift_scale: ArrayLike = 1.0,
) -> CouplingFlow:
    """Draw a flow with random permutations and features.

    Args:
      key: used once.
      p: dimension, 2 or more; static.
      num_layers, width: numbers of layers and of features a layer; static.
      max_log_scale: the largest |r|, >= 0, the log-scale of a coordinate in a layer.
      shift_scale: scale of t, >= 0.

    Raises:
      ValueError: for sizes, and arrays in place of numbers.

    Example:
      >>> import jax
      >>> from mixjax.generative import sample_coupling
      >>> sample_coupling(jax.random.key(0), p=2, num_layers=1).features.shape
      (1, 16, 1)
    """
    check_size("p", p, least=2)
    check_size("num_layers", num_layers)
    check_size("width", width)
    rules = dict.fromkeys(("max_log_scale", "shift_scale"), NOT_NEGATIVE)
    max_log_scale, shift_scale = checked(rules, max_log_scale=max_log_scale, shift_scale=shift_scale)
    check_scalars(max_log_scale=max_log_scale, shift_scale=shift_scale)
    key_order, key_features, key_scales, key_shifts = jax.random.split(single(key), 4)
    order = jax.vmap(lambda k: jax.random.permutation(k, p))(jax.random.split(key_order, num_layers))
    half, dtype = p // 2, max_log_scale.dtype
    features = normal(key_features, (num_layers, width, half), dtype) / math.sqrt(half)
    scales, shifts = (
        normal(k, (num_layers, p - half, width), dtype) / math.sqrt(width) for k in (key_scales, key_shifts)
    )
    return coupling_generator(order, features, scales, shift_scale * shifts, max_log_scale=max_log_scale)
