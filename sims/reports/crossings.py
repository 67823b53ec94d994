"""The point at which a curve changes its sign, in words."""

from __future__ import annotations

import numpy as np


def last_crossing(x: np.ndarray, values: np.ndarray) -> str:
    """Return where values, on a logarithmic axis, go below 0 for good."""
    above = np.flatnonzero(values >= 0)
    if len(above) == 0 or above[-1] == len(x) - 1:
        return "everywhere" if len(above) == 0 else "nowhere"
    first = above[-1]
    share = values[first] / (values[first] - values[first + 1])
    return f"{np.exp(np.log(x[first]) * (1 - share) + np.log(x[first + 1]) * share):.3g}"
