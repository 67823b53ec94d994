"""The Wasserstein distance of samples to N(mean, I), slice by slice.

Paper: Section 3.4, h_hat = argmin_h max_k W(h(x), z | y = k). Along a unit vector u the target is N(u'mean, 1), whose
quantiles are known, so that the distance of a projected sample needs one sort and no second sample:

    W_2(u)^2 = (1/N) sum_i (u'h_(i) - u'mean - q_i)^2.

A sample of N has a W_2 > 0 even of its own law, and with q_i the expected order statistics m_i of N(0, 1) a sample of
N(0, s^2) is closest on average at s = mean m_i^2 < 1. Therefore q_i = m_i / mean m^2, for which it is s = 1.
Reference: N. Bonneel, J. Rabin, G. Peyre, H. Pfister, "Sliced and Radon Wasserstein barycenters" (JMIV 2015).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from mixjax.numerics.arguments import as_floats
from mixjax.numerics.options import check_size

_ALONG_MEAN = 0.2  # weight of the slice in which the classes differ


def sliced_distances(
    samples: Float[Array, "N p"], mean: Float[Array, " p"], slices: Float[Array, "slices p"]
) -> Float[Array, " slices"]:
    """Return W_2(u)^2 of the samples' projections to those of N(mean, I), for each unit vector u; differentiable.

    Raises:
      ValueError: for shapes that do not fit.
    """
    samples, mean, slices = as_floats(samples=samples, mean=mean, slices=slices)
    if samples.ndim != 2 or mean.shape != samples.shape[1:] or slices.shape[1:] != mean.shape:
        shapes = f"{samples.shape}, {mean.shape} and {slices.shape}"
        raise ValueError(f"samples, mean and slices must have shapes [N, p], [p] and [slices, p], got {shapes}")
    ordered = jnp.sort(slices @ (samples - mean[None]).T, axis=1)
    return jnp.mean((ordered - stretched_quantiles(len(samples), samples.dtype)[None]) ** 2, axis=1)


def class_distances(
    lower: Float[Array, "N p"], upper: Float[Array, "N p"], theta: Float[Array, " p"], slices: Float[Array, "slices p"]
) -> Float[Array, "2"]:
    """Return W^2 of samples of the classes -1 and +1 to N(-theta, I) and N(theta, I).

    A fifth of it is along theta, the only direction in which the classes differ; the rest is the mean over `slices`.
    """
    along = theta[None] / jnp.maximum(jnp.linalg.norm(theta), jnp.finfo(theta.dtype).tiny)

    def distance(samples: jax.Array, mean: jax.Array) -> jax.Array:
        found = sliced_distances(samples, mean, jnp.concatenate([along, slices]))
        return _ALONG_MEAN * found[0] + (1.0 - _ALONG_MEAN) * jnp.mean(found[1:])

    return jnp.stack([distance(lower, -theta), distance(upper, theta)])


def stretched_quantiles(size: int, dtype: DTypeLike = np.float32) -> Float[Array, " size"]:
    """Return q_1 < ... < q_size as above, with Blom's m_i = Phi^-1((i - 3/8) / (size + 1/4)); 0 for a sample of one.

    Accuracy (tests/generative/test_wasserstein.py): within 2 % of the largest expected order statistic, from size 5 on.
    """
    check_size("size", size)
    order = (np.arange(1, size + 1) - 0.375) / (size + 0.25)
    statistics = ndtri(jnp.asarray(order, dtype))
    square = jnp.mean(statistics**2)
    return statistics / jnp.where(square > 0, square, 1.0)
