r"""Smooth calibration error: residuals spread by a Gaussian whose width is the error itself.

With the residuals y_i - f_i spread over [0, 1] by a Gaussian of standard deviation sigma, reflected at 0 and 1,

    r_sigma(t) = (1/n) sum_i K_sigma(t, f_i) (y_i - f_i),    smECE_sigma = int_0^1 |r_sigma(t)| dt,

which does not increase with sigma; smECE is where smECE_sigma = sigma. No bins are chosen, and the error is
continuous in the confidences. J. Blasiok and P. Nakkiran, "Smooth ECE" (ICLR 2024, arXiv:2309.12236).

Rows are read once, into a grid of residuals; every sigma after that costs two FFTs, for the reflected Gaussian is the
heat kernel of an insulated interval, diagonal in the cosine basis. The heat kernel of the grid is positive, keeps every
sum, and is a semigroup: so what the definition promises holds exactly, at widths below a cell too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.scatter import sum_by_bin
from mixjax.numerics.derivatives import once_differentiable
from mixjax.numerics.meshes import jitted
from mixjax.typing import ArrayLike

_CELLS = 8192  # of the grid, a power of 2: the cell of a score is then exact
_STEPS = 64  # of the search for the fixed point, at most; about 8 are needed


def smooth_ece(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return the smooth ECE, sigma with :math:`\int_0^1 |\frac1n \sum_i K_\sigma(t, f_i)(y_i - f_i)| dt = \sigma`.

    Args:
      confidence, correct, weights, where: shape [N], as for `ece`, with the same errors.

    Returns:
      A probability in [0, 1], at least |mean residual|, and equal to it if all confidences are equal. NaN without rows.
      First derivatives are those of the fixed point, and 0 where the error is 0; second ones raise NotImplementedError.

    Accuracy: the two cells of width h = 1/8192 around a row share it, which moves the result by at most about
    h^2 / (8 sigma), relative to the mean |residual|: 2e-7 at an error of 0.01, 2e-6 at 0.001. Rounding adds 1e-7 in
    float32 (tests/calibration/test_smooth.py).

    Example:
      >>> from mixjax import smooth_ece
      >>> round(float(smooth_ece([0.9, 0.6], [1, 0])), 3)
      0.25
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_smooth_ece(rows))


@jitted()
@once_differentiable("smooth_ece")
def _smooth_ece(rows: Rows) -> jax.Array:
    return _fixed_point(_spectrum(rows.clean()))


def _spectrum(rows: Rows) -> jax.Array:
    """Return the transform of the cells' shares of the mean residual, once more in reverse to reflect the ends."""
    position = rows.confidence * _CELLS - 0.5
    left = jnp.floor(lax.stop_gradient(position))
    share = position - left  # of the cell to the right; a cell beyond an end is the one before it, reflected
    cell = left.astype(np.int32)
    grid = jnp.zeros(_CELLS, position.dtype)
    for index, values in ((cell, rows.residual * (1 - share)), (cell + 1, rows.residual * share)):
        grid += sum_by_bin(jnp.clip(index, 0, _CELLS - 1), values, _CELLS)
    total = sum_by_bin(jnp.zeros_like(cell), rows.counted, 1)[0]
    grid /= total.astype(grid.dtype)
    return jnp.fft.rfft(jnp.concatenate([grid, grid[::-1]]))


def _spread(spectrum: jax.Array, sigma: jax.Array) -> jax.Array:
    """Return smECE_sigma, the sum over cells of |heat kernel of variance sigma^2 applied to their residuals|."""
    k = np.arange(_CELLS + 1)
    decay = jnp.asarray(2 * (_CELLS * np.sin(np.pi * k / (2 * _CELLS))) ** 2, sigma.dtype)  # near (pi k)^2 / 2
    spread = jnp.fft.irfft(spectrum * jnp.exp(-(sigma**2) * decay).astype(spectrum.dtype))[:_CELLS]
    return jnp.sum(spread * jnp.sign(spread))  # |spread|, with the derivative 0 at 0


class _Bracket(NamedTuple):
    """Ends with their excesses smECE_sigma - sigma (of one end halved when it stays), and the last trial."""

    low: jax.Array
    above: jax.Array
    high: jax.Array
    below: jax.Array
    sigma: jax.Array
    excess: jax.Array
    step: jax.Array


def _fixed_point(spectrum: jax.Array) -> jax.Array:
    """Find the sigma that is smECE_sigma by the Illinois method, and a step of Newton's that has its derivatives."""
    frozen = lax.stop_gradient(spectrum)

    def excess(sigma: jax.Array) -> jax.Array:
        return _spread(frozen, sigma) - sigma

    low = jnp.abs(frozen[0].real) / 2  # the grid is there twice; |mean residual| <= smECE <= sum of |cells|
    high = jnp.maximum(low, _spread(frozen, jnp.zeros_like(low)))
    above, below = excess(low), excess(high)
    small = jnp.sqrt(jnp.finfo(low.dtype).eps)  # Newton's step squares what is left
    zero = jnp.zeros_like(low)
    start = _Bracket(low, jnp.maximum(above, zero), high, jnp.minimum(below, zero), low, above, jnp.zeros((), np.int32))

    def more(b: _Bracket) -> jax.Array:
        return (jnp.abs(b.excess) > small * b.sigma) & (b.step < _STEPS)

    sigma = lax.while_loop(more, lambda b: _narrowed(b, excess), start).sigma
    _, slope = jax.jvp(excess, (sigma,), (jnp.ones_like(sigma),))
    return sigma - (_spread(spectrum, sigma) - sigma) / lax.stop_gradient(slope)


def _narrowed(b: _Bracket, excess: Callable[[jax.Array], jax.Array]) -> _Bracket:
    """Return the bracket after a trial where the chord is zero."""
    sigma = b.low + (b.high - b.low) * (b.above / (b.above - b.below))
    value = excess(sigma)
    positive = value > 0
    again = positive == (b.excess > 0)  # the other end stayed twice
    half = jnp.where(again & (b.step > 0), 0.5, 1.0).astype(value.dtype)
    return _Bracket(
        low=jnp.where(positive, sigma, b.low),
        above=jnp.where(positive, value, half * b.above),
        high=jnp.where(positive, b.high, sigma),
        below=jnp.where(positive, half * b.below, value),
        sigma=sigma,
        excess=value,
        step=b.step + 1,
    )
