"""A theorem as a signed number of a training set."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw

LARGEST_WEIGHT = 0.499  # a Beta law reaches weights below 1/2; this is alpha = beta = 249.5

Error = Callable[[ScoreLaw], jax.Array]
Values = Float[Array, "sizes replicates"]


class Claim(NamedTuple):
    """A theorem as a measurement, whose functions take a configuration's numbers by name.

    Attributes:
      theorem: its number in the paper.
      statement: what it says.
      value: (key, n, replicates, **configuration) -> a signed number of each training set, shape [len(n), replicates];
        negative where the statement is true of it. `n` is a sequence of whole numbers.
      limit: the limit of `value` as n grows.
      stated: whether a configuration satisfies the hypothesis of the paper.
      met: whether it satisfies the condition too.
      condition: what the statement omits and the measurement shows to be needed; empty if nothing is.

    Example:
      >>> from mixjax.gaussian.claims import CLAIMS
      >>> CLAIMS["3.1"].limit(ratio=0.5, theta_norm=1.0) < 0  # some Mixup helps
      True
      >>> CLAIMS["4.3"].met(ratio=12.0, theta_norm=2.0, per_label=100.0)  # the condition that 4.3 omits
      False
    """

    theorem: str
    statement: str
    value: Callable[..., Values]
    limit: Callable[..., float]
    stated: Callable[..., bool]
    met: Callable[..., bool] = lambda **_: True
    condition: str = ""


def dimension(n: ArrayLike, ratio: float) -> np.ndarray:
    """Return p = max(1, round(ratio n))."""
    return np.maximum(1.0, np.rint(ratio * np.asarray(n, np.float64))).astype(np.float32)
