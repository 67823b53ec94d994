"""An estimate with its standard error."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float


class Estimate(NamedTuple):
    """An estimate from draws or rows, and its standard error, of one shape.

    Attributes:
      value: the estimate.
      standard_error: standard deviation of `value` over repetitions.
    """

    value: Float[Array, "*batch"]
    standard_error: Float[Array, "*batch"]
