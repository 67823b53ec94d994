r"""Whitening of labeled rows: two classes as close to Definition 3.1 as two moments make them.

Paper: the generative model of Definition 3.2 has x = g(z) with z | y ~ N(y theta, I), and classifies h_hat(x). For real
data nobody knows g; the affine h_hat that gives the rows it is fitted on the first two moments of z is

    z = diag(l_1, ..., l_p)^{-1/2} (e_1, ..., e_p)' (x - c),

with c the middle of the two class means, and l_i, e_i the p largest eigenvalues, and their vectors, of the pooled
within-class covariance :math:`(1 - s) S + s\,\mathrm{tr}(S)/d\;I`, where S is the mean of (x - mean of its class)^2 and
s is the shrinkage of Ledoit and Wolf (J. Multivariate Analysis 2004). New rows have covariance I only as far as there
are many, and beyond the second moment whitening makes no class Gaussian.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.numerics.arguments import Rule, as_floats, checked
from mixjax.numerics.options import check_size
from mixjax.typing import ArrayLike

_LABELS = Rule("-1 or +1", lambda y: (y == 1) | (y == -1))
_product = partial(jnp.matmul, precision="highest")  # GPUs would keep ten bits


class Whitening(NamedTuple):
    """An affine map x -> (x - center) directions. A pytree.

    Attributes:
      center: the middle of the class means, shape [d].
      directions: scaled eigenvectors, shape [d, p].
      shrinkage: s in [0, 1] of the covariance.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.gaussian import Whitening
      >>> Whitening(jnp.array([1.0, 1.0]), jnp.array([[2.0], [0.0]]), jnp.array(0.0))([[3.0, 5.0]]).tolist()
      [[4.0]]
    """

    center: Float[Array, " d"]
    directions: Float[Array, "d p"]
    shrinkage: Float[Array, ""]

    def __call__(self, x: ArrayLike) -> Float[Array, "n p"]:
        """Whiten rows of shape [n, d]; raise ValueError for another shape."""
        x, center, directions = as_floats(x=x, center=self.center, directions=self.directions)
        if x.ndim != 2 or x.shape[1:] != center.shape:
            raise ValueError(f"x must have shape [n, {center.shape[0]}], got {x.shape}")
        return _product(x - center[None, :], directions)


def fit_whitening(x: ArrayLike, y: ArrayLike, *, p: int) -> Whitening:
    """Fit the whitening of rows of two classes, onto the p principal directions within the classes.

    Args:
      x: rows, shape [n, d].
      y: labels, -1 and +1, shape [n].
      p: dimension, from 1 to d; static. A direction's sign is arbitrary.

    Returns:
      The map; it gives the rows of the fit class means +-theta, and covariances I on average over the classes. NaN if a
      class has no rows; infinite directions if fewer than p of them vary and s = 0.

    Raises:
      ValueError: for other shapes, p out of its range, or labels other than -1 and +1 (NaN under `jit`).

    Accuracy (tests/gaussian/beyond/test_whitening.py): to rounding, that of NumPy's covariance and scikit-learn's
    shrinkage.

    Example:
      >>> from mixjax.gaussian import fit_whitening
      >>> x = [[3.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [-3.0, -1.0]]
      >>> fit_whitening(x, [1, 1, -1, -1], p=2).center.tolist()
      [0.0, 0.0]
    """
    x, y = checked({"y": _LABELS}, x=x, y=y)
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(f"x and y must have shapes [n, d] and [n], got {x.shape} and {y.shape}")
    check_size("p", p)
    if p > x.shape[1]:
        raise ValueError(f"p must be at most d = {x.shape[1]}, got {p}")
    return _fit(x, y, p)


@partial(jax.jit, static_argnames="p")
def _fit(x: jax.Array, y: jax.Array, p: int) -> Whitening:
    one_hot = jnp.stack([y == 1, y == -1], axis=1).astype(x.dtype) + 0.0 * y[:, None]
    means = _product(one_hot.T, x) / jnp.sum(one_hot, axis=0)[:, None]
    covariance, shrinkage = ledoit_wolf(x - _product(one_hot, means))
    variances, vectors = jnp.linalg.eigh(covariance)
    return Whitening(jnp.mean(means, axis=0), vectors[:, -p:] / jnp.sqrt(variances[-p:])[None, :], shrinkage)


def ledoit_wolf(residuals: Float[Array, "n d"]) -> tuple[Float[Array, "d d"], Float[Array, ""]]:
    """Estimate the shrunk covariance of rows of mean 0, and the shrinkage."""
    n, d = residuals.shape
    covariance = _product(residuals.T, residuals) / n
    scale, square = jnp.trace(covariance) / d, jnp.sum(covariance**2)
    distance = square - d * scale**2
    noise = (jnp.sum(jnp.sum(residuals**2, axis=1) ** 2) / n - square) / n
    shrinkage = jnp.where(distance > 0, jnp.minimum(noise / distance, 1.0), 0.0)
    return (1.0 - shrinkage) * covariance + shrinkage * scale * jnp.eye(d, dtype=covariance.dtype), shrinkage
