"""Random numbers that are right in float32 at every size: normal, chi-square, mean of signs.

JAX's own float32 normal stops at -5.42 and +5.22, its chi-square loses the variation around a large number of degrees
of freedom, and its binomial is wrong beyond a million trials. The Gaussian theory needs these three laws. Their cost
does not grow with their parameters, and each entry of a result depends on the key, its own position and its own
parameter only.

Reference: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000): the
chi-square, here in centered form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.numerics.arguments import as_floats
from mixjax.numerics.binomial import count_ones, log_ratio, log_ratio_bound
from mixjax.numerics.elementary import polynomial, thrice_log1p_remainder
from mixjax.numerics.threefry import Source, Words, single
from mixjax.typing import ArrayLike

__all__ = ["centered_chisquare", "normal", "rademacher_mean"]

# z = x f(w) with x = erf(z / sqrt 2) and w = -log(1 - x^2). Minimax rational approximation of f on
# 0 <= w <= 23 (|z| <= 6.4), relative error 1.3e-8; fitted with mpmath, checked by tests/random/test_random_normal.py.
_PROBIT_NUMERATOR = (
    1.2533141220635078, 0.44767847160324276, 0.09122256222770823, 0.012584985579552507,
    0.001148575735647895, 6.0847908367651424e-05, 2.013334103806718e-07,
)  # fmt: skip
_PROBIT_DENOMINATOR = (
    1.0, 0.09539600161469129, 0.03478002042717011, 0.002324936355499956,
    0.000252622836424844, 3.879208220268952e-06,
)  # fmt: skip


def normal(key: PRNGKeyArray, shape: Sequence[int] = (), dtype: DTypeLike | None = None) -> Float[Array, "..."]:
    """Draw standard normals whose tails are right.

    In float32 one 32-bit word gives the sign and a 31-bit tail probability, so the law is exactly symmetric, reaches
    +-6.34, and has the right mass beyond every point up to that. In float64 52 bits of two words give the lower tail
    probability, and the law is symmetric and reaches +-8.2.

    Args:
      key: a single key, made by `jax.random.key`.
      shape: shape of the result, static.
      dtype: float32 or float64, static; by default JAX's default float.

    Raises:
      TypeError, ValueError: for another dtype, and for what is not one key.

    Accuracy, of a draw as the quantile of its bits (tests/random/test_random_normal.py): relative 1e-6 in float32; in
    float64 1e-12 up to |z| = 4, and 3e-10 beyond, the accuracy of XLA's inverse error function there.

    Example:
      >>> import jax
      >>> from mixjax.random import normal
      >>> [round(float(z), 2) for z in normal(jax.random.key(0), (3,))]
      [0.21, 0.48, -1.28]
    """
    dtype = np.dtype(jnp.result_type(float) if dtype is None else dtype)
    if dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"dtype must be float32 or float64, got {dtype}")
    size = int(np.prod(shape, dtype=np.int64))
    pair = normals(Source.of(key, ((size + 1) // 2,)), 0, dtype)
    return jnp.concatenate(pair)[:size].reshape(tuple(shape))


def normals(source: Source, stream: jax.Array | int, dtype: np.dtype) -> tuple[jax.Array, jax.Array]:
    """Draw two independent standard normals for each position, from streams 2 `stream` and 2 `stream` + 1."""
    if dtype == jnp.float32:
        first, second = source.words(2 * stream)
        return normal_from_word(first), normal_from_word(second)
    return _normal_from_words(source.words(2 * stream)), _normal_from_words(source.words(2 * stream + 1))


def normal_and_exponential(source: Source, stream: jax.Array | int, dtype: np.dtype) -> tuple[jax.Array, jax.Array]:
    """Draw an independent standard normal and standard exponential for each position, from the same two streams."""
    if dtype == jnp.float32:
        first, second = source.words(2 * stream)
        return normal_from_word(first), -jnp.log(_half_open_unit(second >> np.uint32(1)))
    uniform = _signed_unit(source.words(2 * stream + 1))
    return _normal_from_words(source.words(2 * stream)), -jnp.log(0.5 + 0.5 * uniform)


def _half_open_unit(word: jax.Array) -> jax.Array:
    """Map a word below 2^31 to (word + 1/2) / 2^31 in float32, in (0, 1]; exact to 24 digits near 0."""
    integer = lax.bitcast_convert_type(word, np.int32)  # a conversion that CPUs have
    return (integer.astype(np.float32) + 0.5) * np.float32(2.0**-31)


def normal_from_word(word: jax.Array) -> jax.Array:
    """Map a 32-bit word to the float32 normal of its sign bit and its 31 bits of tail probability."""
    sign, tail = word & np.uint32(1 << 31), word & np.uint32((1 << 31) - 1)
    twice_p = _half_open_unit(tail)  # twice the tail probability
    x = _half_open_unit(np.uint32((1 << 31) - 1) - tail)  # 1 - twice_p without cancellation
    w = -jnp.log(twice_p * (1.0 + x))
    z = x * polynomial(w, _PROBIT_NUMERATOR) / polynomial(w, _PROBIT_DENOMINATOR)
    return lax.bitcast_convert_type(lax.bitcast_convert_type(z, np.uint32) | sign, np.float32)


def _signed_unit(words: Words) -> jax.Array:
    """Map 52 bits of two words to an odd multiple of 2^-52 in (-1, 1), in float64."""
    high, low = (word.astype(np.float64) for word in (words[0], words[1] >> np.uint32(12)))
    return (high - 2.0**31) * 2.0**-31 + (low + 0.5) * 2.0**-51


def _normal_from_words(words: Words) -> jax.Array:
    return np.sqrt(2.0) * lax.erf_inv(_signed_unit(words))


def _first_accepted(like: jax.Array, propose: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Return, entry by entry, the first of `propose(0)`, `propose(1)`, ... that is not NaN; an array like `like`."""

    def missing(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        return jnp.any(jnp.isnan(state[1]))

    def again(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        turn, value = state
        return turn + 1, jnp.where(jnp.isnan(value), propose(turn), value)

    return lax.while_loop(missing, again, (jnp.int32(0), jnp.full_like(like, jnp.nan)))[1]


def centered_chisquare(key: PRNGKeyArray, df: ArrayLike, shape: Sequence[int] | None = None) -> Float[Array, "..."]:
    r"""Draw from the law of :math:`\chi^2_\nu - \nu`, exactly for every :math:`\nu \ge 1`.

    Float32 holds the difference: at :math:`\nu = 10^{10}` the chi-square itself would have a few hundred distinct
    values. The method is Marsaglia and Tsang's rejection for :math:`\Gamma(a)`, :math:`a = \nu/2`: with
    :math:`d = a - 1/3`, :math:`y = Z/\sqrt{9d}`,

    .. math:: \Gamma(a) - a = d\,y\,(3 + 3y + y^2) - 1/3
              \quad\text{if}\quad -\log U > d\,(\tfrac34 y^4 - \tfrac35 y^5 + \tfrac12 y^6 - \dots),

    where neither side cancels. At most 4.8 % of proposals are rejected (:math:`\nu = 2`).

    Args:
      key: a single key, made by `jax.random.key`.
      df: degrees of freedom, positive real numbers of any shape; 0 gives 0 (the point mass).
      shape: shape of the result, to which `df` broadcasts, static; by default the shape of `df`.

    Returns:
      Draws in the floating dtype of `df`; NaN where `df` is negative, infinite or NaN.

    Raises:
      TypeError, ValueError: for what is not one key, or for `df` that are not real numbers or do not broadcast.

    Example:
      >>> import jax
      >>> from mixjax.random import centered_chisquare
      >>> [round(float(x), 2) for x in centered_chisquare(jax.random.key(0), [0.0, 3.0, 100.0])]
      [0.0, 0.54, 3.2]
    """
    (df,) = as_floats(df=df)
    shape = df.shape if shape is None else tuple(shape)
    return _centered_chisquare(single(key), jnp.broadcast_to(df, shape))


@jax.jit
def _centered_chisquare(key: PRNGKeyArray, df: jax.Array) -> jax.Array:
    return centered_chisquare_from(Source.of(key, df.shape), df)


def centered_chisquare_from(source: Source, df: jax.Array) -> jax.Array:
    """Draw `centered_chisquare` from a source of words."""
    df = jnp.broadcast_to(df, source.shape)
    valid = (df > 0) & jnp.isfinite(df)
    a = jnp.where(valid, 0.5 * df, 1.0)
    small = a < 1  # Gamma(a) = Gamma(a + 1) U^(1/a)
    centered = centered_gamma_from(source, jnp.where(small, a + 1.0, a))

    def boosted() -> jax.Array:
        exponential = normal_and_exponential(source, BOOST_STREAM, a.dtype)[1]
        return jnp.where(small, (centered + a + 1.0) * jnp.exp(-exponential / a) - a, centered)

    centered = lax.cond(jnp.any(small), boosted, lambda: centered)
    return jnp.where(valid, 2.0 * centered, jnp.where(df == 0, 0.0, jnp.nan).astype(df.dtype))


BOOST_STREAM = 1 << 22  # beyond any number of rejections


def centered_gamma_from(source: Source, a: jax.Array) -> jax.Array:
    """Draw Gamma(a) - a for a >= 1."""
    d = a - 1 / 3
    scale = lax.rsqrt(9.0 * d)

    def propose(turn: jax.Array) -> jax.Array:
        z, exponential = normal_and_exponential(source, turn, a.dtype)
        y = scale * z
        accepted = (y > -1.0) & (exponential > d * thrice_log1p_remainder(y))
        return jnp.where(accepted, d * y * (3.0 + y * (3.0 + y)) - 1 / 3, jnp.nan)

    return _first_accepted(a, propose)


_COUNTED = 64  # up to this many signs are drawn one by one, as bits


def rademacher_mean(key: PRNGKeyArray, n: ArrayLike, shape: Sequence[int] | None = None) -> Float[Array, "..."]:
    r"""Draw the mean of `n` independent fair signs, :math:`2\,\mathrm{Bin}(n, 1/2)/n - 1`, exactly at every n.

    Up to 64 signs are counted as random bits. Beyond, the proposal is a normal rounded to the lattice of the sum, and
    the acceptance is the ratio of the binomial probability to that of the rounded normal. The two differ by
    :math:`O(1/n)`, so less than 0.5 % is rejected.

    Args:
      key: a single key, made by `jax.random.key`.
      n: whole numbers of signs, at least 1, of any int or float dtype and any shape (float32 holds them exactly
        up to 16,777,216, and to 24 binary digits beyond).
      shape: shape of the result, to which `n` broadcasts, static; by default the shape of `n`.

    Returns:
      Means in [-1, 1], in the floating dtype of `n`; NaN where `n` is not a whole number >= 1.

    Raises:
      TypeError, ValueError: for what is not one key, or for `n` that are not real numbers or do not broadcast.

    Example:
      >>> import jax
      >>> from mixjax.random import rademacher_mean
      >>> [round(float(mean), 2) for mean in rademacher_mean(jax.random.key(0), [1, 4, 100])]
      [1.0, 0.0, 0.02]
    """
    (n,) = as_floats(n=n)
    shape = n.shape if shape is None else tuple(shape)
    return _rademacher_mean(single(key), jnp.broadcast_to(n, shape))


@jax.jit
def _rademacher_mean(key: PRNGKeyArray, n: jax.Array) -> jax.Array:
    return rademacher_mean_from(Source.of(key, n.shape), n)


def rademacher_mean_from(source: Source, n: jax.Array) -> jax.Array:
    """Draw `rademacher_mean` from a source of words."""
    n = jnp.broadcast_to(n, source.shape)
    valid = (n >= 1) & (n == jnp.floor(n)) & jnp.isfinite(n)
    trials = jnp.where(valid, n, 1.0)
    offset = _first_accepted(trials, lambda turn: _propose_offset(source, turn, trials))
    return jnp.where(valid, 2.0 * offset / trials, jnp.nan)


def _propose_offset(source: Source, turn: jax.Array, n: jax.Array) -> jax.Array:
    """Propose a draw of Bin(n, 1/2) - n/2; NaN where it is rejected."""
    z, exponential = normal_and_exponential(source, turn, n.dtype)
    half = 0.5 * jnp.mod(n, 2.0)  # the sum of n signs has the parity of n
    rounded = jnp.round(0.5 * jnp.sqrt(n) * z - half) + half
    accepted = exponential > log_ratio_bound(n) - log_ratio(rounded, n)
    counted = count_ones(source.words(2 * turn), n) - 0.5 * n  # each n uses the words in one way only
    return jnp.where(n <= _COUNTED, counted, jnp.where(accepted, rounded, jnp.nan))
