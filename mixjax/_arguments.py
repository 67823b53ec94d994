"""What a caller passes, turned into checked arrays of one floating dtype.

Rules (the numerical contract): Python numbers and integers take JAX's default float
(float32, or float64 when x64 is on) unless an array that is already floating decides
otherwise; float16 and bfloat16 are computed in float32. Values are checked when they
are known, that is outside of `jax.jit`; the functions that call these checks say what
a wrong value gives under `jit`.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike


def as_floats(**values: ArrayLike) -> tuple[jax.Array, ...]:
    """Each value as an array, all of one floating dtype, in the order given.

    Raises:
      TypeError: for a value that is not real numbers; the message names it.
    """
    dtype = float_dtype(**values)
    return tuple(
        value.astype(dtype) if isinstance(value, jax.Array) else jnp.asarray(np.asarray(value), dtype)
        for value in values.values()
    )


def float_dtype(**values: ArrayLike) -> np.dtype:
    """The dtype that `as_floats` computes in."""
    widest: np.dtype | None = None
    for name, value in values.items():
        if not isinstance(value, jax.Array | np.ndarray | np.generic | int | float | list | tuple):
            raise TypeError(f"{name} must be real numbers, got {type(value).__name__}")
        dtype = np.dtype(value.dtype if isinstance(value, jax.Array) else np.asarray(value).dtype)
        if not (jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer)):
            raise TypeError(f"{name} must be real numbers, got dtype {dtype}")
        decides = isinstance(value, np.ndarray | np.generic) or (isinstance(value, jax.Array) and not value.weak_type)
        if decides and jnp.issubdtype(dtype, jnp.floating) and (widest is None or dtype.itemsize > widest.itemsize):
            widest = dtype
    if widest is None:
        return np.dtype(jnp.result_type(float))
    return np.dtype(jnp.float64 if widest.itemsize == 8 and jax.config.read("jax_enable_x64") else jnp.float32)


def known(value: ArrayLike) -> np.ndarray | None:
    """The value on the host, or None inside a traced function."""
    return None if isinstance(value, jax.core.Tracer) else np.asarray(value)


def check(name: str, value: ArrayLike, accept: Callable[[np.ndarray], np.ndarray], rule: str) -> None:
    """Raise ValueError with the first offending entry unless all of a known value is accepted."""
    float_dtype(**{name: value})  # a TypeError for what is not real numbers
    host = known(value)
    if host is None:
        return
    wrong = ~accept(host)
    if wrong.any():
        raise ValueError(f"{name} must be {rule}, got {host[wrong].flat[0]}")


def check_count(name: str, value: ArrayLike, *, least: int = 1) -> None:
    """A whole number of things: any int or float dtype, no smaller than `least`."""
    check(name, value, lambda v: (v >= least) & (v == np.floor(v)) & np.isfinite(v), f"a whole number, {least} or more")


def check_not_negative(name: str, value: ArrayLike) -> None:
    check(name, value, lambda v: (v >= 0) & np.isfinite(v), "finite and not negative")


def check_positive(name: str, value: ArrayLike) -> None:
    check(name, value, lambda v: (v > 0) & np.isfinite(v), "finite and positive")


def check_size(name: str, value: int, *, least: int = 1) -> None:
    """A static size: a Python (or NumPy) integer, no smaller than `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def aligned(*arrays: jax.Array) -> list[jax.Array]:
    """With leading axes of length 1, so that they broadcast under strict rank promotion."""
    rank = max(a.ndim for a in arrays)
    return [a.reshape((1,) * (rank - a.ndim) + a.shape) for a in arrays]
