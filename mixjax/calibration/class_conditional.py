"""The calibration error of the predicted class, given which class that is.

Errors of rows that predict one class do not cancel those of rows that predict another. C. Gupta, A. Ramdas, "Top-label
calibration and multiclass-to-binary reductions" (ICLR 2022, arXiv:2107.08353).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.calibration.binned import error_of
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, BinSums, Closed, NumBins, bin_sums
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_norm
from mixjax.typing import ArrayLike


def class_conditional_ece(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    norm: float = 1,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return the ECE of the predicted class over the cells of (predicted class, bin), weighted by their rows.

    It estimates :math:`E\,|P(Y = c(X) \mid c(X), f(X)) - f(X)|`, where c is the predicted class and f its probability;
    `top_label_ece` does not condition on c, and is at most as large (except with equal-mass bins, which are made class
    by class here). With K classes a cell has fewer rows, so noise adds more bias.

    Args, Returns, Raises: as `top_label_ece`.

    Example:
      >>> from mixjax import top_label_ece
      >>> from mixjax.calibration import class_conditional_ece
      >>> probs, labels = [[0.75, 0.25], [0.25, 0.75]], [0, 0]
      >>> round(float(class_conditional_ece(probs, labels)), 3), round(float(top_label_ece(probs, labels)), 3)
      (0.5, 0.25)
    """
    check_norm(norm)
    predictions = Predictions.of(probs, labels, weights, where)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(predictions.probs))
    return predictions.raise_if_invalid(_class_conditional_ece(predictions, bins, float(norm)))


@jitted(static=("bins", "norm"))
def _class_conditional_ece(predictions: Predictions, bins: Bins, norm: float) -> jax.Array:
    rows = predictions.top_label().in_units()
    predicted = jnp.argmax(predictions.probs, axis=-1).astype(np.int32)

    def of_class(k: jax.Array) -> BinSums:
        here = rows._replace(where=predicted == k if rows.where is None else rows.where & (predicted == k))
        return jax.tree.map(lambda total: total.astype(rows.confidence.dtype) * here.unit, bin_sums(here, bins))

    sums = jax.vmap(of_class)(jnp.arange(predictions.probs.shape[1], dtype=np.int32))
    return error_of(BinSums(sums.mass.ravel(), sums.residual.ravel(), jnp.sum(sums.total)), norm)
