"""Sums that do not drift: of all rows, of any run of sorted rows, and products of counts compared exactly.

A float32 running sum loses what is below 6e-8 of it. Totals are summed in a tree; prefix sums are pairs of floats, the
second of which holds what the first has rounded away, so that their differences are right to the last bits; counts are
integers, and fractions of them are compared by 64-bit products in two words of 32.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Prefix = tuple[jax.Array, ...]  # of integers one array, of floats a sum and its remainder; each begins with 0
Pair = tuple[jax.Array, jax.Array]

_FAN = 64  # terms of a total that are added one after another
_BLOCK = 256  # and of running sums, whose remainders are kept


def total(values: jax.Array) -> jax.Array:
    """Return the sum along the first axis, right to a few units in the last place of the absolute sum."""
    while len(values) > _FAN:
        values = jnp.sum(_padded(values, _FAN).reshape(_FAN, -1, *values.shape[1:]), axis=0, dtype=values.dtype)
    return jnp.sum(values, axis=0, dtype=values.dtype)


def mean(values: jax.Array, counted: jax.Array) -> jax.Array:
    """Return sum(counted * values) / sum(counted); infinite values that count 0 do not matter; NaN without rows."""
    values = jnp.where((counted > 0) | jnp.isnan(values), values, 0.0)
    if jnp.issubdtype(counted.dtype, np.integer):
        return total(values) / jnp.sum(counted, dtype=np.int32).astype(values.dtype)
    return total(counted * values) / total(counted)


def prefix_sums(values: jax.Array) -> Prefix:
    """Return for each i from 0 to N the sum of the first i values, for use by `over`."""
    zero = jnp.zeros(1, values.dtype)
    if jnp.issubdtype(values.dtype, np.integer):
        return (jnp.concatenate([zero, jnp.cumsum(values, dtype=values.dtype)]),)
    return tuple(jnp.concatenate([zero, part]) for part in _running(values))


def over(prefix: Prefix, start: jax.Array, end: jax.Array) -> jax.Array:
    """Return the sum of the values from `start` up to, and without, `end`."""
    parts = [part[end] - part[start] for part in prefix]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def product_less(a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array) -> jax.Array:
    """Return a * b < c * d; exact for int32 that are not negative."""
    if not jnp.issubdtype(a.dtype, np.integer):
        return a * b < c * d
    (high, low), (other_high, other_low) = _words(a, b), _words(c, d)
    return (high < other_high) | ((high == other_high) & (low < other_low))


def _words(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the product of two integers below 2^31 as high and low words, by schoolbook multiplication."""
    a, b = a.astype(np.uint32), b.astype(np.uint32)
    half, mask = np.uint32(16), np.uint32(0xFFFF)
    middle = (a >> half) * (b & mask) + (((a & mask) * (b & mask)) >> half)
    carried = (a & mask) * (b >> half) + (middle & mask)
    return (a >> half) * (b >> half) + (middle >> half) + (carried >> half), a * b


def floor_product(a: jax.Array, b: jax.Array, divisor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return floor(a b / divisor), which is at most 2^22, and 1 if a remainder is left; right where a b overflows.

    The quotient in floats is wrong by 2 at most, and what a smaller one leaves is right modulo 2^32.
    """
    guess = jnp.floor(a.astype(np.float32) * (b.astype(np.float32) / divisor.astype(np.float32))).astype(np.int32)
    guess = jnp.maximum(guess - 2, 0)
    left, by = (a * b - guess * divisor).astype(np.uint32), jnp.broadcast_to(divisor.astype(np.uint32), a.shape)
    return guess + lax.div(left, by).astype(np.int32), (lax.rem(left, by) > 0).astype(np.int32)


def _padded(values: jax.Array, multiple: int) -> jax.Array:
    """Append zeros along the first axis, up to a multiple."""
    return jnp.pad(values, [(0, -len(values) % multiple), *[(0, 0)] * (values.ndim - 1)])


def _running(high: jax.Array, low: jax.Array | None = None) -> tuple[jax.Array, jax.Array]:
    """Return running sums of floats or of pairs: within blocks, side by side, then of the blocks."""
    size, length = len(high), min(len(high), _BLOCK)
    if size <= 1:
        return high, jnp.zeros_like(high) if low is None else low
    blocks = _padded(high, length).reshape(-1, length).T
    remainders = None if low is None else _padded(low, length).reshape(-1, length).T
    zeros = jnp.zeros_like(blocks[0])
    _, within = lax.scan(lambda carry, value: (added(carry, value),) * 2, (zeros, zeros), (blocks, remainders))
    before = [jnp.pad(part, (1, 0))[None, :-1] for part in _running(within[0][-1], within[1][-1])]
    high, low = added(within, (before[0], before[1]))
    return high.T.reshape(-1)[:size], low.T.reshape(-1)[:size]


def added(a: Pair, b: tuple[jax.Array, jax.Array | None]) -> Pair:
    """Return the sum of two numbers that are each a float and a remainder (D. E. Knuth's two-sum)."""
    high = a[0] + b[0]
    of_b = high - a[0]
    lost = (a[0] - (high - of_b)) + (b[0] - of_b)
    low = a[1] + lost if b[1] is None else a[1] + b[1] + lost
    rounded = high + low
    return rounded, low - (rounded - high)
