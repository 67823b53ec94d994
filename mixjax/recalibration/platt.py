r"""Platt scaling of a binary score: s(scale * logit + bias), s the logistic function.

Platt fits to softened targets, (N_1 + 1) / (N_1 + 2) for the N_1 positives and 1 / (N_0 + 2) for the N_0 negatives, by
the rule of succession. These have a minimum also where the classes are separated; the targets 0 and 1 have one if and
only if the ranges of the logits of the two classes overlap.

Reference: J. Platt, "Probabilistic outputs for support vector machines" (1999); H.-T. Lin, C.-J. Lin, R. C. Weng
(Machine Learning 68, 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.newton import Expansion, minimize, standardized
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import CleanLogits, FitResult, LabeledLogits, raise_if_infinite
from mixjax.typing import ArrayLike

_REASONS = (
    "Platt scaling has no best fit: all logits are equal",
    "Platt scaling has no best fit: a threshold on the logits separates the labels 0 and 1, or there is one of them "
    "only (smoothing=True has a best fit)",
    "Platt scaling did not converge",
)


@pytree
@dataclass(frozen=True, eq=False)
class Platt:
    """The map sigmoid(scale * logits + bias).

    Attributes:
      scale, bias: scalars.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.recalibration import Platt
      >>> round(float(Platt(scale=jnp.array(0.5), bias=jnp.array(-1.0))(0.0)), 3)
      0.269
    """

    scale: Float[Array, ""]
    bias: Float[Array, ""]

    def __call__(self, logits: ArrayLike) -> Float[Array, "*batch"]:
        """Return probabilities of the positive class in the shape and dtype (float32 at least) of `logits`.

        A logit of infinity raises ValueError, and is NaN under `jit`.
        """
        (logits,) = as_floats(logits=logits)
        scale, bias = (jnp.asarray(value, logits.dtype) for value in (self.scale, self.bias))
        return raise_if_infinite(logits, _apply(logits, scale, bias))


def fit_platt(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    smoothing: bool = True,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Platt:
    """Fit the scale and the bias that make held-out labels most likely.

    Args:
      logits: of the positive class (or any score), finite, shape [N].
      labels: 0 or 1, shape [N].
      smoothing: True for Platt's targets; False fits to 0 and 1, the maximum of the likelihood. Static.
      weights, where: as in docs/conventions.md. The targets depend on the number of rows. Weighted rows count as
        (sum w)^2 / sum w^2 rows, which is their number if all weights are equal.

    Returns:
      A function of logits, and a pytree. Its scale is negative if higher logits go with the label 0. NaN as in
      `mixjax.recalibration`.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row; if all logits are equal; without
        smoothing if a threshold separates the labels, or there is one of them only.
      TypeError: for wrong dtypes.
      RuntimeError: if the iteration does not converge, with the norm of the gradient.

    Accuracy: 1e-9 of the logits in float64, 2e-5 in float32, of logits near 0: tests/recalibration/test_platt.py. The
    bias of logits far from 0 is rounded in their dtype, by 6e-8 |scale * mean logit| in float32: subtract their mean.

    Example:
      >>> from mixjax.recalibration import fit_platt
      >>> fitted = fit_platt([-1.0, 0.0, 1.0, 2.0], [0, 1, 0, 1])
      >>> f"{fitted.scale:.3f} {fitted.bias:.3f}"
      '0.411 -0.206'
    """
    if not isinstance(smoothing, bool):
        raise TypeError(f"smoothing must be a bool, got {type(smoothing).__name__}")
    rows = LabeledLogits.binary(logits, labels, weights, where)
    return Platt(*rows.raise_if_invalid(fit_line(rows, smoothing), _REASONS))


@jitted(rows=True)
def _apply(logits: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    return jnp.where(logits < jnp.inf, jax.nn.sigmoid(scale * logits + bias), jnp.nan)


@jitted(static=("smoothing",))
def fit_line(rows: LabeledLogits, smoothing: bool) -> FitResult:
    """Return the scale and the bias, and why there are none."""
    clean = rows.clean()
    target = _targets(clean) if smoothing else clean.labels.astype(clean.logits.dtype)
    score = standardized(clean.logits, clean.share)
    separated = jnp.zeros((), bool) if smoothing else _separated(clean)
    columns = jnp.stack([score.values, jnp.ones_like(score.values)])
    minimum = minimize(expansion, clean.zeros(2), (columns, target, clean.share))
    scale = minimum.point[0] / score.scale
    problems = (score.constant, separated, ~minimum.converged)
    return FitResult.of((scale, minimum.point[1] - scale * score.shift), problems, minimum.gradient_norm, clean.lost)


def _targets(clean: CleanLogits) -> jax.Array:
    """Return Platt's targets, for as many rows as the weights are worth, (sum w)^2 / sum w^2 (Kish 1965)."""
    rows = 1.0 / total(clean.share**2)
    positive, negative = (rows * total(jnp.where(clean.labels == label, clean.share, 0.0)) for label in (1, 0))
    return jnp.where(clean.labels == 1, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))


def _separated(clean: CleanLogits) -> jax.Array:
    """Return whether no logit of one class is strictly inside the range of the other's."""

    def logit_range(label: int) -> tuple[jax.Array, jax.Array]:
        here = (clean.labels == label) & (clean.share > 0)
        low = jnp.min(jnp.where(here, clean.logits, jnp.inf), initial=jnp.inf)
        return low, jnp.max(jnp.where(here, clean.logits, -jnp.inf), initial=-jnp.inf)

    (low, high), (other_low, other_high) = logit_range(0), logit_range(1)
    return (high <= other_low) | (other_high <= low)


def expansion(point: jax.Array, columns: Float[Array, "P N"], target: jax.Array, share: jax.Array) -> Expansion:
    """Return the mean cross-entropy of the targets under sigmoid(sum_j point_j columns_j), and its derivatives."""
    logits = jnp.sum(point[:, None] * columns, axis=0)
    one, zero = jax.nn.sigmoid(logits), jax.nn.sigmoid(-logits)
    loss = target * jax.nn.softplus(-logits) + (1.0 - target) * jax.nn.softplus(logits)
    residual = (1.0 - target) * one - target * zero  # one - target, also where they are close
    spread = one * zero
    gradient = [total(share * residual * column) for column in columns]
    products = {
        (j, k): total(share * spread * columns[j] * columns[k]) for k in range(len(columns)) for j in range(k + 1)
    }
    hessian = [[products[min(j, k), max(j, k)] for j in range(len(columns))] for k in range(len(columns))]
    return Expansion(total(share * loss), jnp.stack(gradient), jnp.stack([jnp.stack(row) for row in hessian]))
