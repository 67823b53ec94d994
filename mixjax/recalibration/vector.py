r"""Vector scaling: a scale and a bias for each class, softmax(scale * logits + bias).

The negative log likelihood is convex in the 2K parameters, and flat only along equal biases, which are made to sum
to 0. Its Hessian is a product of [N, 2K] matrices: an iteration costs N (2K)^2 multiplications, and there are about
ten. Unlike temperature scaling it changes with a constant that is added to the logits row by row (one for all rows
is absorbed by the biases): give it `jax.nn.log_softmax(logits)` where that matters.

Reference: C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (ICML 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.newton import Expansion, minimise, standardized
from mixjax.recalibration.labeled import Fit, LabelledLogits, refuse_infinite
from mixjax.recalibration.likelihood import likelihood, one_hot, over_label

__all__ = ["VectorScaling", "fit_vector_scaling"]

_FAN = 64  # rows that are added one after another
_REASONS = (
    "vector scaling has no best fit: a class has no rows, and its bias goes to minus infinity",
    "vector scaling has no single best fit: the logits of a class are all equal, so that its scale has no effect",
    "vector scaling did not converge: the labels can be told apart without error, so that the best parameters are "
    "infinite, or the logits of the classes determine each other, so that many are the best; a temperature has one "
    "parameter only",
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class VectorScaling:
    """softmax(scale * logits + bias).

    Attributes:
      scale, bias: one of each class; the biases sum to 0.
    """

    scale: Float[Array, " K"]
    bias: Float[Array, " K"]

    def __call__(self, logits: ArrayLike) -> Float[Array, "*batch K"]:
        """Probabilities, of the shape and dtype of `logits` (float32 at least), classes along the last axis.

        Raises:
          ValueError: if the last axis of `logits` is not K; for a logit of infinity, which under `jit` gives NaN.
        """
        (logits,) = as_floats(logits=logits)
        if logits.ndim == 0 or logits.shape[-1:] != self.scale.shape:
            raise ValueError(f"logits must have {self.scale.shape[0]} classes along the last axis, got {logits.shape}")
        scale, bias = (jnp.asarray(value, logits.dtype) for value in (self.scale, self.bias))
        return refuse_infinite(logits, _apply(logits, scale, bias))


def fit_vector_scaling(
    logits: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> VectorScaling:
    """The scales and biases under which held-out labels are the most likely.

    Args:
      logits: finite, shape [N, K], K >= 2.
      labels: whole numbers in [0, K), shape [N]; each class has to occur.
      weights: of the rows, finite and not negative, shape [N]; a weight of 2 is the row twice.
      where: rows that count, boolean, shape [N]; the others may hold anything.

    Returns:
      A function of logits, and a pytree. NaN for NaN in a row that counts and where no row does; under `jit` and
      `vmap` also for what raises outside of them.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row; if a class has no rows, or equal logits.
      TypeError: for wrong dtypes.
      RuntimeError: if the iteration does not converge, with the norm of the gradient: as for labels that can be told
        apart without error, or logits of two classes that always sum to the same.

    Accuracy: 2e-5 of the probabilities in float32; in float64 the mean residual of each class, which is 0 in a
    minimum, is below 1e-13: tests/recalibration/test_vector.py.
    """
    rows = LabelledLogits.of(logits, labels, weights, where)
    return VectorScaling(*rows.answer(_fit(rows), _REASONS))


@jax.jit
def _apply(logits: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    def over_rows(parameter: jax.Array) -> jax.Array:
        return parameter.reshape((1,) * (logits.ndim - 1) + parameter.shape)

    return jax.nn.softmax(over_rows(scale) * logits + over_rows(bias), axis=-1)


@jax.jit
def _fit(rows: LabelledLogits) -> Fit:
    clean = rows.clean()
    num_classes = clean.logits.shape[1]
    is_label = one_hot(clean.labels, num_classes)
    occurs = jnp.any(is_label & (clean.share > 0)[:, None], axis=0)
    features = standardized(clean.logits, clean.share)
    minimum = minimise(
        lambda point: _expansion(point, features.values, is_label, clean.share),
        clean.start(2 * num_classes),
    )
    scale = minimum.point[:num_classes] / features.scale
    bias = minimum.point[num_classes:] - scale * features.shift
    problems = (~jnp.all(occurs), jnp.any(features.constant), ~minimum.converged)
    return Fit.of((scale, bias - jnp.mean(bias)), problems, minimum.gradient_norm, clean.lost)


def _expansion(point: jax.Array, features: jax.Array, is_label: jax.Array, share: jax.Array) -> Expansion:
    """The mean loss, and its derivatives in (scales, biases)."""
    scale, bias = point.reshape(2, 1, -1)
    loss, probs, residual = likelihood(over_label(scale * features + bias, is_label), is_label)
    rows = share[:, None]
    gradient = jnp.concatenate([_sums(rows * residual * features), _sums(rows * residual)])
    return Expansion(total(share * loss), gradient, _hessian(probs, residual, features, rows))


def _hessian(probs: jax.Array, residual: jax.Array, features: jax.Array, rows: jax.Array) -> jax.Array:
    """Of classes j and k: mean (p_j [j = k] - p_j p_k) (x_j, 1) (x_k, 1)'; equal biases are given a curvature too."""
    num_classes = features.shape[1]
    weighted = jnp.concatenate([features * probs, probs], axis=1)
    products = -jnp.matmul((rows * weighted).T, weighted, precision=lax.Precision.HIGHEST)
    own = rows * probs * jnp.where(residual < 0, -residual, 1.0 - probs)  # p (1 - p), with its digits for p near 1
    square, cross, last = _sums(own * features**2), _sums(own * features), _sums(own)
    same = jnp.tile(jnp.eye(num_classes, dtype=bool), (2, 2))
    diagonals = jnp.block([[jnp.diag(square), jnp.diag(cross)], [jnp.diag(cross), jnp.diag(last)]])
    hessian = jnp.where(same, diagonals, products)
    return hessian.at[num_classes:, num_classes:].add(jnp.mean(last) / num_classes)


def _sums(values: Float[Array, "N K"]) -> Float[Array, " K"]:
    """Over rows, in a tree as `total`."""
    while len(values) > _FAN:
        padded = jnp.pad(values, ((0, -len(values) % _FAN), (0, 0)))
        values = jnp.sum(padded.reshape(_FAN, -1, values.shape[1]), axis=0)
    return jnp.sum(values, axis=0)
