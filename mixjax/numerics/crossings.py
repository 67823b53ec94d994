"""Where a curve that is known at points passes through 0."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["crossings"]


def crossings(
    x: Float[np.ndarray, " points"], values: Float[np.ndarray, " points"]
) -> tuple[Float[np.ndarray, " found"], Bool[np.ndarray, " found"]]:
    """Return where values pass through 0, interpolated linearly between points, and whether they fall there.

    Args:
      x: positions of the points, in order; their logarithms for a curve over a logarithmic axis.
      values: of the curve at the points. Points at which either is NaN or infinite are left out.

    Returns:
      The positions, in order. For each, True where the values fall from above 0 to 0 or below, and False where they
      rise to above 0.

    Example:
      >>> import numpy as np
      >>> from mixjax.numerics.crossings import crossings
      >>> crossings(np.array([0.0, 1.0, 2.0]), np.array([3.0, -1.0, 1.0]))
      (array([0.75, 1.5 ]), array([ True, False]))
    """
    x, values = np.asarray(x, np.float64), np.asarray(values, np.float64)
    finite = np.isfinite(x) & np.isfinite(values)
    x, values = x[finite], values[finite]
    above = values > 0
    k = np.flatnonzero(above[:-1] != above[1:])
    largest = np.maximum(abs(values[k]), abs(values[k + 1]))
    before, after = values[k] / largest, values[k + 1] / largest  # so that their difference is finite and not 0
    share = before / (before - after)
    return x[k] + share * (x[k + 1] - x[k]), above[k]
