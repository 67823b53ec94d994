"""Where a curve passes through 0, in words."""

from __future__ import annotations

import numpy as np

from mixjax.numerics.crossings import crossings


def last_crossing(x: np.ndarray, values: np.ndarray) -> str:
    """Return where values, on a logarithmic axis, go below 0 for good, in words.

    That is "nowhere" if the last is not below 0, "everywhere" if all are, and "unknown" if the last is NaN or infinite.
    """
    if not np.isfinite(values[-1]):
        return "unknown"
    if values[-1] >= 0:
        return "nowhere"
    found, falls = crossings(np.log(x), -values)
    return "everywhere" if falls.all() else f"{np.exp(found[~falls][-1]):.3g}"
