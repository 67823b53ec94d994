r"""Samples and populations that a set of rows may stand for, drawn as counts of bins.

A bootstrap sample of N rows is a multinomial draw of how many fall into each (bin, correctness), and sums of that many
draws of confidence within them. The counts are drawn exactly; the sums, of which the bins leave little to chance, as
normals of the same mean and variance.

A population has Dirichlet shares of these categories (D. B. Rubin, Annals of Statistics 1981, "The Bayesian
bootstrap"). Rubin's draws have no wrong row where the sample has none. The counts here therefore hold one half of a
right row and one half of a wrong one more, spread over the bins as the rows are.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.calibration.rows.bins import Bins, binned
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.scatter import sum_by_bin
from mixjax.numerics.meshes import jitted

_BLOCK = 1 << 22  # numbers to draw at a time

Draw = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]  # (generator, counts, samples) -> their counts


@jitted(static=("bins",))
def category_sums(rows: Rows, bins: Bins) -> jax.Array:
    """Return for each (correctness, bin) its rows, their sum of confidence, and that of squares about the mean."""
    num_bins = bins.number
    rows, index = binned(rows.clean(), bins)
    category = index + num_bins * rows.correct.astype(np.int32)
    dtype = rows.confidence.dtype
    count = sum_by_bin(category, rows.counted, 2 * num_bins).astype(dtype)
    kept = rows.counted.astype(dtype)
    total = sum_by_bin(category, kept * rows.confidence, 2 * num_bins)
    mean = total / jnp.maximum(count, 1.0)
    squares = sum_by_bin(category, kept * (rows.confidence - mean[category]) ** 2, 2 * num_bins)
    return jnp.stack([count, total, squares]).reshape(3, 2, num_bins)


def sampled_errors(rng: np.random.Generator, sums: np.ndarray, samples: int, draw: Draw) -> dict[str, np.ndarray]:
    """Return the errors of samples whose counts are drawn."""
    block = max(1, _BLOCK // max(sums.size, 1))
    sizes = [min(block, samples - start) for start in range(0, samples, block)]
    parts = [errors_of(_resampled(rng, sums, size, draw)) for size in sizes]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _resampled(rng: np.random.Generator, sums: np.ndarray, samples: int, draw: Draw) -> np.ndarray:
    """Draw the sums of samples, shape [samples, 3, 2, bins]."""
    count, total, squares = sums
    if not np.isfinite(sums).all() or not count.sum():
        return np.full((samples, *sums.shape), np.nan)
    drawn = draw(rng, count, samples)
    share = drawn / np.where(count > 0, count, 1.0)
    noise = rng.standard_normal(drawn.shape) * np.sqrt(share * squares)
    return np.stack([drawn, share * total + noise, share * squares], axis=1)


def bootstrap_counts(rng: np.random.Generator, count: np.ndarray, samples: int) -> np.ndarray:
    """Draw the counts of samples with as many rows."""
    drawn = rng.multinomial(int(count.sum()), (count / count.sum()).ravel(), samples)
    return drawn.reshape(-1, *count.shape).astype(np.float64)


def posterior_counts(rng: np.random.Generator, count: np.ndarray, samples: int) -> np.ndarray:
    """Draw N times the shares of a population, for counts of N rows and of the two halves of a row."""
    drawn = rng.standard_gamma(count, (samples, *count.shape))
    return drawn * ((count.sum() - 1.0) / drawn.sum(axis=(1, 2), keepdims=True))


def with_half_rows(sums: np.ndarray) -> np.ndarray:
    """Add half a right row and half a wrong one, spread over the bins as the rows are, with the mean of the bin."""
    rows, total, _ = sums.sum(axis=1)
    share = 0.5 / max(rows.sum(), 1.0)
    return sums + np.stack([share * rows, share * total, np.zeros_like(rows)])[:, None]


def errors_of(sums: np.ndarray) -> dict[str, np.ndarray]:
    """Return the errors of [samples, 3, 2, bins] sums."""
    (wrong, right), (f_wrong, f_right), squares = (np.moveaxis(part, 1, 0) for part in np.moveaxis(sums, 1, 0))
    count, residual = wrong + right, right - f_right - f_wrong
    size = count.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(count > 0, np.abs(residual) / count, 0.0)
        mean_wrong, mean_right = f_wrong / np.maximum(wrong, 1), f_right / np.maximum(right, 1)
        spread = wrong * mean_wrong**2 + right * (1 - mean_right) ** 2 + squares.sum(axis=0)  # of residual squares
        paired = count > 1.5  # at least two rows, or such a share of a population
        unbiased = np.where(paired, (residual**2 - spread) / (count - 1), 0.0 * residual)  # 0, unless it is NaN
        mean_square = (count * gap**2).sum(axis=1) / size
        return {
            "ece": np.abs(residual).sum(axis=1) / size,
            "squared_ece": mean_square,
            "rms_ece": np.sqrt(mean_square),
            "mce": gap.max(axis=1, initial=0.0) + 0.0 / size,
            "debiased_squared_ece": unbiased.sum(axis=1) / (count * paired).sum(axis=1),
            "signed_gap": -residual.sum(axis=1) / size,
        }
