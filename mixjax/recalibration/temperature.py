r"""Temperature scaling: softmax(logits / T), with one number T for all classes; of two classes sigmoid(logit / T).

The negative log likelihood is convex in the inverse temperature,

    L(beta) = mean log sum_k exp(beta (z_k - z_y)),   L' = mean E_p[z_k - z_y],   L'' = mean Var_p[z_k],

and has a minimum with 0 < beta < infinity if and only if L'(0) < 0, that is if the logits of the labels are above the
average of their rows, and some label has not the largest logit. Both are decided from the data before anything is
iterated. A logit of the positive class is the pair (0, logit). Reference: C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger
(ICML 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_array, as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.newton import Expansion, minimize
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import CleanLogits, FitResult, LabeledLogits, raise_if_infinite
from mixjax.recalibration.likelihood import likelihood, margins_over_label, one_hot, softmax
from mixjax.typing import ArrayLike

_REASONS = (
    "there is no best temperature: in every row all logits are equal",
    "there is no best temperature: every label has the largest logit of its row, and the likelihood grows without end "
    "as the temperature goes to 0",
    "there is no best temperature: the logits of the labels are on average not above those of the other classes, and "
    "the likelihood grows without end as the temperature rises (are logits and labels of the same rows?)",
    "temperature scaling did not converge",
)


@pytree
@dataclass(frozen=True, eq=False)
class Temperature:
    """The map from logits to the probabilities softmax(logits / temperature), or of two classes sigmoid.

    Attributes:
      temperature: a scalar above 0; above 1 it lowers confidence.
      binary: True for logits of the positive class, static; False for logits of K classes.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.recalibration import Temperature
      >>> round(float(Temperature(jnp.array(2.0))([2.0, 0.0])[0]), 3)
      0.731
    """

    temperature: Float[Array, ""]
    binary: bool = field(default=False, metadata={"static": True})

    def __call__(self, logits: ArrayLike) -> Float[Array, "*batch"]:
        """Return probabilities, not logits, in the shape and dtype (float32 at least) of `logits`.

        Classes are along the last axis; binary logits give probabilities of the positive class. A logit of infinity
        raises ValueError, as does a row whose classes are all -inf; they are NaN under `jit`. Otherwise -inf is a
        probability of 0.
        """
        (logits,) = as_floats(logits=logits)
        if logits.ndim == 0 and not self.binary:
            raise ValueError("logits must have classes along the last axis, got one number")
        temperature = jnp.asarray(self.temperature, logits.dtype)
        return raise_if_infinite(logits, _apply(logits, temperature, binary=self.binary), classes=not self.binary)


def fit_temperature(
    logits: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Temperature:
    """Fit the temperature that makes held-out labels most likely.

    Args:
      logits: shape [N, K] or [..., K], K >= 2, below infinity; -inf is a class of probability 0, which may not be
        the label. Or [N], of the positive class of two, finite.
      labels: whole numbers in [0, K), of the shape of `logits` without its last axis; 0 or 1 for binary logits.
      weights, where: as in docs/conventions.md.

    Returns:
      A function of logits that returns probabilities, and a pytree. NaN as in `mixjax.recalibration`. The temperature
      has forward and reverse derivatives in the logits and the weights, by the implicit function theorem.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row; and if there is no best temperature: all
        logits of every row are equal, every label has the largest logit of its row (T -> 0), or the labels' logits are
        on average not above those of their rows (T -> infinity).
      TypeError: for wrong dtypes.
      RuntimeError: if the iteration does not converge, with the norm of the gradient.

    Accuracy: 1e-12 of the temperature in float64, 1e-5 in float32: tests/recalibration/test_temperature.py.
    Cost: about ten passes over the logits.

    Example:
      >>> from mixjax.recalibration import fit_temperature
      >>> logits, labels = [[0, 0], [0, 1], [0, 0], [2, 2], [2, 1], [1, 2]], [1, 0, 0, 1, 0, 1]
      >>> round(float(fit_temperature(logits, labels).temperature), 3)
      1.443
    """
    binary = as_array("logits", logits).ndim == 1
    rows = (LabeledLogits.binary if binary else LabeledLogits.of)(logits, labels, weights, where)
    (temperature,) = rows.raise_if_invalid(_fit(rows), _REASONS)
    return Temperature(temperature, binary)


@jitted(rows=True, static=("binary",))
def _apply(logits: jax.Array, temperature: jax.Array, binary: bool) -> jax.Array:
    if binary:
        return jnp.where(logits < jnp.inf, jax.nn.sigmoid(logits / temperature), jnp.nan)
    below = logits - lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))  # cannot overflow to infinity
    return softmax(below / temperature)


@jitted()
def _fit(rows: LabeledLogits) -> FitResult:
    clean = rows.clean().of_classes()
    is_label = one_hot(clean.labels, clean.logits.shape[1])
    counts = (clean.share > 0)[:, None] & clean.possible
    num_possible = jnp.sum(clean.possible, axis=-1, dtype=np.int32).astype(clean.share.dtype)
    margins = jnp.where(counts, margins_over_label(clean.logits, is_label), 0.0)
    largest = jnp.max(jnp.abs(margins), initial=0.0)
    equal, right = largest == 0, ~jnp.any(margins > 0)
    unit = jnp.where(equal, 1.0, largest)
    unit *= jnp.where(equal, 1.0, jnp.sqrt(total(clean.share * jnp.sum((margins / unit) ** 2, axis=-1) / num_possible)))
    unit = lax.stop_gradient(unit)  # the temperature does not depend on it
    margins /= unit
    worse = ~(total(clean.share * jnp.sum(margins, axis=-1) / num_possible) < 0)
    minimum = minimize(_expansion, clean.zeros(1), (margins, is_label, clean))
    failed = ~minimum.converged | ~(minimum.point[0] > 0)
    problems = (equal, right, worse, failed)
    return FitResult.of((unit / minimum.point[0],), problems, minimum.gradient_norm, clean.lost)


def _expansion(beta: jax.Array, margins: jax.Array, is_label: jax.Array, clean: CleanLogits) -> Expansion:
    """Return L, L' and L'' at beta."""
    loss, probs, _ = likelihood(beta[0] * margins, is_label, clean.possible)
    mean = jnp.sum(probs * margins, axis=-1, keepdims=True)
    variance = jnp.sum(probs * (margins - mean) ** 2, axis=-1)
    value, slope, curvature = (total(clean.share * row) for row in (loss, mean[:, 0], variance))
    return Expansion(value, slope[None], curvature[None, None])
