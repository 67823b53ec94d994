"""Arguments of public functions, checked and converted to arrays of one floating dtype.

Python numbers and integers take JAX's default float (float32, or float64 when x64 is on) unless an array that is
already floating decides otherwise; float16 and bfloat16 are computed in float32. A wrong value raises when it is known,
that is outside of `jax.jit`, and becomes NaN when it is not: `checked` does both, from one `Rule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.typing import ArrayLike


def as_floats(**values: ArrayLike) -> tuple[jax.Array, ...]:
    """Convert each value to an array of one floating dtype, in the order given.

    Raises:
      TypeError: for a value that is not real numbers; the message names it.
      ValueError: for nested lists that are no array.
    """
    arrays = {name: as_array(name, value) for name, value in values.items()}
    dtype = _float_dtype(values, arrays)
    with np.errstate(over="ignore"):  # a value too large for the dtype becomes infinite, and is refused as that
        return tuple(as_dtype(array, dtype) for array in arrays.values())


def as_dtype(array: jax.Array | np.ndarray, dtype: np.dtype) -> jax.Array:
    """Return an array of a dtype, itself if it is one; NumPy converts its own, for JAX wraps integers of 64 bits."""
    if isinstance(array, jax.Array):
        return array if array.dtype == dtype and not array.weak_type else array.astype(dtype)
    return jnp.asarray(array.astype(dtype))


def float_dtype(**values: ArrayLike) -> np.dtype:
    """Return the dtype that `as_floats` converts to."""
    return _float_dtype(values, {name: as_array(name, value) for name, value in values.items()})


def _float_dtype(values: Mapping[str, ArrayLike], arrays: Mapping[str, jax.Array | np.ndarray]) -> np.dtype:
    """Return the widest floating dtype of the values that have a dtype of their own, float32 at least."""
    widest: np.dtype | None = None
    for name, array in arrays.items():
        dtype = np.dtype(array.dtype)
        if not (jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer)):
            raise TypeError(f"{name} must be real numbers, got dtype {dtype}{missing_hint(array)}")
        decides = _has_dtype(values[name]) and jnp.issubdtype(dtype, jnp.floating)
        if decides and (widest is None or dtype.itemsize > widest.itemsize):
            widest = dtype
    if widest is None:
        return np.dtype(jnp.result_type(float))
    return np.dtype(jnp.float64 if widest.itemsize == 8 and jax.config.read("jax_enable_x64") else jnp.float32)


def _has_dtype(value: ArrayLike) -> bool:
    """Return whether a value has its own dtype; Python's numbers and lists have none."""
    if isinstance(value, jax.Array):
        return not value.weak_type
    return isinstance(value, np.generic) or not isinstance(value, int | float | Sequence)


def as_array(name: str, value: ArrayLike) -> jax.Array | np.ndarray:
    """Return an array of JAX as it is, and one of NumPy from numbers, lists, and all that has `__array__`.

    Raises:
      TypeError: for a value that is no array, an array with a mask of its own, which would be lost, and time spans,
        which NumPy takes for whole numbers.
      ValueError: for nested lists that are no array.
    """
    if isinstance(value, jax.Array):
        return value
    refuse_own_mask(name, value)
    if isinstance(value, str | bytes) or not (isinstance(value, int | float | Sequence) or hasattr(value, "__array__")):
        raise TypeError(f"{name} must be real numbers, got {type(value).__name__}")
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be an array, but has rows of unequal length") from None
    except (TypeError, RuntimeError) as error:  # a tensor on a GPU, or of a dtype that NumPy lacks
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"{name} must be an array: {error}") from None
        return _from_dlpack(name, value, error)
    if array.dtype.kind == "m":
        raise TypeError(f"{name} must be numbers, got dtype {array.dtype}")
    return array


def refuse_own_mask(name: str, value: object) -> None:
    """Raise TypeError for an array of NumPy with a mask of its own, which `np.asarray` would lose."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} must be an array without its own mask, got {type(value).__name__}; pass where=")


def is_missing(objects: np.ndarray) -> np.ndarray:
    """Return where an array of objects holds None, NaN, or pandas' NA or NaT."""

    def missing(entry: object) -> bool:
        nan = isinstance(entry, float) and entry != entry
        return entry is None or nan or type(entry).__name__ in ("NAType", "NaTType")

    return np.array([missing(entry) for entry in objects.ravel()], bool).reshape(objects.shape)


def missing_hint(array: jax.Array | np.ndarray) -> str:
    """Return what to do about missing values, nothing without any."""
    missing = isinstance(array, np.ndarray) and array.dtype == object and is_missing(array).any()
    return "; fill missing values, or mask their rows by where=" if missing else ""


def _from_dlpack(name: str, value: Any, error: Exception) -> jax.Array:
    """Return the values of a tensor that NumPy cannot take, such as one of bfloat16."""
    try:
        return jnp.from_dlpack(value)
    except Exception:  # noqa: BLE001 - whatever it is, the reason of NumPy is the one to tell
        raise TypeError(f"{name} must be an array: {error}") from None


def known(value: ArrayLike) -> np.ndarray | None:
    """Return the value as a NumPy array, or None inside a traced function."""
    return None if isinstance(value, jax.core.Tracer) else np.asarray(value)


class Rule(NamedTuple):
    """The values that an argument may have: words for the message, and a predicate of NumPy and of JAX arrays."""

    words: str
    accept: Callable[[Any], Any]


LARGEST_COUNT = 1e10  # the samplers are tested up to here
COUNT = Rule("a whole number from 1 to 1e10", lambda v: (v >= 1) & (v <= LARGEST_COUNT) & (v == v.round()))
POINTS = Rule("a whole number from 1 to 1e7", lambda v: (v >= 1) & (v <= 1e7) & (v == v.round()))  # drawn one by one
NOT_NEGATIVE = Rule("finite and not negative", lambda v: (v >= 0) & (v < np.inf))
POSITIVE = Rule("finite and positive", lambda v: (v > 0) & (v < np.inf))
SHARE = Rule("in [0, 1]", lambda v: (v >= 0) & (v <= 1))
BELOW_ONE = Rule("in [0, 1)", lambda v: (v >= 0) & (v < 1))

RULES = {
    "alpha": NOT_NEGATIVE,  # 0 is no Mixup
    "beta": POSITIVE,
    "confidence": SHARE,
    "cosine": Rule("in [-1, 1]", lambda v: (v >= -1) & (v <= 1)),
    "ece": POSITIVE,
    "labeled_ratio": NOT_NEGATIVE,
    "lam": SHARE,
    "n": COUNT,
    "n_held_out": POINTS,
    "n_labeled": COUNT,
    "n_unlabeled": Rule("a whole number from 0 to 1e10", lambda v: (v >= 0) & (v <= LARGEST_COUNT) & (v == v.round())),
    "p": COUNT,
    "pairs_ratio": Rule("positive", lambda v: v > 0),
    "penalty": POSITIVE,
    "positive_rate": Rule("in (0, 1)", lambda v: (v > 0) & (v < 1)),
    "ratio": NOT_NEGATIVE,
    "sigma": POSITIVE,
    "t": SHARE,
    "test_norm": NOT_NEGATIVE,
    "theta_norm": NOT_NEGATIVE,
    "unlabeled_norm": NOT_NEGATIVE,
    "unlabeled_ratio": NOT_NEGATIVE,
}


def checked(exceptions: Mapping[str, Rule] | None = None, /, **values: ArrayLike) -> tuple[jax.Array, ...]:
    """Convert as `as_floats` does; a value that breaks the rule of its name raises if known, and is NaN if traced.

    Args:
      exceptions: rules that differ from `RULES`.
      values: values by name; a name without a rule may have any value.

    Returns:
      Arrays of one floating dtype in the order given. The caller has to let NaN through.

    Raises:
      TypeError: for a value that is not real numbers; the message names it.
      ValueError: for a wrong value; the message has the first offending entry.
    """
    rules = RULES | dict(exceptions or {})
    arrays = as_floats(**values)
    return tuple(
        _checked(name, value, array, rules[name]) if name in rules else array
        for (name, value), array in zip(values.items(), arrays, strict=True)
    )


def _checked(name: str, value: ArrayLike, array: jax.Array, rule: Rule) -> jax.Array:
    host = known(value)
    if host is None:
        return jnp.where(rule.accept(array), array, jnp.nan)
    with np.errstate(over="ignore"):
        cast = host.astype(array.dtype)
    wrong = ~rule.accept(np.where(np.isinf(cast), cast, host.astype(np.float64)))
    if wrong.any():
        raise ValueError(f"{name} must be {rule.words}, got {host[wrong].flat[0]}")
    return array


def check_scalars(**values: jax.Array) -> None:
    """Raise ValueError unless each value is one number; the message names the array."""
    for name, value in values.items():
        if value.shape != ():
            raise ValueError(f"{name} must be one number, got an array of shape {value.shape}")


def shown(value: Any) -> str:
    """Format a number for a message: integers in full, others with 7 digits."""
    return str(int(value)) if np.issubdtype(np.asarray(value).dtype, np.integer) else f"{value:.7g}"


def aligned(*arrays: jax.Array) -> list[jax.Array]:
    """Add leading axes of length 1, so that arrays broadcast under strict rank promotion.

    Raises:
      ValueError: if they do not broadcast.
    """
    shapes = [a.shape for a in arrays]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"arguments must have shapes that broadcast, got {', '.join(map(str, shapes))}") from None
    rank = max(a.ndim for a in arrays)
    return [a.reshape((1,) * (rank - a.ndim) + a.shape) for a in arrays]
