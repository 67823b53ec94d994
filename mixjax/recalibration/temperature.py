r"""Temperature scaling: one number T for all classes, softmax(logits / T).

The negative log likelihood is convex in the inverse temperature,

    L(beta) = mean log sum_k exp(beta (z_k - z_y)),   L' = mean E_p[z_k - z_y],   L'' = mean Var_p[z_k],

and has a minimum with 0 < beta < infinity if and only if L'(0) < 0, that is if the logits of the labels are above the
average of their rows, and some label has not the largest logit. Both are decided from the data before anything is
iterated. Reference: C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (ICML 2017).
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
from mixjax.numerics.newton import Expansion, minimise
from mixjax.recalibration.labeled import Clean, Fit, LabelledLogits, refuse_infinite
from mixjax.recalibration.likelihood import likelihood, one_hot, over_label

__all__ = ["Temperature", "fit_temperature"]

_REASONS = (
    "there is no best temperature: in every row all logits are equal",
    "there is no best temperature: every label has the largest logit of its row, and the likelihood grows without end "
    "as the temperature goes to 0",
    "there is no best temperature: the logits of the labels are on average not above those of the other classes, and "
    "the likelihood grows without end as the temperature rises (are logits and labels of the same rows?)",
    "temperature scaling did not converge",
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Temperature:
    """softmax(logits / temperature).

    Attributes:
      temperature: above 0, a scalar; above 1 it takes confidence away.
    """

    temperature: Float[Array, ""]

    def __call__(self, logits: ArrayLike) -> Float[Array, "*batch K"]:
        """Probabilities, of the shape and dtype of `logits` (float32 at least), classes along the last axis.

        Raises:
          ValueError: for a logit of infinity, which under `jit` gives NaN; -inf is a probability of 0.
        """
        (logits,) = as_floats(logits=logits)
        return refuse_infinite(logits, _apply(logits, jnp.asarray(self.temperature, logits.dtype)))


def fit_temperature(
    logits: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Temperature:
    """The temperature under which held-out labels are the most likely.

    Args:
      logits: finite, shape [N, K], K >= 2.
      labels: whole numbers in [0, K), shape [N].
      weights: of the rows, finite and not negative, shape [N]; a weight of 2 is the row twice.
      where: rows that count, boolean, shape [N]; the others may hold anything.

    Returns:
      A function of logits, and a pytree. Its temperature is NaN for NaN in a row that counts and where no row does;
      under `jit` and `vmap` also for what raises outside of them.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row; and if no temperature is the best: all
        logits are equal, every label has the largest logit of its row (T -> 0), or the labels' logits are not above
        the average of their rows (T -> infinity).
      TypeError: for wrong dtypes.
      RuntimeError: if the iteration does not converge, with the norm of the gradient.

    Accuracy: 1e-12 of the temperature in float64, 1e-5 in float32: tests/recalibration/test_temperature.py. About ten
    passes over the logits.
    """
    rows = LabelledLogits.of(logits, labels, weights, where)
    return Temperature(*rows.answer(_fit(rows), _REASONS))


@jax.jit
def _apply(logits: jax.Array, temperature: jax.Array) -> jax.Array:
    below = logits - lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))  # cannot overflow to infinity
    return jax.nn.softmax(below / temperature, axis=-1)


@jax.jit
def _fit(rows: LabelledLogits) -> Fit:
    clean = rows.clean()
    is_label = one_hot(clean.labels, clean.logits.shape[1])
    counts = (clean.share > 0)[:, None]
    margins = jnp.where(counts, over_label(clean.logits, is_label), 0.0)
    largest = jnp.max(jnp.abs(margins), initial=0.0)
    equal, right = largest == 0, ~jnp.any(margins > 0)
    unit = jnp.where(equal, 1.0, largest)
    unit *= jnp.where(equal, 1.0, jnp.sqrt(total(clean.share * jnp.mean((margins / unit) ** 2, axis=-1))))
    margins /= unit
    worse = ~(total(clean.share * jnp.mean(margins, axis=-1)) < 0)
    minimum = minimise(lambda beta: _expansion(beta, margins, is_label, clean), clean.start(1))
    failed = ~minimum.converged | ~(minimum.point[0] > 0)
    problems = (equal, right, worse, failed)
    return Fit.of((unit / minimum.point[0],), problems, minimum.gradient_norm, clean.lost)


def _expansion(beta: jax.Array, margins: jax.Array, is_label: jax.Array, clean: Clean) -> Expansion:
    """L, L' and L'' at beta, as above."""
    loss, probs, _ = likelihood(beta[0] * margins, is_label)
    mean = jnp.sum(probs * margins, axis=-1, keepdims=True)
    variance = jnp.sum(probs * (margins - mean) ** 2, axis=-1)
    value, slope, curvature = (total(clean.share * row) for row in (loss, mean[:, 0], variance))
    return Expansion(value, slope[None], curvature[None, None])
