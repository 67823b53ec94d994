"""What is scored: confidences and whether they were right, with weights and a mask.

Only ratios of weights matter: sums are of multiples of a power of two, `Rows.unit`, so that none overflows or vanishes.
A row that is masked, or has weight 0, counts for nothing, whatever it holds. A row that is kept and wrong (a confidence
outside [0, 1] by more than rounding, a correctness other than 0 or 1, a negative or infinite weight) or NaN turns the
result into NaN; outside of `jax.jit` wrong values are found then and refused with the offending row, at no cost for
good input.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from mixjax.numerics.arguments import POSITIVE, as_array, as_dtype, as_floats, checked, is_missing, known, shown
from mixjax.numerics.meshes import pooled
from mixjax.typing import ArrayLike

Result = TypeVar("Result")

SLACK = 1e-4  # beyond 0 and 1, and of the sum of a row of probabilities: the rounding of float32 softmaxes and means
_SMALL = 1 << 10
HALF_SLACK = 1e-2  # the same of numbers of half precision


class Rows(NamedTuple):
    """Rows that are checked in shape and dtype, not in value; `clean` makes them safe to compute with."""

    confidence: Float[Array, " N"]
    correct: Float[Array, " N"]
    weights: Float[Array, " N"] | None = None
    where: Bool[Array, " N"] | None = None

    @classmethod
    def of(
        cls, confidence: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None, where: ArrayLike | None = None
    ) -> Rows:
        """Check shapes and dtypes; all become the floating dtype of `confidence` (float32 at least).

        Rows along several axes are pooled.
        """
        half = str(getattr(confidence, "dtype", "")) in ("bfloat16", "float16")
        (confidence,) = as_floats(confidence=without_missing("confidence", confidence, where))
        if confidence.ndim == 0:
            raise ValueError("confidence must have shape [N], got one number")
        if half:
            confidence = jnp.where(is_share(confidence, HALF_SLACK), clipped(confidence), confidence)
        numbers = as_numbers("correct", correct, confidence.dtype, where)
        rule = f"the shape of confidence, {confidence.shape}"
        return cls(pooled(confidence), *beside(confidence, confidence.shape, rule, weights, where, correct=numbers))

    def clean(self) -> Rows:
        """Return masked rows as zeros of weight 0, wrong ones with a NaN confidence, weights as multiples of `unit`."""
        return self.in_units().clean_block()

    def clean_block(self) -> Rows:
        """Clean some rows of many, whose weights stay as they are."""
        confidence, correct, weights = self.confidence, self.correct, self.weights
        right = (correct == 0) | (correct == 1)
        if weights is not None:
            valid = (weights >= 0) & jnp.isfinite(weights)
            right, weights = right & valid, jnp.where(valid, weights, 0.0)
        confidence = jnp.where(right, as_shares(confidence), jnp.nan)
        if self.where is not None:
            confidence, correct = jnp.where(self.where, confidence, 0.0), jnp.where(self.where, correct, 0.0)
            weights = None if weights is None else jnp.where(self.where, weights, 0.0)
        return Rows(confidence, correct, weights, self.where)

    def in_units(self) -> Rows:
        """Return the rows with weights as multiples of `unit`."""
        return self if self.weights is None else self._replace(weights=self.weights / self.unit)

    @property
    def unit(self) -> jax.Array:
        """The unit of the weights, `weight_unit`."""
        return weight_unit(self.weights, self.where, self.confidence.dtype)

    @property
    def counted(self) -> jax.Array:
        """The weight of each row, or an int32 of 1 or, if it is masked, 0."""
        if self.weights is not None:
            return self.weights
        return jnp.ones(self.confidence.shape, np.int32) if self.where is None else self.where.astype(np.int32)

    @property
    def residual(self) -> jax.Array:
        """weight * (correct - confidence)."""
        residual = self.correct - self.confidence
        return residual if self.weights is None else self.weights * residual

    def raise_if_invalid(self, result: Result) -> Result:
        """Return the result; raise ValueError for the first wrong value that is known, if it made the result NaN."""
        if known_nan(self, result):
            self._refuse_wrong()
        return result

    def _refuse_wrong(self) -> None:
        confidence, correct = np.asarray(self.confidence), np.asarray(self.correct)
        refuse("confidence", confidence, is_share(confidence), "in [0, 1]", self.where)
        swapped = " (is it swapped with confidence?)" if ((correct >= 0) & (correct <= 1)).all() else ""
        refuse("correct", correct, (correct == 0) | (correct == 1), f"0 or 1{swapped}", self.where)
        refuse_weights(self.weights, self.where)


def is_share(values: Any, slack: Any = SLACK) -> Any:
    """Return whether each value is in [0, 1], up to rounding."""
    return (values >= -slack) & (values <= 1 + slack)


def as_shares(values: jax.Array, slack: ArrayLike = SLACK) -> jax.Array:
    """Return values in [0, 1], those beyond by rounding as 0 or 1, and others as NaN."""
    return jnp.where(is_share(values, slack), clipped(values), jnp.nan)


def clipped(values: jax.Array) -> jax.Array:
    """Return values within [0, 1], with the derivative 1 at both ends, where that of `jnp.clip` is 1/2."""
    return jnp.where(values < 0, 0.0, jnp.where(values > 1, 1.0, values))


def beside(
    scores: jax.Array,
    shape: tuple[int, ...],
    rule: str,
    weights: ArrayLike | None,
    where: ArrayLike | None,
    **outcome: jax.Array,
) -> tuple[jax.Array, jax.Array | None, jax.Array | None]:
    """Return the outcome, the weight and the mask of each row of scores, pooled; a weight of 0 masks its row.

    Raises:
      ValueError: where one of them has not the shape of the rows.
    """
    numbers = None if weights is None else as_numbers("weights", weights, np.dtype(scores.dtype), where)
    mask = None if where is None else as_mask(where)
    for name, value in {**outcome, "weights": numbers, "where": mask}.items():
        if value is not None and value.shape != shape:
            of_classes = name == "correct" and value.shape == shape[:-1]
            hint = "; scores.top_label makes both, of probabilities of K classes" if of_classes else ""
            raise ValueError(f"{name} must have {rule}, got {value.shape}{hint}")
    if numbers is not None:
        mask = numbers != 0 if mask is None else mask & (numbers != 0)
    (rows,) = outcome.values()
    return pooled(rows), numbers if numbers is None else pooled(numbers), mask if mask is None else pooled(mask)


def weight_unit(weights: jax.Array | None, where: jax.Array | None, dtype: np.dtype) -> jax.Array:
    """Return a power of two near the largest finite weight that is kept; 1 for one from 2^-32 to 2^32."""
    if weights is None:
        return jnp.ones((), dtype)
    kept = jnp.isfinite(weights) if where is None else jnp.isfinite(weights) & where
    largest = lax.stop_gradient(jnp.max(jnp.where(kept, weights, 0.0), initial=0.0))
    far = float(jnp.finfo(dtype).max) ** 0.8  # where 2^exponent and its inverse are normal numbers
    mantissa, _ = jnp.frexp(jnp.clip(largest, 1 / far, far))
    unit = jnp.clip(largest, 1 / far, far) / mantissa
    return jnp.where((largest == 0) | ((largest >= 2.0**-32) & (largest <= 2.0**32)), 1.0, unit)


def known_nan(inputs: Any, result: Any) -> bool:
    """Return whether a result has a NaN, and nothing is traced."""
    leaves = jax.tree.leaves(result)
    if any(isinstance(leaf, jax.core.Tracer) for leaf in (*leaves, *jax.tree.leaves(inputs))):
        return False
    return any(_has_nan(leaf) for leaf in leaves if jnp.issubdtype(leaf.dtype, np.floating))


def _has_nan(array: jax.Array) -> bool:
    """Return whether a known array has a NaN; one that is small is copied to the host, where the test is quicker."""
    return bool(np.isnan(np.asarray(array)).any() if array.size <= _SMALL else jnp.isnan(array).any())


def without_missing(name: str, value: ArrayLike, where: ArrayLike | None) -> Any:
    """Return a column, or a table of N rows, with 0 in masked rows, and as numbers if nothing is missing in the others.

    A missing value (None, pandas' NA) makes NumPy take numbers for objects, and whole numbers for floats.
    """
    if isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and value.dtype != object):
        return value
    array: Any = as_array(name, value)
    whole = str(getattr(value, "dtype", "")).lower().startswith(("int", "uint"))
    if whole and jnp.issubdtype(array.dtype, np.floating):
        array = np.where(np.isnan(array), None, np.nan_to_num(array).astype(np.int64))
    if array.dtype != object:
        return value
    mask = None if where is None else known(as_mask(where))
    if mask is not None and mask.shape == array.shape[: mask.ndim]:
        array = np.where(mask.reshape(mask.shape + (1,) * (array.ndim - mask.ndim)), array, 0)
    return array if is_missing(array).any() else array.tolist()


def as_scores(name: str, value: ArrayLike, where: ArrayLike | None) -> jax.Array:
    """Return `as_floats` of logits or probabilities, which may have missing values in masked rows.

    Raises:
      TypeError, ValueError: as `as_floats`.
    """
    try:
        return as_floats(**{name: value})[0]
    except TypeError:  # looked at only now, so that numbers are converted once
        numbers = as_array(name, without_missing(name, value, where))
        if numbers.dtype.kind not in "iuf":
            raise
        return as_floats(**{name: numbers.tolist()})[0]


def as_numbers(name: str, value: ArrayLike, dtype: np.dtype, where: ArrayLike | None = None) -> jax.Array:
    """Return an array of numbers or truth values as `dtype`."""
    array = as_array(name, without_missing(name, value, where))
    if not (jnp.issubdtype(array.dtype, np.bool_) or jnp.issubdtype(array.dtype, np.integer)):
        (array,) = as_floats(**{name: array})
    return as_dtype(array, dtype)


def as_mask(where: ArrayLike) -> jax.Array:
    """Return a boolean array, from one or from whole numbers 0 and 1."""
    array = as_array("where", where)
    if array.size == 0 and not isinstance(where, jax.Array | np.ndarray):
        array = array.astype(np.bool_)
    if jnp.issubdtype(array.dtype, np.integer):
        host = known(array)
        if host is not None:
            refuse("where", host, (host == 0) | (host == 1), "boolean, or 0 and 1", None)
    elif array.dtype != np.bool_:
        raise TypeError(f"where must be boolean, got {array.dtype}")
    return jnp.asarray(array).astype(np.bool_)


def positive_scalar(name: str, value: ArrayLike, dtype: np.dtype) -> jax.Array:
    """Return a positive scalar of a dtype, such as a bandwidth; NaN for a wrong one that is traced."""
    (given,) = checked({name: POSITIVE}, **{name: value})
    if given.ndim:
        raise ValueError(f"{name} must be a scalar, got shape {given.shape}")
    given = given.astype(dtype)
    host = known(given)
    if host is not None and not POSITIVE.accept(host):
        raise ValueError(f"{name} must be {POSITIVE.words} in {dtype}, got {value}")
    return given


def refuse_labels(labels: np.ndarray, num_classes: int, where: Any) -> None:
    """Raise ValueError for the first label of a kept row that is not a class."""
    hint = "" if labels.size == 0 or labels.min() >= 0 else "; where=labels >= 0 leaves out rows without a label"
    refuse("labels", labels, (labels >= 0) & (labels < num_classes), f"in [0, {num_classes})", where, hint)


def refuse_weights(weights: jax.Array | None, where: Any) -> None:
    """Raise ValueError for the first weight of a kept row that is negative or infinite."""
    if weights is not None:
        host = np.asarray(weights)
        refuse("weights", host, (host >= 0) & np.isfinite(host), "finite and not negative", where)


def refuse(name: str, values: np.ndarray, right: np.ndarray, rule: str, where: Any, hint: str = "") -> None:
    """Raise ValueError for the first wrong row, unless it is masked or NaN; rows are the first axis."""
    wrong = ~right & ~np.isnan(values) if np.issubdtype(values.dtype, np.floating) else ~right
    rows = wrong.any(axis=tuple(range(1, wrong.ndim)))
    rows &= True if where is None else np.asarray(where)
    if rows.any():
        row = int(np.argmax(rows))
        value = np.atleast_1d(values[row])[np.atleast_1d(wrong[row])][0]
        more = " or more" if values.dtype == np.int32 and value == np.iinfo(np.int32).max else ""  # as in `as_labels`
        cast = f" (as {values.dtype})" if np.isinf(value) and values.dtype != np.float64 else ""
        raise ValueError(f"{name} must be {rule}, got {shown(value)}{more} in row {row}{cast}{hint}")
