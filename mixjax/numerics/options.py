"""Options of public functions, which are static: numbers, sizes and names, known where a program is compiled."""

from __future__ import annotations

from typing import Any, get_args

import jax
import numpy as np

from mixjax.typing import Real


def check_option(name: str, value: object, options: Any) -> None:
    """Raise ValueError unless a value is one of a `Literal`."""
    if value not in get_args(options):
        raise ValueError(f"{name} must be one of {get_args(options)}, got {value!r}")


def check_real(name: str, value: Real) -> None:
    """Raise TypeError unless an option is a Python (or NumPy) number."""
    _check_known(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")


def check_norm(norm: Real) -> None:
    """Raise TypeError or ValueError unless `norm` is the r of an ECE_r, a number of 1 or more, inf included."""
    check_real("norm", norm)
    if not norm >= 1:
        raise ValueError(f"norm must be at least 1, got {norm}")


def check_size(name: str, value: int, *, least: int = 1) -> int:
    """Return a static size as a Python int; it must be a Python (or NumPy) integer from `least` to 2^31 - 1."""
    _check_known(name, value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    if value >= 2**31:
        raise ValueError(f"{name} must be below 2^31, got {value}")
    return int(value)


def _check_known(name: str, value: object) -> None:
    if isinstance(value, jax.core.Tracer):
        raise TypeError(f"{name} must be known where the program is compiled: jax.jit(..., static_argnames={name!r})")
