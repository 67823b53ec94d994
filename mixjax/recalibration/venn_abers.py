r"""Venn-Abers prediction: isotonic regression with the new row in it, once as a wrong one and once as a right one.

Of a new confidence s, p0 is the isotonic fit at s to the held-out rows and (s, 0), p1 that to the rows and (s, 1). If
all rows are exchangeable, one of the two is calibrated, whatever the confidences mean. Where one number is needed,
p = p1 / (1 - p0 + p1) has the least regret in logarithmic loss.

Both are step functions with steps at the confidences of the rows. In the diagram of corp.py, whose points are (rows,
right rows) up to the i-th confidence, a right row more at confidence i shifts the points before it by (-1, -1) against
the others, and p1 is the slope of the bridge between the convex hulls of both parts,

    p1_i = max_{j < i} min_{k >= i} (right rows from j to k + 1) / (rows from j to k + 1).

From each confidence to the next the bridge moves to the right, so that one stack of corners finds all bridges after
the sort, in a number of steps that is linear in the rows. p0 is the same with right and wrong, and left and right,
exchanged.

Reference: V. Vovk, I. Petej, V. Fedorova, "Large-scale probabilistic predictors with and without guarantees of
validity" (NeurIPS 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows, as_shares
from mixjax.calibration.rows.order import Ties, sorted_rows
from mixjax.calibration.rows.sums import over, prefix_sums, product_less, total
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import raise_if_outside
from mixjax.typing import ArrayLike


@pytree
@dataclass(frozen=True, eq=False)
class VennAbers:
    """The map p1 / (1 - p0 + p1), and the two step functions p0 and p1, which do not fall.

    Attributes:
      thresholds: the different confidences of the rows, ascending, shape [N]. Unused entries come last and are inf.
      lower: p0 of a confidence that j thresholds are at or below, shape [N + 1].
      upper: p1 of a confidence that j thresholds are below, shape [N + 1].

    Example:
      >>> from mixjax.recalibration import fit_venn_abers
      >>> print(fit_venn_abers([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]).thresholds)
      [0.2 0.4 0.6 0.8]
    """

    thresholds: Float[Array, " N"]
    lower: Float[Array, " N+1"]
    upper: Float[Array, " N+1"]

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Return calibrated confidences in the shape and dtype (float32 at least) of `confidence`.

        A confidence outside [0, 1] raises ValueError, and is NaN under `jit`.
        """
        p0, p1 = self.bounds(confidence)
        return p1 / (1.0 - p0 + p1)

    def bounds(self, confidence: ArrayLike) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
        """Return p0 and p1, of which p0 is not the larger, with the same errors."""
        (confidence,) = as_floats(confidence=confidence)
        functions = tuple(jnp.asarray(part, confidence.dtype) for part in (self.thresholds, self.lower, self.upper))
        p0, p1 = _apply(confidence, functions)
        return raise_if_outside(confidence, p0), p1


def fit_venn_abers(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> VennAbers:
    """Fit the inductive Venn-Abers predictor of held-out rows.

    Args:
      confidence: in [0, 1], shape [N]; of a binary classifier the probability of the positive class.
      correct: 0 or 1 (or boolean), shape [N].
      weights, where: as in docs/conventions.md. The new row is one against the number of rows: weighted ones are worth
        (sum w)^2 / sum w^2 of them, as for `fit_platt`.

    Returns:
      A function of confidences, and a pytree. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError, TypeError: as `ece`.

    Accuracy: without weights fractions of counts, exact to rounding; with weights 2e-6 in float32:
    tests/recalibration/test_venn_abers.py.
    Cost: a sort, and two loops along the rows.

    Example:
      >>> from mixjax.recalibration import fit_venn_abers
      >>> fitted = fit_venn_abers([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
      >>> print([round(float(bound), 3) for bound in (*fitted.bounds(0.5), fitted(0.5))])
      [0.333, 0.667, 0.5]
    """
    rows = Rows.of(confidence, correct, weights, where)
    return VennAbers(*rows.raise_if_invalid(_fit(rows)))


@jitted(rows=True)
def _apply(confidence: jax.Array, functions: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
    thresholds, lower, upper = functions
    confidence = as_shares(confidence)
    p0 = lower[jnp.searchsorted(thresholds, confidence, side="right")]
    p1 = upper[jnp.searchsorted(thresholds, confidence, side="left")]
    missing = jnp.isnan(confidence)
    return jnp.where(missing, jnp.nan, p0), jnp.where(missing, jnp.nan, p1)


@jitted()
def _fit(rows: Rows) -> tuple[jax.Array, jax.Array, jax.Array]:
    rows = rows.clean()
    size, dtype = len(rows.confidence), rows.confidence.dtype
    if not size:
        return rows.confidence, jnp.full(1, jnp.nan, dtype), jnp.full(1, jnp.nan, dtype)
    sound = jnp.any(rows.counted > 0) & ~jnp.any(jnp.isnan(rows.confidence))
    ordered = sorted_rows(lax.stop_gradient(rows))
    ties = Ties.of(ordered)
    diagram = _Diagram.of(ordered, ties)
    exists = lax.iota(np.int32, size) < ties.num_groups
    thresholds = jnp.where(exists, ordered.confidence[jnp.minimum(ties.first[:-1], size - 1)], jnp.inf)
    rise, run = _bridges(diagram)
    p1 = rise.astype(dtype) / run.astype(dtype)
    rise, run = _bridges(diagram.exchanged())
    turned = jnp.maximum(ties.num_groups - 1 - lax.iota(np.int32, size), 0)
    p0 = ((run - rise).astype(dtype) / run.astype(dtype))[turned]
    lower = jnp.append(jnp.zeros(1, dtype), jnp.where(exists, p0, 0.0))
    upper = jnp.append(jnp.where(exists, p1, 1.0), jnp.ones(1, dtype))
    return thresholds, jnp.where(sound, lower, jnp.nan), jnp.where(sound, upper, jnp.nan)


class _Diagram(NamedTuple):
    """The points (rows, right rows) up to each different confidence, shape [N + 1]; the last one is repeated.

    Without weights they are whole numbers, and corners are found exactly.
    """

    rows: jax.Array
    right: jax.Array
    last: jax.Array

    @classmethod
    def of(cls, ordered: Rows, ties: Ties) -> _Diagram:
        right = (ordered.correct == 1).astype(ordered.counted.dtype)
        counted = ordered.counted
        if ordered.weights is not None:
            counted = counted * (total(counted) / total(counted**2))
        both = (prefix_sums(counted), prefix_sums(right * counted))
        rows, right = (over(prefix, jnp.zeros_like(ties.first), ties.first) for prefix in both)
        return cls(rows, right, ties.num_groups)

    def exchanged(self) -> _Diagram:
        """Return the diagram of 1 - confidence and of wrong rows."""
        turned = jnp.maximum(self.last - lax.iota(np.int32, len(self.rows)), 0)
        wrong = self.rows - self.right
        return _Diagram(self.rows[-1] - self.rows[turned], wrong[-1] - wrong[turned], self.last)


class _Search(NamedTuple):
    """A stack of corners with its last two, which are the ends of the bridge, and the bridges that were found.

    The two are kept beside the stack, which is read after it is written only: otherwise XLA copies it in each step.
    """

    stack: jax.Array
    top: jax.Array
    left: jax.Array
    right: jax.Array
    turn: jax.Array  # how many points it has taken
    rise: jax.Array
    run: jax.Array


def _bridges(diagram: _Diagram) -> tuple[jax.Array, jax.Array]:
    """Return the rise and the run of the bridge at each confidence, whose quotient is p1.

    Corners are numbered as the points are, and those of the part that is shifted from N + 1 on. The stack takes the
    points from the last to the second, whose hull it then is, and after them the shifted ones from the first on.
    """
    size, last = len(diagram.rows), diagram.last
    x, y = jnp.append(diagram.rows, diagram.rows - 1), jnp.append(diagram.right, diagram.right - 1)

    def steeper(a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array) -> jax.Array:
        return product_less(y[b] - y[a], x[d] - x[c], y[d] - y[c], x[b] - x[a])

    def step(search: _Search) -> _Search:
        stack, top, left, right, turn, rise, run = search
        point = jnp.where(turn < last, last - turn, size + turn - last)
        shifted = left >= size
        stays = shifted & ~steeper(left, point, left, right)  # the point is not below the bridge
        drop = ~stays & (shifted | ((top > 0) & ~steeper(point, left, left, right)))
        push = ~stays & ~drop
        top = top + push.astype(np.int32) - drop.astype(np.int32)
        stack = stack.at[jnp.where(push, top, size)].set(point, mode="drop")
        left = jnp.where(drop, right, jnp.where(push, point, left))
        right = stack[jnp.maximum(top - 1, 0)]
        target = jnp.where(drop | (turn < last), size, turn - last)
        rise = rise.at[target].set(y[right] - y[left], mode="drop")
        run = run.at[target].set(x[right] - x[left], mode="drop")
        return _Search(stack, top, left, right, turn + (~drop).astype(np.int32), rise, run)

    none = jnp.zeros_like(diagram.rows[:-1])
    stack = jnp.zeros_like(diagram.rows, np.int32).at[0].set(last)
    search = _Search(stack, 0 * last, last, last, 0 * last + 1, none, none + 1)
    end = lax.while_loop(lambda search: search.turn < 2 * last, step, search)
    return end.rise, end.run
