r"""Isotonic regression by pool-adjacent-violators, and the decomposition of the Brier score that follows from it.

With the isotonic fit xhat of correctness on confidence, S(x) = mean (x - y)^2 and the mean ybar of y,

    S(f) = MCB - DSC + UNC,    MCB = S(f) - S(xhat),  DSC = S(ybar) - S(xhat),  UNC = S(ybar),

miscalibration, discrimination and uncertainty; none is negative, and nothing was binned by choice. Reference:
T. Dimitriadis, T. Gneiting, A. I. Jordan (PNAS 2021), "CORP".

The blocks of the fit are the edges of the lower convex hull of (weight, number correct), summed in the order of
confidence; a stack goes along it once, after the sort. Its corners are found exactly where rows have no weights.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import Ties, sorted_rows
from mixjax.calibration.rows.sums import Prefix, mean, over, prefix_sums, product_less
from mixjax.numerics.arguments import as_array
from mixjax.numerics.meshes import jitted, reshaped
from mixjax.typing import ArrayLike


class BrierDecomposition(NamedTuple):
    """The Brier score and its parts: score = miscalibration - discrimination + uncertainty.

    Example:
      >>> from mixjax import brier_decomposition
      >>> [round(float(part), 3) for part in brier_decomposition([0.9, 0.6], [1, 0])]
      [0.185, 0.185, 0.25, 0.25]
    """

    score: Float[Array, ""]
    miscalibration: Float[Array, ""]
    discrimination: Float[Array, ""]
    uncertainty: Float[Array, ""]


def brier_decomposition(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> BrierDecomposition:
    """Return the Brier score mean (confidence - correct)^2 and its three parts (CORP).

    Args:
      confidence, correct, weights, where: shape [N], as for `ece`, with the same errors.

    Returns:
      (score, miscalibration, discrimination, uncertainty), each in [0, 1]; each part is summed by itself, so they add
      up to within rounding. NaN without rows. Gradients are exact: the fit is optimal, so its own change does not
      matter.

    Example:
      >>> from mixjax import brier_decomposition
      >>> round(float(brier_decomposition([0.9, 0.6], [1, 0]).score), 3)
      0.185
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_brier_decomposition(rows))


def isotonic_regression(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, "..."]:
    r"""Return the non-decreasing function of confidence that is nearest to correctness in (weighted) least squares.

    Args:
      confidence, correct, weights, where: as for `brier_decomposition`.

    Returns:
      Its value at each row, in the shape of `confidence`, in [0, 1]; equal confidences have equal values, and rows that
      do not count have the value 0. All NaN if a row that counts has NaN, or if all rows that count have weight 0.

    Raises: as `ece`.

    Example:
      >>> from mixjax.calibration import isotonic_regression
      >>> isotonic_regression([0.9, 0.6], [0, 1]).tolist()
      [0.5, 0.5]
    """
    rows = Rows.of(confidence, correct, weights, where)
    return reshaped(rows.raise_if_invalid(_isotonic_regression(rows)), as_array("confidence", confidence).shape)


@jitted()
def _brier_decomposition(rows: Rows) -> BrierDecomposition:
    rows = sorted_rows(rows.clean())
    fitted = isotonic_fit(rows).per_row
    f, y, counted = rows.confidence, rows.correct, rows.counted
    score, base = mean((f - y) ** 2, counted), mean(y, counted)
    poison = 0.0 * score  # a NaN that is counted is in all parts
    return BrierDecomposition(
        score,
        jnp.maximum(mean((f - fitted) * (f + fitted - 2 * y), counted), 0.0),
        jnp.maximum(mean((base - fitted) * (base + fitted - 2 * y), counted), 0.0) + poison,
        base * (1.0 - base) + poison,
    )


@jitted(rows=True)
def _isotonic_regression(rows: Rows) -> jax.Array:
    rows = rows.clean()
    ordered = sorted_rows(rows)
    function = isotonic_fit(ordered)
    index = jnp.searchsorted(function.thresholds, rows.confidence, side="right") - 1
    values = function.values[jnp.maximum(index, 0)] + 0.0 * jnp.sum(rows.confidence)
    return values if rows.where is None else jnp.where(rows.where, values, 0.0)


class IsotonicFit(NamedTuple):
    """A step function: `values[j]` from the confidence `thresholds[j]` on, and its value at each sorted row."""

    thresholds: Float[Array, " N"]
    values: Float[Array, " N"]
    per_row: Float[Array, " N"]


def isotonic_fit(ordered: Rows) -> IsotonicFit:
    """Return the isotonic fit of sorted rows; unused entries of the step function have the threshold inf."""
    size, dtype = len(ordered.confidence), ordered.confidence.dtype
    if not size:
        return IsotonicFit(ordered.confidence, ordered.confidence, ordered.confidence)
    ties = Ties.of(ordered)
    diagram = _Diagram.of(lax.stop_gradient(ordered))
    points, last = ties.first, ties.num_groups
    if ordered.weights is not None:
        points, last = _with_mass(points, last, diagram)
    pruned = lax.platform_dependent(points, last, diagram, cpu=lambda points, last, _: (points, last), default=_pruned)
    corners = _hull(pruned[0], pruned[1], diagram)
    start, end = corners[:-1], corners[1:]
    rise, run = diagram.correct_over(start, end).astype(dtype), diagram.mass_over(start, end).astype(dtype)
    values = jnp.where(start < end, jnp.clip(rise / jnp.where(start < end, run, 1.0), 0.0, 1.0), 0.0)
    thresholds = jnp.where(start < end, ordered.confidence[jnp.minimum(start, size - 1)], jnp.inf)
    begins = jnp.zeros(size + 1, np.int32).at[start].max((start < end).astype(np.int32))
    return IsotonicFit(thresholds, values, values[jnp.cumsum(begins[:-1], dtype=np.int32) - 1])


class _Diagram(NamedTuple):
    """Sums over any run of sorted rows, exact counts where rows have no weights."""

    correct: Prefix
    mass: Prefix | None

    @classmethod
    def of(cls, ordered: Rows) -> _Diagram:
        right = ordered.correct == 1
        if ordered.weights is None:
            return cls(prefix_sums(right.astype(np.int32)), None)
        return cls(prefix_sums(jnp.where(right, ordered.weights, 0.0)), prefix_sums(ordered.weights))

    def correct_over(self, start: jax.Array, end: jax.Array) -> jax.Array:
        return over(self.correct, start, end)

    def mass_over(self, start: jax.Array, end: jax.Array) -> jax.Array:
        return end - start if self.mass is None else over(self.mass, start, end)

    def turns_up(self, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        """Return whether rows a to b are correct less often than rows b to c: otherwise they are pooled."""
        left, right = self.correct_over(a, b), self.correct_over(b, c)
        before, after = self.mass_over(a, b), self.mass_over(b, c)
        if self.mass is None:
            return product_less(left, after, right, before)
        return left / before < right / after  # products of small weights would vanish


def _hull(points: jax.Array, last: jax.Array, diagram: _Diagram) -> jax.Array:
    """Return the corners among ascending points[0..last], filled up with the last: A. M. Andrew's monotone chain."""

    def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        stack, top, j = state
        point = points[j]
        pool = (top > 0) & ~diagram.turns_up(stack[jnp.maximum(top - 1, 0)], stack[top], point)
        top = jnp.where(pool, top - 1, top + 1)
        return stack.at[top].set(jnp.where(pool, stack[top], point)), top, j + (~pool).astype(np.int32)

    none = 0 * last  # of the device, in `shard_map`, as the points are
    stack, top, _ = lax.while_loop(lambda s: s[2] <= last, step, (jnp.zeros_like(points), none, none + 1))
    return jnp.where(lax.iota(np.int32, len(points)) <= top, stack, points[last])


def _with_mass(points: jax.Array, last: jax.Array, diagram: _Diagram) -> tuple[jax.Array, jax.Array]:
    """Return the points with mass before and behind them: rows of weight 0 belong to the block they are in."""
    end = jnp.append(points[1:], points[-1:])
    between = (diagram.mass_over(points[:1], points) > 0) & (diagram.mass_over(points, end) > 0)
    return _only(between, points, last)


def _only(kept: jax.Array, points: jax.Array, last: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the points that are kept, and both ends, filled up with the last, and the new index of the last."""
    index = lax.iota(np.int32, len(points))
    kept = (kept & (index < last)) | (index == 0) | (index == last)
    target = jnp.where(kept, jnp.cumsum(kept, dtype=np.int32) - 1, len(points))
    fewer = jnp.full(len(points), points[last]).at[target].set(points, mode="drop")
    return fewer, jnp.sum(kept, dtype=np.int32) - 1


def _pruned(points: jax.Array, last: jax.Array, diagram: _Diagram) -> tuple[jax.Array, jax.Array]:
    """Drop all points that do not turn up at once, as long as these are many: the hull is the same.

    The stack takes points one by one, which is slow where there are thousands of lanes.
    """

    def prune(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        points, last, _ = state
        up = diagram.turns_up(jnp.roll(points, 1), points, jnp.append(points[1:], points[-1:]))
        fewer, left = _only(up, points, last)
        return fewer, left, last - left

    return lax.while_loop(lambda s: s[2] * 256 > len(points), prune, (points, last, last))[:2]
