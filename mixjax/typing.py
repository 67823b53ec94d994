"""Types of the arguments of public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax.typing
import numpy as np
import numpy.typing

__all__ = ["ArrayLike", "Real", "SupportsArray"]


@runtime_checkable
class SupportsArray(Protocol):
    """An object that NumPy makes an array of: a column of pandas or polars, a tensor of PyTorch on a CPU."""

    def __array__(self) -> np.typing.NDArray[Any]:
        """Return the values."""


_Number: TypeAlias = bool | int | float | np.bool_ | np.number[Any] | SupportsArray
_List: TypeAlias = Sequence[_Number] | Sequence[Sequence[_Number]] | Sequence[Sequence[Sequence[_Number]]]

ArrayLike: TypeAlias = jax.typing.ArrayLike | SupportsArray | _List

Real: TypeAlias = int | float  # type checkers take an int for a float; checks at run time do not
