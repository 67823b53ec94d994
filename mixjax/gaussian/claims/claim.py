"""A theorem as a signed number of a training set, and sizes that follow a sample size."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from mixjax.gaussian.law import ScoreLaw
from mixjax.typing import ArrayLike, Real

LARGEST_WEIGHT = 0.499  # a Beta law reaches weights below 1/2; this is alpha = beta = 249.5

Error = Callable[[ScoreLaw], jax.Array]
Values = Float[Array, "sizes replicates"]
Flags = Bool[np.ndarray, "sizes"]


class Rate(NamedTuple):
    """A quantity that follows the sample size, factor * n^power: the regime of a theorem.

    Attributes:
      factor: >= 0.
      power: any; 0 for a constant, 1 for a size in proportion to n.

    Example:
      >>> from mixjax.gaussian.claims import Rate
      >>> p = Rate(1.0, 0.5)  # the square root of n
      >>> str(p), p.whole([100, 1000]).tolist(), p.per_size.limit
      ('n^0.5', [10.0, 32.0], 0.0)
    """

    factor: Real
    power: Real = 0.0

    def at(self, n: ArrayLike) -> np.ndarray:
        """Return the value at each sample size."""
        return np.asarray(self.factor * np.asarray(n, np.float64) ** self.power)

    def whole(self, n: ArrayLike) -> np.ndarray:
        """Return the nearest whole number, at least 1, at each sample size."""
        return np.asarray(np.maximum(1.0, np.rint(self.at(n))))

    @property
    def per_size(self) -> Rate:
        """The rate of its ratio to n."""
        return Rate(self.factor, self.power - 1.0)

    @property
    def limit(self) -> float:
        """The limit as n grows: 0, the factor, or inf."""
        if self.factor == 0 or self.power < 0:
            return 0.0
        return float(self.factor) if self.power == 0 else np.inf

    def __str__(self) -> str:
        power = "n" if self.power == 1 else f"n^{self.power:g}"
        if self.power == 0 or self.factor == 0:
            return f"{self.factor:g}"
        return power if self.factor == 1 else f"{self.factor:g} {power}"


def rate(value: Real | Rate) -> Rate:
    """Return a rate, constant where a number is given."""
    return value if isinstance(value, Rate) else Rate(float(value))


def _always_exact(n: ArrayLike, **_: Real | Rate) -> Flags:
    return np.ones(np.asarray(n).shape, bool)


class Claim(NamedTuple):
    """A theorem as a measurement; its functions take a configuration's numbers and rates by name.

    Attributes:
      theorem: its number in the paper.
      statement: what the paper says, with its own quantifiers.
      tested: what is measured of it.
      value: (key, n, replicates, **configuration) -> a signed number of each training set, shape [len(n), replicates];
        negative where the statement is true of it. `n` is a sequence of whole numbers.
      limit: the limit of `value` as n grows; 0 where both sides tend to the same.
      stated: whether a configuration satisfies the hypothesis in the words of the paper.
      met: whether it satisfies what must be added too.
      condition: what must be added to the hypothesis; empty if nothing is.
      reading: how the quantifiers are read, and what another reading would change.
      favorable: what is true under the reading that is most favorable to the authors, where it is more.
      special: the special case that is tested, if it is not the whole theorem.
      exact: (n, **configuration) -> whether the law that is drawn is exact, at each size.

    Example:
      >>> from mixjax.gaussian.claims import CLAIMS, Rate
      >>> CLAIMS["3.1"].limit(p=Rate(0.5, 1), theta_norm=1.0) < 0  # some Mixup helps
      True
      >>> CLAIMS["4.3"].met(p=Rate(12, 1), theta_norm=2.0, n_u=Rate(100, 1))  # so many pseudo-labels overshoot
      False
    """

    theorem: str
    statement: str
    tested: str
    value: Callable[..., Values]
    limit: Callable[..., float]
    stated: Callable[..., bool]
    met: Callable[..., bool] = lambda **_: True
    condition: str = ""
    reading: str = ""
    favorable: str = ""
    special: str = ""
    exact: Callable[..., Flags] = _always_exact
