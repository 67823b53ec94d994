r"""Vector scaling: softmax(scale * logits + bias), with a scale and a bias for each class.

The negative log likelihood is convex in the 2K parameters, and flat only along equal biases, which are made to sum to
0. Unlike temperature scaling, vector scaling changes with a constant that is added to the logits row by row (the biases
absorb one for all rows): pass `jax.nn.log_softmax(logits)` where that matters.

Reference: C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (ICML 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.newton import Expansion, minimize, standardized
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import CleanLogits, FitResult, LabeledLogits, raise_if_infinite
from mixjax.recalibration.likelihood import likelihood, margins_over_label, one_hot, softmax
from mixjax.typing import ArrayLike

_REASONS = (
    "vector scaling has no best fit: a class has no rows, and its bias goes to minus infinity",
    "vector scaling has no single best fit: the logits of a class are all equal, so that its scale has no effect",
    "vector scaling did not converge: the labels can be told apart without error, so that the best parameters are "
    "infinite, or the logits of the classes determine each other, so that many are the best; a temperature has one "
    "parameter only",
)


@pytree
@dataclass(frozen=True, eq=False)
class VectorScaling:
    """The map softmax(scale * logits + bias).

    Attributes:
      scale, bias: one for each class, shape [K]; fitted biases sum to 0.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.recalibration import VectorScaling
      >>> round(float(VectorScaling(scale=jnp.array([0.5, 1.0]), bias=jnp.array([1.0, -1.0]))([2.0, 1.0])[0]), 3)
      0.881
    """

    scale: Float[Array, " K"]
    bias: Float[Array, " K"]

    def __call__(self, logits: ArrayLike) -> Float[Array, "*batch K"]:
        """Return probabilities in the shape and dtype (float32 at least) of `logits`, classes along the last axis.

        A last axis other than K raises ValueError. So do a logit of infinity and a row of -inf, which are NaN under
        `jit`.
        """
        (logits,) = as_floats(logits=logits)
        if logits.ndim == 0 or logits.shape[-1:] != self.scale.shape:
            raise ValueError(f"logits must have {self.scale.shape[0]} classes along the last axis, got {logits.shape}")
        scale, bias = (jnp.asarray(value, logits.dtype) for value in (self.scale, self.bias))
        return raise_if_infinite(logits, _apply(logits, scale, bias), classes=True)


def fit_vector_scaling(
    logits: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> VectorScaling:
    """Fit the scales and biases that make held-out labels most likely.

    Args:
      logits: shape [N, K] or [..., K], K >= 2, below infinity; -inf is a class of probability 0, which may not be
        the label.
      labels: whole numbers in [0, K), of the shape of `logits` without its last axis; each class must occur, except
        those of probability 0 in every row, which keep the scale 1.
      weights, where: as in docs/conventions.md.

    Returns:
      A function of logits, and a pytree. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row; if a class has no rows, or equal logits.
      TypeError: for wrong dtypes.
      RuntimeError: if the iteration does not converge, with the norm of the gradient: for labels that can be told
        apart without error, or logits of two classes that always sum to the same.

    Accuracy: 2e-5 of the probabilities in float32; in float64 the mean residual of each class, which is 0 at a
    minimum, is below 1e-13: tests/recalibration/test_vector.py.
    Cost: about ten iterations of N (2K)^2 multiplications.

    Example:
      >>> from mixjax.recalibration import fit_vector_scaling
      >>> logits, labels = [[0, 0], [0, 1], [0, 0], [2, 2], [2, 1], [1, 2]], [1, 0, 0, 1, 0, 1]
      >>> [round(float(scale), 2) for scale in fit_vector_scaling(logits, labels).scale]
      [0.42, 1.42]
    """
    rows = LabeledLogits.of(logits, labels, weights, where)
    return VectorScaling(*rows.raise_if_invalid(_fit(rows), _REASONS))


@jitted(rows=True)
def _apply(logits: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    def over_rows(parameter: jax.Array) -> jax.Array:
        return parameter.reshape((1,) * (logits.ndim - 1) + parameter.shape)

    scaled = over_rows(scale) * logits + over_rows(bias)
    return softmax(jnp.where(logits == -jnp.inf, logits, scaled))


@jitted()
def _fit(rows: LabeledLogits) -> FitResult:
    clean = rows.clean()
    num_classes = clean.logits.shape[1]
    is_label = one_hot(clean.labels, num_classes)
    counts = (clean.share > 0)[:, None]
    occurs, possible = (jnp.any(counts & classes, axis=0) for classes in (is_label, clean.possible))
    features = standardized(clean.logits, clean.share[:, None] * clean.possible.astype(clean.share.dtype))
    minimum = minimize(_expansion, clean.zeros(2 * num_classes), (features.values, is_label, clean, possible))
    scale = jnp.where(possible, minimum.point[:num_classes] / features.scale, 1.0)
    bias = minimum.point[num_classes:] - scale * features.shift
    bias = jnp.where(possible, bias, 0.0)
    num_possible = jnp.sum(possible, dtype=np.int32).astype(bias.dtype)
    bias = jnp.where(possible, bias - jnp.sum(bias) / num_possible, 0.0)
    problems = (jnp.any(possible & ~occurs), jnp.any(possible & features.constant), ~minimum.converged)
    return FitResult.of((scale, bias), problems, minimum.gradient_norm, clean.lost)


def _expansion(
    point: jax.Array, features: jax.Array, is_label: jax.Array, clean: CleanLogits, possible: jax.Array
) -> Expansion:
    """Return the mean loss, and its derivatives in (scales, biases); those of an impossible class stay at 0."""
    scale, bias = point.reshape(2, 1, -1)
    margins = margins_over_label(scale * features + bias, is_label)
    loss, probs, residual = likelihood(margins, is_label, clean.possible)
    rows = clean.share[:, None]
    gradient = jnp.concatenate([total(rows * residual * features), total(rows * residual)])
    still = jnp.diag(jnp.tile(~possible, 2).astype(point.dtype))
    return Expansion(total(clean.share * loss), gradient, _hessian(probs, residual, features, rows) + still)


def _hessian(probs: jax.Array, residual: jax.Array, features: jax.Array, rows: jax.Array) -> jax.Array:
    """Return mean (p_j [j = k] - p_j p_k) (x_j, 1) (x_k, 1)' of classes j and k, with a curvature for equal biases."""
    num_classes = features.shape[1]
    weighted = jnp.concatenate([features * probs, probs], axis=1)
    products = -jnp.matmul((rows * weighted).T, weighted, precision=lax.Precision.HIGHEST)
    own = rows * probs * jnp.where(residual < 0, -residual, 1.0 - probs)  # p (1 - p), with its digits for p near 1
    square, cross, last = total(own * features**2), total(own * features), total(own)
    same = jnp.tile(jnp.eye(num_classes, dtype=bool), (2, 2))
    diagonals = jnp.block([[jnp.diag(square), jnp.diag(cross)], [jnp.diag(cross), jnp.diag(last)]])
    hessian = jnp.where(same, diagonals, products)
    return hessian.at[num_classes:, num_classes:].add(jnp.mean(last) / num_classes)
