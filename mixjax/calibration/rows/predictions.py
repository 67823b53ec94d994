"""Probabilities of K classes with their labels, checked and made safe to compute with; see `rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from mixjax.calibration.rows.clean import (
    HALF_SLACK,
    SLACK,
    Rows,
    as_mask,
    as_scores,
    beside,
    clipped,
    is_share,
    known_nan,
    refuse,
    refuse_labels,
    refuse_weights,
    without_missing,
)
from mixjax.numerics.arguments import as_array, known, missing_hint
from mixjax.numerics.meshes import jitted, pooled
from mixjax.typing import ArrayLike, Real

Result = TypeVar("Result")
Tree = TypeVar("Tree")


def slack_of_rows(probs: jax.Array) -> Float[Array, "N 1"]:
    """Return how far from 1 a row may sum: 1e-4, and 1e-2 where all its numbers are those of a half precision.

    A softmax in bfloat16 is off by some 5e-3, also after it was converted to float32.
    """
    halves = [jnp.all(probs == probs.astype(half).astype(probs.dtype), axis=-1) for half in (jnp.bfloat16, jnp.float16)]
    return jnp.where(halves[0] | halves[1], HALF_SLACK, SLACK).astype(probs.dtype)[:, None]


def _sums_to_one(probs: jax.Array, slack: Real | jax.Array) -> Bool[Array, " N"]:
    """Return whether all numbers of a row are in [0, 1] and their sum is 1, up to a slack of all rows or of each."""
    sums = jnp.sum(probs, axis=-1, keepdims=True)
    return jnp.all(is_share(probs, slack), axis=-1) & (jnp.abs(sums - 1.0) <= slack)[:, 0]


def _as_halves(given: ArrayLike, array: jax.Array) -> jax.Array:
    """Round numbers that were given in half precision to it: XLA may have left out that rounding inside of `jit`."""
    dtype = getattr(given, "dtype", None)
    if dtype not in (jnp.bfloat16, jnp.float16):
        return array
    return lax.reduce_precision(array, jnp.finfo(dtype).nexp, jnp.finfo(dtype).nmant)


class Predictions(NamedTuple):
    """Probabilities of K classes, checked in shape and dtype, not in value."""

    probs: Float[Array, "N K"]
    labels: Int[Array, " N"]
    weights: Float[Array, " N"] | None
    where: Bool[Array, " N"] | None

    @classmethod
    def of(
        cls, probs: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, where: ArrayLike | None = None
    ) -> Predictions:
        """Check shapes and dtypes; all become the floating dtype of `probs` (float32 at least).

        Rows along several axes are pooled.
        """
        array = _as_halves(probs, as_scores("probs", probs, where))
        if array.ndim < 2 or array.shape[-1] == 0:
            raise ValueError(f"probs must have shape [N, K] or [..., K], got {array.shape}")
        shape = array.shape[:-1]
        rule = f"the shape of probs without classes, {shape}"
        return cls(pooled(array, kept=1), *beside(array, shape, rule, weights, where, labels=as_labels(labels, where)))

    @classmethod
    def of_logits(
        cls, logits: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, where: ArrayLike | None = None
    ) -> Predictions:
        """Return predictions of softmax(logits); NaN under `jit` for logits that have none."""
        logits = as_scores("logits", logits, where)
        if logits.ndim < 2 or logits.shape[-1] == 0:
            raise ValueError(f"logits must have shape [N, K] or [..., K], got {logits.shape}")
        predictions = cls.of(jax.nn.softmax(logits, axis=-1), labels, weights, where)
        if known_nan((logits, predictions.where), predictions.probs):
            given, kept = np.asarray(logits).reshape(-1, logits.shape[-1]), predictions.where
            refuse("logits", given, given < np.inf, "below infinity", kept)
            refuse("logits", given.max(axis=1), given.max(axis=1) > -np.inf, "above -inf for one class", kept)
        return predictions

    def checked_probs(self) -> jax.Array:
        """Return the probabilities, NaN in every row that is wrong; what rounding puts outside of [0, 1] is 0 or 1.

        Half precision is looked for, which costs as much again, only if some row is not right without it.
        """
        strict = _sums_to_one(self.probs, SLACK)
        right = lax.cond(jnp.all(strict), lambda: strict, lambda: _sums_to_one(self.probs, slack_of_rows(self.probs)))
        right &= (self.labels >= 0) & (self.labels < self.probs.shape[1])
        return jnp.where(right[:, None], clipped(self.probs), jnp.nan)

    @jitted(rows=True)
    def top_label(self) -> Rows:
        """Return the rows of the predicted class."""
        probs = self.checked_probs()
        predicted = jnp.argmax(probs, axis=-1).astype(self.labels.dtype)
        correct = (predicted == self.labels).astype(probs.dtype)
        return Rows(jnp.max(probs, axis=-1), correct, self.weights, self.where)

    def over_classes(self, function: Callable[[Rows], Tree]) -> Tree:
        """Apply `function` to the rows (probs[:, k], labels == k) of each class k, along the first axis."""
        probs = self.checked_probs()
        classes = jnp.arange(probs.shape[1], dtype=self.labels.dtype)

        def of_class(k: jax.Array, confidence: jax.Array) -> Tree:
            return function(Rows(confidence, (self.labels == k).astype(probs.dtype), self.weights, self.where))

        return jax.vmap(of_class)(classes, probs.T)

    def raise_if_invalid(self, result: Result) -> Result:
        """Return the result; raise ValueError for the first wrong value that is known, if it made the result NaN."""
        if known_nan(self, result):
            self._refuse_wrong()
        return result

    def _refuse_wrong(self) -> None:
        probs, slack = np.asarray(self.probs), np.asarray(slack_of_rows(self.probs))
        refuse_labels(np.asarray(self.labels), probs.shape[1], self.where)
        refuse("probs", probs, is_share(probs, slack), "in [0, 1] (logits have functions of their own)", self.where)
        sums = probs.sum(axis=1)
        refuse("probs", sums, np.abs(sums - 1.0) <= slack[:, 0], "rows that sum to 1", self.where)
        refuse_weights(self.weights, self.where)


def as_labels(labels: ArrayLike, where: ArrayLike | None = None, *, name: str = "labels", hint: str = "") -> jax.Array:
    """Return whole numbers of 32 bits; one beyond them becomes the nearest, and is out of range either way.

    Floats may be whole numbers too if there is a mask: a missing label makes floats of a column.
    """
    array = as_array(name, without_missing(name, labels, where))
    if array.size == 0 and not isinstance(labels, jax.Array | np.ndarray):
        array = array.astype(np.int32)
    if not (jnp.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_):
        array = _whole(name, array, where, hint)
    if array.dtype.itemsize >= 4:
        lowest = 0 if jnp.issubdtype(array.dtype, np.unsignedinteger) else np.iinfo(np.int32).min
        array = array.clip(lowest, np.iinfo(np.int32).max)
    return jnp.asarray(array).astype(np.int32)


def _names_hint(array: jax.Array | np.ndarray) -> str:
    """Return what to do about names of classes, nothing without any."""
    named = isinstance(array, np.ndarray) and any(isinstance(each, str) for each in array.ravel()[:1].tolist())
    places = "pandas.Categorical(labels, categories=names).codes"
    return f"; names need their places among the scores: {places}" if named else ""


def _whole(name: str, array: jax.Array | np.ndarray, where: ArrayLike | None, hint: str) -> np.ndarray:
    """Return known floats as integers, 0 in masked rows.

    Raises:
      TypeError: for what is no floats, is not known, or has no mask.
      ValueError: for the first row that is kept and not a whole number.
    """
    host = known(array) if jnp.issubdtype(array.dtype, jnp.floating) else None
    mask = None if where is None else known(as_mask(where))
    if host is None or mask is None or mask.shape != host.shape:
        raise TypeError(
            f"{name} must be whole numbers, got {array.dtype}{missing_hint(array) or _names_hint(array) or hint}"
        )
    kept = np.where(mask, host.astype(np.float64), 0)
    broken = kept != np.floor(kept)
    if broken.any():
        row = int(np.argmax(broken))
        raise ValueError(f"{name} must be whole numbers, got {kept.flat[row]:g} in row {row}")
    limits = np.iinfo(np.int32)
    return kept.clip(limits.min, limits.max).astype(np.int32)
