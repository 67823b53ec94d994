"""The stretch of a map, measured: a lower bound of its Lipschitz constant.

Paper: Theorem 3.5 assumes an L-Lipschitz h_hat (its proof, g too). Networks have an upper bound,
`LeakyReluNetwork.lipschitz_bound`, and both are equal for a linear map; a coupling flow has none.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.generative.simulation import Map
from mixjax.numerics.arguments import as_floats
from mixjax.typing import ArrayLike


def max_lipschitz_ratio(mapping: Map | Callable[[jax.Array], jax.Array], rows: ArrayLike) -> Float[Array, ""]:
    """Return the largest spectral norm of the Jacobian of `mapping` (a row in, a row out) over some rows.

    Raises:
      ValueError: unless the rows have shape [N, in] with N >= 1.

    Example:
      >>> from mixjax.generative import linear_generator, max_lipschitz_ratio
      >>> float(max_lipschitz_ratio(linear_generator([[3.0]]), [[1.0]]))
      3.0
    """
    (rows,) = as_floats(rows=rows)
    if rows.ndim != 2 or not len(rows):
        raise ValueError(f"rows must have shape [N, in] with N at least 1, got {rows.shape}")
    jacobians = jax.vmap(jax.jacfwd(mapping))(rows)
    return jnp.max(jnp.linalg.norm(jacobians, 2, axis=(-2, -1)))
